"""The store of messages in Milvus: a cluster, or milvus-lite on a file. Nothing of a history is in memory.

Words, times, filters, deletes and upserts are Milvus' affair; a question reads what it shows and little
more. See `milvus_view` on how scores differ from those of other stores.

Milvus changes one row at a time and knows no transaction over several. So a message is one row, with its
words, its vector and all that it said before; what several rows must agree on (versions of a message,
which channels occur, how far readers may see) is marked before and settled after a change, and set right
by the next writer that opens the store after one was killed.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from typing import Self, TypeVar

import numpy as np

from tmem_integrations.errors import (
    ConfigError,
    IngestError,
    InputError,
    MessageError,
    StoreError,
    StoreMismatchError,
)
from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import (
    DerivedRows,
    HistoryView,
    ImportTimes,
    IngestReport,
    Vectors,
)
from tmem_integrations.stores.compatibility import (
    check_vectors,
    is_same_space,
    require_same_space,
)
from tmem_integrations.stores.derived import TransientRows
from tmem_integrations.stores.milvus_catalogue import SCHEMA, Built, Catalogue
from tmem_integrations.stores.milvus_check import find_problems
from tmem_integrations.stores.milvus_client import Milvus
from tmem_integrations.stores.milvus_rows import (
    ROW_FIELDS,
    Entity,
    digest,
    size_of,
    to_bytes,
    to_entities,
    to_row,
    to_vector,
)
from tmem_integrations.stores.milvus_scope import all_of, condition_of, one_of
from tmem_integrations.stores.milvus_table import MilvusTable, message_layout
from tmem_integrations.stores.milvus_view import MilvusView
from tmem_integrations.stores.versions import Row, edited

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
        derived: What was made of the messages; kept for as long as this object, not in Milvus.
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
        self.derived: DerivedRows = TransientRows()
        self._milvus = milvus
        self._table = MilvusTable(milvus, collection)
        self._catalogue = Catalogue(MilvusTable(milvus, f"{collection}_catalogue"), tenant)
        self._lock = threading.RLock()
        self._is_closed = False
        self._within = "" if tenant is None else f'tenant == "{digest("tenant", tenant)}"'
        self._built = self._open(collection, wanted)
        self._adopt(wanted.model, wanted.dimension)
        # Whether all that several rows must agree on is so.
        self._is_settled = False
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
        return self._table.count(all_of([self._within, condition_of(Scope())]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def claim(self, model: str) -> None:
        """Say which model makes the vectors that will be stored.

        Raises:
            StoreMismatchError: If it is not that of the vectors that are there.
        """
        with self._lock:
            self._adopt(model, None)

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
        with self.derived.lock, self._lock:
            self._recover()
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
                    self._is_settled = False
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
        with self.derived.lock, self._lock:
            self._recover()
            self.derived.erase(list(dict.fromkeys(ids)))
            for batch in _batches(dict.fromkeys(ids), _BATCH):
                found = self._read(batch)
                self._is_settled = False
                with self._settling({row.message.channel for row, _ in found.values()}):
                    self._table.erase([self._key(one) for one in found], field="owner")
                self._is_settled = True
                n_deleted += len(found)
        return n_deleted

    def get(self, ids: Iterable[str]) -> dict[str, Message]:
        """Messages by id; unknown ids are left out."""
        self._require_open()
        return {one: row.message for one, (row, _) in self._read(ids).items()}

    def import_times(self, ids: Sequence[str]) -> dict[str, ImportTimes]:
        """When messages were stored, by id; unknown ids are left out."""
        self._require_open()
        return {
            one: ImportTimes(row.stored_at, row.changed_at or row.stored_at)
            for one, (row, _) in self._read(ids).items()
        }

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
        """Finish what a killed or failed writer began, once: its last rows become visible, versions of
        messages and channels are made to agree."""
        if self._is_settled:
            return
        clock = self._catalogue.read_clock()
        ahead = self._table.pages(all_of([self._within, f"arrival > {clock}"]), ["arrival"])
        latest = max((row["arrival"] for page in ahead for row in page), default=clock)
        if latest > clock:
            self._catalogue.write_clock(latest)
        for owners in self._catalogue.half_edited():
            with self._catalogue.editing(owners):
                self._mend(owners)
        for channel in self._catalogue.channels(unsettled=True):
            self._settle(channel)
        self._is_settled = True

    def _mend(self, owners: Sequence[str]) -> None:
        """Make the versions of messages anew from their present rows."""
        fields = [*ROW_FIELDS, *(["vector"] if self.dimension is not None else [])]
        found = self._table.read(owners, fields)
        entities = [
            entity
            for kept in found.values()
            for entity in self._entities(
                to_row(kept), to_vector(kept) if "vector" in kept else None
            )
        ]
        for part in _of_size(entities):
            self._table.write(part)
        self._drop_versions(owners, {entity["key"] for entity in entities})

    def _write(self, messages: Sequence[Message], vectors: Vectors | None) -> IngestReport:
        """Write those messages of a batch that are new or have changed, then show them to readers."""
        stored = self._read([message.id for message in messages])
        clock = self._catalogue.read_clock()
        arrival = max([clock, *(row.arrival for row, _ in stored.values())])
        now = datetime.now(UTC)
        changed: list[tuple[Row, Vectors | None]] = []
        moved: set[str | None] = set()
        came: set[str | None] = set()
        rewritten: list[str] = []
        n_added = 0
        for index, message in enumerate(messages):
            row, kept = stored.get(message.id, (None, None))
            vector = None if vectors is None else vectors[index]
            if row is None:
                arrival, n_added = arrival + 1, n_added + 1
                new = Row(message, arrival, 0, stored_at=now)
            elif row.message != message or _differs(vector, kept):
                old_vector = b"" if kept is None else to_bytes(kept)
                new = edited(row, message, version=0, now=now, vector=old_vector)
                if row.message != message:
                    rewritten.append(message.id)
                    moved |= {row.message.channel} - {message.channel}
            else:
                continue
            changed.append((new, vector))
            came.add(message.channel)
        known = self._catalogue.listed(name for name in came if name is not None)
        self.derived.erase(rewritten, keeps_filed=True)
        with self._settling(moved | (came - known)):
            self._put(changed, stored)
        if arrival > clock:
            self._catalogue.write_clock(arrival)
        n_updated = len(changed) - n_added
        return IngestReport(n_added, n_updated, len(messages) - len(changed))

    def _put(self, rows: Sequence[tuple[Row, Vectors | None]], there: Collection[str]) -> None:
        """Write all versions of some messages.

        Args:
            rows: With the vector of the present text.
            there: Ids of messages that may have versions already.
        """
        entities = [entity for row, vector in rows for entity in self._entities(row, vector)]
        owners = [self._key(row.message.id) for row, _ in rows if row.message.id in there]
        with self._catalogue.editing(owners):
            for part in _of_size(entities):
                self._table.write(part)
            self._drop_versions(owners, {entity["key"] for entity in entities})

    def _drop_versions(self, owners: Sequence[str], kept: Collection[str]) -> None:
        """Erase versions of messages that are no longer kept."""
        for part in _batches(owners, _BATCH):
            pages = self._table.pages(one_of("owner", part), ["key"])
            self._table.erase([r["key"] for page in pages for r in page if r["key"] not in kept])

    def _entities(self, row: Row, vector: Vectors | None) -> list[Entity]:
        if self.dimension is None:
            vector = None
        elif vector is None:
            vector = np.zeros(self.dimension, np.float32)
        return to_entities(row, vector, language=self.language, tenant=self.tenant)

    def _read(self, ids: Iterable[str]) -> dict[str, tuple[Row, Vectors | None]]:
        """Rows by id with the vector of the present text; unknown ids are left out."""
        keys = [self._key(one) for one in dict.fromkeys(ids)]
        fields = [*ROW_FIELDS, *(["vector"] if self.dimension is not None else [])]
        found = self._table.read(keys, fields)
        entities = [found[key] for key in keys if key in found]
        return {
            entity["id"]: (to_row(entity), to_vector(entity) if "vector" in entity else None)
            for entity in entities
        }

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


def _differs(new: Vectors | None, old: Vectors | None) -> bool:
    """Whether a message needs its vector written; without a new one it keeps what it has."""
    if new is None:
        return False
    return old is None or not np.allclose(old, new, rtol=0, atol=_SAME_VECTOR)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def _of_size(entities: Sequence[Entity]) -> Iterator[list[Entity]]:
    """Pieces of a batch that one request may hold; a row that is larger alone goes alone."""
    part: list[Entity] = []
    n_bytes = 0
    for entity in entities:
        size = size_of(entity)
        if part and n_bytes + size > _BATCH_BYTES:
            yield part
            part, n_bytes = [], 0
        part.append(entity)
        n_bytes += size
    if part:
        yield part
