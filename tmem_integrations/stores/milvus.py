"""The store of messages in Milvus: a cluster, or milvus-lite on a file. Nothing of a history is in memory.

Words, times, filters, deletes and upserts are Milvus' affair; a question reads what it shows and little
more. See `milvus_view` on how scores differ from those of other stores, `milvus_writer` on what holds without
transactions.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from typing import Self

from tmem_integrations.batches import batches
from tmem_integrations.errors import ConfigError, IngestError, StoreError, StoreMismatchError
from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import (
    DerivedRows,
    HistoryView,
    ImportTimes,
    IngestReport,
    Vectors,
)
from tmem_integrations.stores.changes import distinct_ids, last_of_each, stored_in_part
from tmem_integrations.stores.compatibility import (
    check_vectors,
    is_same_space,
    require_same_space,
)
from tmem_integrations.stores.milvus_catalogue import SCHEMA, Built, Catalogue
from tmem_integrations.stores.milvus_check import find_problems
from tmem_integrations.stores.milvus_client import Milvus
from tmem_integrations.stores.milvus_counts import CountCache
from tmem_integrations.stores.milvus_derived import MilvusRows
from tmem_integrations.stores.milvus_rows import digest
from tmem_integrations.stores.milvus_scope import all_of, condition_of
from tmem_integrations.stores.milvus_table import MilvusTable, message_layout
from tmem_integrations.stores.milvus_view import MilvusView
from tmem_integrations.stores.milvus_writer import BATCH, MilvusWriter


class MilvusStore:
    """A `MessageStore` in Milvus; make it with `open`.

    One store may be used by many threads at once; writes wait for each other. Of several processes that
    write to one history only one should at a time: Milvus has no lock to hold them to it.

    Attributes:
        name: How errors call the store.
        tenant: Whose history it is in a collection of many; None when the collection has one history.
        read_only: Whether it refuses to write.
        derived: What was made of the messages, in a collection of its own.
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
        self.derived: DerivedRows = MilvusRows(
            MilvusTable(milvus, f"{collection}_derived"), tenant, self.name, read_only=read_only
        )
        self._table = MilvusTable(milvus, collection)
        self._catalogue = Catalogue(MilvusTable(milvus, f"{collection}_catalogue"), tenant)
        self._lock = threading.RLock()
        self._is_closed = False
        self._counts = CountCache()
        self._channels: tuple[str, frozenset[str]] = ("", frozenset())
        self._within = "" if tenant is None else f'tenant == "{digest("tenant", tenant)}"'
        self._writer = MilvusWriter(
            self._table, self._catalogue, within=self._within, tenant=tenant,
            built=self._open(collection, wanted),
        )  # fmt: skip
        self._adopt(wanted.model, wanted.dimension)
        if not read_only:
            self._writer.recover()

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
            collection: Where the messages are; of two beside it `<collection>_catalogue` says how, and
                `<collection>_derived` holds what a memory that anticipates made of them.
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
        return self._writer.built.model

    @property
    def dimension(self) -> int | None:
        """Of the stored vectors; None when there are none."""
        return self._writer.built.dimension

    @property
    def language(self) -> str | None:
        """How words are split."""
        return self._writer.built.language

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
        latest, report = last_of_each(messages)
        with self.derived.lock, self._lock:
            checked = self._check_vectors(len(messages), vectors)
            done: list[str] = []
            for batch in batches(latest, BATCH):
                part = [messages[index] for index in batch]
                try:
                    chosen = None if checked is None else checked[batch]
                    report += self._writer.write(part, chosen, self.derived)
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
        every = distinct_ids(ids)
        with self.derived.lock, self._lock:
            self.derived.erase(every)
            return sum(self._writer.erase(batch) for batch in batches(every, BATCH))

    def get(self, ids: Iterable[str]) -> dict[str, Message]:
        """Messages by id; unknown ids are left out."""
        self._require_open()
        return {one: row.message for one, (row, _) in self._writer.read(ids).items()}

    def import_times(self, ids: Sequence[str]) -> dict[str, ImportTimes]:
        """When messages were stored, by id; unknown ids are left out."""
        self._require_open()
        return {
            one: ImportTimes(row.stored_at, row.changed_at or row.stored_at)
            for one, (row, _) in self._writer.read(ids).items()
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
        clock = self._catalogue.read_clock()
        within = all_of([self._within, condition_of(scope), f"arrival <= {clock.arrival}"])
        return MilvusView(
            scope,
            self._table,
            clock=clock.arrival,
            within=within,
            counts=self._counts.of(clock.state, within),
            tenant_name=self.tenant or "",
            language=self.language,
            dimension=self.dimension,
        )

    def channels(self) -> frozenset[str]:
        """All channels that occur."""
        self._require_open()
        state = self._catalogue.read_clock().state
        known, channels = self._channels
        if not state or state != known:
            channels = self._catalogue.channels()
            self._channels = state, channels
        return channels

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
                find_problems(
                    self._table, self._within, self.channels(), self._writer.built, self.tenant
                )
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
        if is_same_space(self._writer.built.space, model, dimension):
            return
        if self.read_only or self._table.count("") > 0:
            require_same_space(self.name, self._writer.built.space, model, dimension)
        else:
            self._start_over(model, dimension)

    def _check_vectors(self, n_messages: int, vectors: Vectors | None) -> Vectors | None:
        if vectors is None or n_messages == 0:
            return None
        checked = check_vectors(vectors, n_messages)
        dimension = checked.shape[1]
        if self.dimension != dimension and self._table.count("") == 0:
            self._start_over(self.model, dimension)
        require_same_space(self.name, self._writer.built.space, None, dimension)
        return checked

    def _start_over(self, model: str | None, dimension: int | None) -> None:
        """Replace the collection, which is empty, by one for vectors of another kind."""
        built = self._writer.built.of_space(model, dimension)
        self._table.drop()
        self._catalogue.write_built(built)
        self._create(built)
        self._writer.built = built

    def _explain(
        self, error: StoreError, done: Sequence[str], part: Sequence[Message], n_messages: int
    ) -> IngestError:
        """Find out what of a failed batch is stored."""
        try:
            there = self.get(message.id for message in part)
        except StoreError:
            there = {}
        return stored_in_part(self.name, error, done, part, there, n_messages)

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"Store {self.name} is closed; open it again.")

    def _require_writable(self) -> None:
        self._require_open()
        if self.read_only:
            raise StoreError(f"Store {self.name} is open for reading only; open it to write.")
