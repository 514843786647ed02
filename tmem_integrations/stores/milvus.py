"""The store of messages in Milvus: a cluster, or milvus-lite on a file. Nothing of a history is in memory.

Words, times, filters, deletes and upserts are Milvus' affair; a question reads what it shows and little
more. See `milvus_view` on how scores differ from those of other stores.

Milvus changes one row at a time and knows no transaction over several. So a message is one row, with its
words and its vector; what several rows must agree on (which channels occur, how far readers may see) is
written last, and set right by the next writer that opens the store after one was killed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.errors import (
    ConfigError,
    IngestError,
    InputError,
    MessageError,
    StoreError,
    StoreMismatchError,
)
from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import HistoryView, IngestReport, Vectors
from tmem_integrations.stores.compatibility import (
    check_vectors,
    is_same_space,
    require_same_space,
)
from tmem_integrations.stores.milvus_catalogue import SCHEMA, Built, Catalogue
from tmem_integrations.stores.milvus_check import find_problems
from tmem_integrations.stores.milvus_client import Milvus
from tmem_integrations.stores.milvus_rows import (
    Entity,
    digest,
    size_of,
    to_entity,
    to_message,
    to_vector,
)
from tmem_integrations.stores.milvus_scope import all_of, condition_of
from tmem_integrations.stores.milvus_table import MilvusTable, message_layout
from tmem_integrations.stores.milvus_view import MilvusView

Item = TypeVar("Item")

_BATCH = 1_000
# A request of 64 MB is refused.
_BATCH_BYTES = 16_000_000
_SAME_VECTOR = 1e-6


class MilvusStore:
    """A `MessageStore` in Milvus; make it with `open`.

    One store may be used by many threads at once; writes wait for each other. Of several processes that
    write to one history only one should at a time: Milvus has no lock to hold them to it.

    Attributes:
        name: How errors call the store.
        tenant: Whose history it is in a collection of many; None when the collection has one history.
        read_only: Whether it refuses to write.
    """

    def __init__(
        self,
        milvus: Milvus,
        *,
        collection: str,
        wanted: Built,
        tenant: str | None,
        read_only: bool,
    ) -> None:
        self.name = f"'{milvus.uri}' ({collection})"
        self.tenant = tenant
        self.read_only = read_only
        self._milvus = milvus
        self._table = MilvusTable(milvus, collection)
        self._catalogue = Catalogue(MilvusTable(milvus, f"{collection}_catalogue"), tenant)
        self._lock = threading.RLock()
        self._is_closed = False
        self._within = "" if tenant is None else f'tenant == "{digest("tenant", tenant)}"'
        self._built = self._open(collection, wanted)
        self._adopt(wanted.model, wanted.dimension)
        if not read_only:
            self._recover()

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        token: str | None = None,
        database: str = "",
        collection: str = "messages",
        tenant: str | None = None,
        n_partitions: int = 16,
        timeout: float = 60.0,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open the store at an address or in a file, or make it there.

        Args:
            uri: Address of a Milvus server such as "http://localhost:19530", or a file that ends in
                ".db" for milvus-lite, which this process then has to itself.
            token: "user:password" or an API key.
            database: Of the server; its default one when empty.
            collection: Where the messages are; another beside it, `<collection>_catalogue`, says how.
            tenant: Keep to this tenant of a collection that many share; its partition key is then the
                tenant. Without one the collection has one history, and its partition key is the channel.
            n_partitions: Into how many partitions a new collection spreads its partition key.
            timeout: Seconds after which a call is given up.
            model: Name of the embedding model; None does not check it.
            dimension: Of its vectors; None does not check it, and a new store takes that of its first.
            language: How words are split, see `text.split_terms`; written with the words, so it must be
                the same each time.
            read_only: Refuse to write.

        Raises:
            MissingExtraError: If pymilvus, or for a file milvus-lite, is not installed.
            ConfigError: If `uri` is neither, or a number is out of range.
            StoreLockedError: If another process has the file open.
            StoreMismatchError: If it was built with another model, dimension, language or partition key.
            StoreError: If nobody answers, or the collection holds something else.
        """
        for name, number in (("dimension", dimension), ("n_partitions", n_partitions)):
            if number is not None and number < 1:
                raise ConfigError(f"{name} must be at least 1, got {number}.")
        milvus = Milvus(uri, token=token, database=database, timeout=timeout)
        try:
            return cls(
                milvus,
                collection=collection,
                wanted=Built(model, dimension, language, tenant is not None, n_partitions),
                tenant=tenant,
                read_only=read_only,
            )
        except BaseException:
            milvus.close()
            raise

    @property
    def model(self) -> str | None:
        """Name of the model whose vectors are stored."""
        return self._built.model

    @property
    def dimension(self) -> int | None:
        """Of the stored vectors; None when there are none."""
        return self._built.dimension

    @property
    def language(self) -> str | None:
        """How words are split."""
        return self._built.language

    def __len__(self) -> int:
        self._require_open()
        return self._table.count(self._within)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def upsert(self, messages: Sequence[Message], vectors: Vectors | None = None) -> IngestReport:
        """Add or replace by id, in order of arrival; a replaced message keeps its arrival.

        Args:
            messages: A repeated id counts as an edit: the last one holds.
            vectors: (n, d) unit vectors of their texts. Without them a new or changed message has none,
                and an unchanged one keeps what it has.

        Raises:
            MessageError: If something is no message.
            StoreMismatchError: If the vectors have another dimension than those stored.
            IngestError: If a part could not be written; names what is stored.
        """
        self._require_writable()
        for message in messages:
            if not isinstance(message, Message):
                raise MessageError(f"upsert takes Message records, got {message!r:.100}.")
        with self._lock:
            checked = self._check_vectors(len(messages), vectors)
            latest: dict[str, int] = {}
            report = IngestReport()
            for index, message in enumerate(messages):
                if message.id in latest:
                    same = messages[latest[message.id]] == message
                    report += IngestReport(unchanged=1) if same else IngestReport(updated=1)
                latest[message.id] = index
            done: list[str] = []
            for batch in _batches(latest.values(), _BATCH):
                part = [messages[index] for index in batch]
                try:
                    report += self._write(part, None if checked is None else checked[batch])
                except StoreError as error:
                    raise self._explain(error, done, part, len(latest)) from error
                done.extend(message.id for message in part)
        return report

    def delete(self, ids: Collection[str]) -> int:
        """Remove messages from every leg; returns how many were there.

        Milvus drops the bytes when it next compacts.

        Raises:
            InputError: If `ids` is a text.
            StoreError: If the database fails; running it again removes the rest.
        """
        self._require_writable()
        if isinstance(ids, str):
            raise InputError(f"delete takes several ids, got the text {ids!r}; pass [{ids!r}].")
        n_deleted = 0
        with self._lock:
            for batch in _batches(dict.fromkeys(ids), _BATCH):
                found = self._table.read([self._key(one) for one in batch], ["id", "record"])
                channels = {to_message(entity).channel for entity in found.values()}
                with self._settling(channels):
                    self._table.erase(list(found))
                n_deleted += len(found)
        return n_deleted

    def get(self, ids: Iterable[str]) -> dict[str, Message]:
        """Messages by id; unknown ids are left out."""
        self._require_open()
        keys = [self._key(one) for one in dict.fromkeys(ids)]
        found = self._table.read(keys, ["id", "record"])
        messages = [to_message(found[key]) for key in keys if key in found]
        return {message.id: message for message in messages}

    def ids(self, scope: Scope) -> list[str]:
        """Ids of all messages that `scope` admits, in order of arrival."""
        self._require_open()
        condition = all_of([self._within, condition_of(scope)])
        pages = self._table.pages(condition, ["id", "arrival"])
        return [one for _, one in sorted((row["arrival"], row["id"]) for p in pages for row in p)]

    def view(self, scope: Scope) -> HistoryView:
        """The part of the history that `scope` admits, as of now."""
        self._require_open()
        # A writer may be at it; then it is another question's turn to wait.
        if self._lock.acquire(blocking=False):
            try:
                self._table.settle()
            finally:
                self._lock.release()
        return MilvusView(
            scope,
            self._table,
            clock=self._catalogue.read_clock(),
            tenant=self._within,
            tenant_name=self.tenant or "",
            language=self.language,
            dimension=self.dimension,
        )

    def channels(self) -> frozenset[str]:
        """All channels that occur."""
        self._require_open()
        return self._catalogue.channels()

    def close(self) -> None:
        """Let go of the server or file. Closing twice is fine."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._milvus.close()

    def check(self) -> tuple[str, ...]:
        """Compare what is searched with the messages of record. Reads the whole history.

        Returns:
            The problems found, one sentence each; empty when all is well.
        """
        self._require_open()
        with self._lock:
            return tuple(
                find_problems(self._table, self._within, self.channels(), self._built, self.tenant)
            )

    def _open(self, collection: str, wanted: Built) -> Built:
        """Read how the collection was built, or build it."""
        built = self._catalogue.read_built()
        if built is None:
            if self._table.exists:
                raise StoreError(
                    f"Store {self.name}: the collection holds something else than messages of ours; "
                    "name another with collection=."
                )
            if self.read_only:
                raise StoreError(f"Store {self.name}: there is none; open it to write first.")
            built = wanted
            self._catalogue.create()
            self._catalogue.write_built(built)
        if built.schema != SCHEMA:
            raise StoreMismatchError(
                f"Store {self.name} has layout {built.schema}, expected {SCHEMA}; rebuild it."
            )
        for what, kept, asked in (
            ("language", built.language, wanted.language),
            ("a tenant", built.by_tenant, wanted.by_tenant),
        ):
            if kept != asked:
                raise StoreMismatchError(
                    f"Store {self.name} was built with {what}: {kept!r}, not {asked!r}; open it the "
                    "same way, or rebuild it."
                )
        if self._table.exists:
            self._table.load()
        elif not self.read_only:
            self._create(built)
        return built

    def _create(self, built: Built) -> None:
        layout = message_layout(
            dimension=built.dimension, by_tenant=built.by_tenant, n_partitions=built.n_partitions
        )
        self._table.create(layout)

    def _adopt(self, model: str | None, dimension: int | None) -> None:
        """Take what the caller embeds with as the store's own while it is empty, else compare them."""
        if is_same_space(self._built.space, model, dimension):
            return
        if self.read_only or self._table.count("") > 0:
            require_same_space(self.name, self._built.space, model, dimension)
        else:
            self._start_over(model, dimension)

    def _check_vectors(self, n_messages: int, vectors: Vectors | None) -> Vectors | None:
        if vectors is None or n_messages == 0:
            return None
        checked = check_vectors(vectors, n_messages)
        dimension = checked.shape[1]
        if self.dimension != dimension and self._table.count("") == 0:
            self._start_over(self.model, dimension)
        require_same_space(self.name, self._built.space, None, dimension)
        return checked

    def _start_over(self, model: str | None, dimension: int | None) -> None:
        """Replace the collection, which is empty, by one for vectors of another kind."""
        built = self._built.of_space(model, dimension)
        self._table.drop()
        self._catalogue.write_built(built)
        self._create(built)
        self._built = built

    def _recover(self) -> None:
        """Finish what a killed writer began: its last rows become visible, its channels are settled."""
        clock = self._catalogue.read_clock()
        ahead = self._table.pages(all_of([self._within, f"arrival > {clock}"]), ["arrival"])
        latest = max((row["arrival"] for page in ahead for row in page), default=clock)
        if latest > clock:
            self._catalogue.write_clock(latest)
        for channel in self._catalogue.channels(unsettled=True):
            self._settle(channel)

    def _write(self, messages: Sequence[Message], vectors: Vectors | None) -> IngestReport:
        """Write those messages of a batch that are new or have changed, then show them to readers."""
        fields = ["id", "record", "arrival", *(["vector"] if vectors is not None else [])]
        stored = self._table.read([self._key(m.id) for m in messages], fields)
        clock = self._catalogue.read_clock()
        latest = max((row["arrival"] for row in stored.values()), default=clock)
        arrival = latest = max(clock, latest)
        entities: list[Entity] = []
        came: set[str | None] = set()
        went: set[str | None] = set()
        for index, message in enumerate(messages):
            old = stored.get(self._key(message.id))
            vector = None if vectors is None else vectors[index]
            before = None if old is None else to_message(old)
            if old is not None and before == message and not _differs(vector, old):
                continue
            came.add(message.channel)
            if before is not None and before.channel != message.channel:
                went.add(before.channel)
            arrival += old is None
            at = arrival if old is None else old["arrival"]
            entities.append(self._entity(message, at, vector))
        known = self._catalogue.listed(name for name in came if name is not None)
        with self._settling(went | (came - known)):
            for part in _of_size(entities):
                self._table.write(part)
        if arrival > clock:
            self._catalogue.write_clock(arrival)
        n_added = arrival - latest
        return IngestReport(n_added, len(entities) - n_added, len(messages) - len(entities))

    def _entity(self, message: Message, arrival: int, vector: NDArray[np.float32] | None) -> Entity:
        entity = to_entity(message, arrival, language=self.language, tenant=self.tenant)
        if self.dimension is not None:
            entity["vector"] = [0.0] * self.dimension if vector is None else vector.tolist()
        return entity

    @contextmanager
    def _settling(self, channels: Iterable[str | None]) -> Iterator[None]:
        """Around a change after which some channels may be new, or may hold nothing any more."""
        names = [name for name in channels if name is not None]
        self._catalogue.unsettle(names)
        yield
        for name in names:
            self._settle(name)

    def _settle(self, channel: str) -> None:
        scope = Scope(readable=frozenset({channel}))
        condition = all_of([self._within, condition_of(scope)])
        self._catalogue.settle(channel, occurs=bool(self._table.query(condition, ["key"], limit=1)))

    def _explain(
        self, error: StoreError, done: Sequence[str], part: Sequence[Message], n_messages: int
    ) -> IngestError:
        """Find out what of a failed batch is stored."""
        try:
            there = self.get(message.id for message in part)
        except StoreError:
            there = {}
        more = [message.id for message in part if there.get(message.id) == message]
        return IngestError(
            f"Store {self.name}: {len(done) + len(more)} of {n_messages} messages are stored; "
            f"run the same ingest again for the rest. {error}",
            stored=(*done, *more),
        )

    def _key(self, message_id: str) -> str:
        return digest("id", message_id, self.tenant or "")

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"Store {self.name} is closed; open it again.")

    def _require_writable(self) -> None:
        self._require_open()
        if self.read_only:
            raise StoreError(f"Store {self.name} is open for reading only; open it to write.")


def _differs(new: NDArray[np.float32] | None, old: Entity) -> bool:
    """Whether a message needs its vector written; without a new one it keeps what it has."""
    return new is not None and not np.allclose(to_vector(old), new, rtol=0, atol=_SAME_VECTOR)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _of_size(entities: Sequence[Entity]) -> Iterator[list[Entity]]:
    """Pieces of a batch that one request may hold; a row that is larger alone goes alone."""
    part: list[Entity] = []
    n_bytes = 0
    for entity in entities:
        size = size_of(entity) + 8 * len(entity.get("vector", ()))
        if part and n_bytes + size > _BATCH_BYTES:
            yield part
            part, n_bytes = [], 0
        part.append(entity)
        n_bytes += size
    if part:
        yield part
