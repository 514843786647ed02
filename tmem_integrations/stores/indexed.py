"""A message store: rows of record in a database, legs to find them in memory.

One writer, any number of readers. What is in the database counts; the legs follow it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.batches import batches
from tmem_integrations.errors import (
    ConfigError,
    IngestError,
    StoreError,
)
from tmem_integrations.messages import Message, Scope
from tmem_integrations.models.verdicts import VerdictCache
from tmem_integrations.protocols import DerivedRows, HistoryView, ImportTimes, IngestReport, Vectors
from tmem_integrations.stores.changes import distinct_ids, last_of_each, stored_in_part
from tmem_integrations.stores.check import find_problems
from tmem_integrations.stores.compatibility import (
    check_vectors,
    is_same_space,
    require_same_space,
)
from tmem_integrations.stores.derived import TransientRows
from tmem_integrations.stores.ingest import write_batch
from tmem_integrations.stores.replica import Replica
from tmem_integrations.stores.snapshot import Snapshot
from tmem_integrations.stores.stored_vectors import StoredVectors
from tmem_integrations.stores.table import Table
from tmem_integrations.stores.vector_copy import VectorCopy
from tmem_integrations.stores.versions import Row
from tmem_integrations.stores.view import IndexedView


class IndexedStore:
    """A `MessageStore` over a `Table`.

    Args:
        table: Where the rows are; closed with the store.
        name: How errors call the store.
        model: Name of the embedding model; None does not check it.
        dimension: Of its vectors; None does not check it, and a new store takes that of its first.
        language: How words are split and conflated, see `text.split_terms`.
        read_only: Refuse to write.
        snapshot: File to begin from when it is opened, written when a writer closes the store.
        copy: Copy of the vectors, quicker to read than the table; None where there is none.
        derived: Where it is kept what was made of the messages; in memory when None.
        verdicts: Where a model's verdicts about the messages may lie; None where nowhere that stays.

    Raises:
        StoreMismatchError: If the store was built with another model or dimension.
        StoreError: If the database cannot be read.
    """

    def __init__(
        self,
        table: Table,
        *,
        name: str,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
        read_only: bool = False,
        snapshot: Snapshot | None = None,
        copy: VectorCopy | None = None,
        derived: DerivedRows | None = None,
        verdicts: Path | None = None,
    ) -> None:
        if dimension is not None and dimension < 1:
            raise ConfigError(f"dimension must be at least 1, got {dimension}.")
        self.name = name
        self.language = language
        self.read_only = read_only
        self.derived: DerivedRows = derived or TransientRows()
        self._verdicts = verdicts
        self._table = table
        self._is_closed = False
        self._replica = Replica(table, language=language, snapshot=snapshot)
        self._vectors = StoredVectors(table, self._replica, copy)
        self._adopt(model, dimension)

    @property
    def model(self) -> str | None:
        """Name of the model whose vectors are stored."""
        return self._replica.manifest.model

    @property
    def dimension(self) -> int | None:
        """Of the stored vectors; None when there are none."""
        return self._replica.manifest.dimension

    def __len__(self) -> int:
        self._refresh()
        return len(self._replica.legs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def upsert(self, messages: Sequence[Message], vectors: Vectors | None = None) -> IngestReport:
        """Add or replace by id, in order of arrival; a replaced message keeps its arrival, and what it
        said before can be asked for `as_of` then.

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
        with self.derived.lock, self._replica.lock:
            self._refresh()
            checked = self._check_vectors(len(messages), vectors)
            done: list[str] = []
            for batch in batches(latest, self._table.batch_size):
                part = [messages[index] for index in batch]
                self._take_back(self._edited(part), edited=True)
                try:
                    chosen = None if checked is None else checked[batch]
                    report += write_batch(self._table, self._replica, self._vectors, part, chosen)
                except StoreError as error:
                    raise self._explain(error, done, part, len(latest)) from error
                done.extend(message.id for message in part)
        return report

    def delete(self, ids: Collection[str]) -> int:
        """Remove messages from every leg; returns how many were there.

        Raises:
            InputError: If `ids` is a text.
            StoreError: If the database fails; running it again removes the rest.
        """
        self._require_writable()
        every = distinct_ids(ids)
        with self.derived.lock, self._replica.lock:
            self._refresh()
            legs = self._replica.legs
            known = [one for one in every if one in legs]
            self._take_back(every)
            for batch in batches(known, self._table.batch_size):
                with self._replica.write(deletes=True, leaves_remains=True):
                    self._vectors.take_back(batch)
                    self._table.erase(batch)
                    legs.remove(batch)
            # Again: a question may have asked a model about them meanwhile.
            self._forget_verdicts(every)
        return len(known)

    def get(self, ids: Iterable[str]) -> dict[str, Message]:
        """Messages by id; unknown ids are left out."""
        self._refresh()
        return self._replica.legs.messages(ids)

    def ids(self, scope: Scope) -> list[str]:
        """Ids of all messages that `scope` admits."""
        self._refresh()
        legs = self._replica.legs
        return legs.ids(np.flatnonzero(legs.mask(scope)))

    def view(self, scope: Scope) -> HistoryView:
        """The part of the history that `scope` admits, as of now."""
        self._refresh()
        return IndexedView(scope, self._replica.legs, self)

    def channels(self) -> frozenset[str]:
        """All channels that occur."""
        self._refresh()
        return self._replica.legs.timeline.channels()

    def close(self) -> None:
        """Release locks and files. Closing twice is fine.

        Where deletions left something in the files, it is scrubbed now, unless a reader is using them:
        then the next writer that closes the store will.
        """
        with self._replica.lock:
            if self._is_closed:
                return
            if self._replica.manifest.has_remains and not self.read_only:
                with suppress(StoreError):
                    self.scrub()
            if not self.read_only:
                self._replica.save_snapshot()
            self._is_closed = True
            self.derived.close()
            self._table.close()

    def scrub(self) -> None:
        """Remove from the files what deleted and replaced messages left there. Rewrites the database,
        which takes a second or two per hundred thousand messages.

        Raises:
            StoreError: If the files are in use by a reader; try again later.
        """
        self._require_writable()
        with self._replica.lock:
            self._table.scrub()
            self.derived.scrub()
            if self._verdicts is not None:
                VerdictCache(self._verdicts).scrub()
            self._replica.mark_scrubbed()

    def check(self) -> tuple[str, ...]:
        """Compare the rows of record with the legs.

        Returns:
            The problems found, one sentence each; empty when all is well.
        """
        with self._replica.lock:
            self._refresh()
            manifest, legs, copy = self._replica.manifest, self._replica.legs, self._vectors.copy
            return tuple(find_problems(self._table, manifest, legs, copy))

    def load_messages(
        self, slots: NDArray[np.int64], as_of: datetime | None = None
    ) -> list[Message | None]:
        """The messages that slots were given to, as they are now or were then; None for what was not there."""
        self._refresh()
        return self._replica.legs.at(slots, as_of)

    def load_vectors(
        self, slots: NDArray[np.int64], as_of: datetime | None = None
    ) -> Vectors | None:
        """(n, d) vectors of the texts that slots were given to, of now or then, zero where one is missing;
        None when the store keeps none."""
        self._require_open()
        return self._vectors.load(slots, as_of)

    def import_times(self, ids: Sequence[str]) -> dict[str, ImportTimes]:
        """When messages were stored, by id; unknown ids are left out."""
        self._refresh()
        rows: dict[str, Row] = {}
        for batch in batches(dict.fromkeys(ids), self._table.batch_size):
            rows.update(self._table.read(batch))
        return {
            one: ImportTimes(row.stored_at, row.changed_at or row.stored_at)
            for one, row in rows.items()
        }

    def _edited(self, messages: Sequence[Message]) -> list[str]:
        stored = self._replica.legs.messages(m.id for m in messages)
        return [m.id for m in messages if stored.get(m.id, m) != m]

    def _take_back(self, ids: Sequence[str], *, edited: bool = False) -> None:
        """Remove what was made of messages, and what a model said about them, before they change or go."""
        if ids:
            self.derived.erase(ids, keeps_filed=edited)
            self._forget_verdicts(ids)

    def _forget_verdicts(self, ids: Sequence[str]) -> None:
        if self._verdicts is not None:
            VerdictCache(self._verdicts).forget(ids)

    def _explain(
        self, error: StoreError, done: Sequence[str], part: Sequence[Message], n_messages: int
    ) -> IngestError:
        """Find out what of a failed batch is stored."""
        try:
            there = self._table.read([m.id for m in part])
        except StoreError:
            there = {}
        messages = {one: row.message for one, row in there.items()}
        return stored_in_part(self.name, error, done, part, messages, n_messages)

    def _adopt(self, model: str | None, dimension: int | None) -> None:
        """Take what the caller embeds with as the store's own while it is empty, else compare them."""
        if len(self._replica.legs):
            require_same_space(self.name, self._replica.manifest, model, dimension)
        elif not self.read_only and not is_same_space(self._replica.manifest, model, dimension):
            self._start_over(model, dimension)

    def _start_over(self, model: str | None, dimension: int | None) -> None:
        self._vectors.discard()
        self._replica.start_over(model, dimension)

    def _check_vectors(self, n_messages: int, vectors: Vectors | None) -> Vectors | None:
        if vectors is None or n_messages == 0:
            return None
        checked = check_vectors(vectors, n_messages)
        kept, dimension = self._replica.manifest, checked.shape[1]
        if kept.dimension is None and len(self._replica.legs) == 0:
            self._start_over(kept.model, dimension)
        else:
            require_same_space(self.name, kept, None, dimension)
        return checked

    def _refresh(self) -> None:
        self._require_open()
        self._replica.refresh()

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"Store {self.name} is closed; open it again.")

    def _require_writable(self) -> None:
        self._require_open()
        if self.read_only:
            raise StoreError(f"Store {self.name} is open for reading only; open it to write.")
