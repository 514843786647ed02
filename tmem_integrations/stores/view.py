"""What one question may read of a store whose legs are in memory and whose messages are in a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import (
    Matches,
    Neighbours,
    Partition,
    Rows,
    Scores,
    Vectors,
    Window,
)
from tmem_integrations.stores.legs import Legs
from tmem_integrations.stores.timeline import PartitionOrder, median_gap, microseconds_of
from tmem_integrations.text import split_terms


class Source(Protocol):
    """Where a view gets messages and vectors from."""

    def load_messages(
        self, slots: NDArray[np.int64], as_of: datetime | None = None
    ) -> list[Message | None]:
        """The messages that slots were given to, as they are now or were then; None for what was not there."""
        ...

    def load_vectors(
        self, slots: NDArray[np.int64], as_of: datetime | None = None
    ) -> Vectors | None:
        """(n, d) vectors of the texts that slots were given to, of now or then, zero where one is missing;
        None when there are none at all."""
        ...


class IndexedView:
    """A `HistoryView`: rows are slots of the legs.

    It was cut out by its scope when it was made: with `as_of` it holds each message in the version of then,
    otherwise as it is now. Later messages are not in it, later deletions are gone
    from it, and what is loaded is checked against the scope once more.
    """

    def __init__(self, scope: Scope, legs: Legs, source: Source) -> None:
        self._scope = scope
        self._as_of = scope.query.as_of
        self._legs = legs
        self._source = source
        self._mask = legs.mask(scope)
        self._columns = legs.timeline.columns
        self._orders: dict[int, PartitionOrder] = {}

    @property
    def n_messages(self) -> int:
        """How many messages the scope admits."""
        return int(np.count_nonzero(self._mask))

    def pace(self) -> float | None:
        """Median seconds between consecutive messages of a partition, of the last 50,000 to arrive; None
        when no partition holds two messages."""
        return median_gap(self._columns, self._mask)

    def search(
        self,
        text: str,
        *,
        containing: str | None = None,
        between: tuple[float, float] | None = None,
    ) -> Matches:
        """All messages that share at least one term with `text`, with BM25Okapi scores (TEF §4.2).

        Args:
            text: What is searched for.
            containing: Only messages that share a term with this text too.
            between: Only messages with start <= sent_at < end (POSIX seconds).
        """
        rows, scores = self._scored(text)
        kept = np.ones(len(rows), dtype=np.bool_)
        if containing is not None:
            kept &= np.isin(rows, self._scored(containing)[0])
        if between is not None:
            first, last = (microseconds_of(time) for time in between)
            sent = self._columns.sent[rows]
            kept &= (first <= sent) & (sent < last)
        return Matches(rows[kept], scores[kept])

    def term_scores(self, text: str, rows: Rows) -> Scores:
        """(t, n) what each distinct term of `text` adds to the score of each row."""
        self._require(rows)
        terms = split_terms(text, language=self._legs.language)
        return self._legs.lexical.term_scores(terms, rows, self._mask)

    def document_frequencies(self, text: str) -> dict[str, int]:
        """For each distinct term of `text`, how many visible messages hold it; 0 where none does."""
        terms = split_terms(text, language=self._legs.language)
        return self._legs.lexical.document_frequencies(terms, self._mask)

    def window(self, partition: Partition, start: float, end: float) -> Rows:
        """Messages of a partition with start <= sent_at <= end, in (time, arrival) order.

        Args:
            start: POSIX seconds, read to the nearest microsecond.
            end: The same.
        """
        code = self._legs.timeline.partition_code(partition)
        if code is None:
            return np.empty(0, np.int64)
        return self._order(code).window(microseconds_of(start), microseconds_of(end))

    def within(self, start: float, end: float) -> Rows:
        """Messages of all partitions with start <= sent_at < end, in (time, arrival) order.

        Args:
            start: POSIX seconds, read to the nearest microsecond.
            end: The same.
        """
        columns, slots = self._columns, np.flatnonzero(self._mask)
        sent = columns.sent[slots]
        slots = slots[(microseconds_of(start) <= sent) & (sent < microseconds_of(end))]
        return slots[np.lexsort((columns.arrival[slots], columns.sent[slots]))]

    def latest(self) -> float | None:
        """sent_at of the last message, POSIX seconds; None when there is none."""
        sent = self._columns.sent[: len(self._mask)][self._mask]
        return float(sent.max() / 1e6) if len(sent) else None

    def neighbours(self, row: int, before: int, after: int) -> Rows:
        """`row` with up to `before` earlier and `after` later messages of its partition, in order."""
        self._require(np.array([row]))
        columns = self._columns
        order = self._order(int(columns.partition[row]))
        return order.neighbours(int(columns.sent[row]), int(columns.arrival[row]), before, after)

    def gather(self, parts: Sequence[Window | Neighbours]) -> tuple[Rows, ...]:
        """`window` and `neighbours` for many at once."""
        return tuple(
            self.window(part.partition, part.start, part.end)
            if isinstance(part, Window)
            else self.neighbours(part.row, part.before, part.after)
            for part in parts
        )

    def traffic(self, partitions: Sequence[Partition]) -> tuple[Scores, ...]:
        """For each partition the (n,) times of its messages in POSIX seconds, in order."""
        codes = [self._legs.timeline.partition_code(partition) for partition in partitions]
        none = np.empty(0, np.int64)
        return tuple((none if code is None else self._order(code).sent) / 1e6 for code in codes)

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Rows of messages by id, in order; those that are not visible are left out."""
        found = np.array(self._legs.slots(ids, self._as_of), dtype=np.int64)
        found = found[found < len(self._mask)]
        return found[self._mask[found]]

    def times(self, rows: Rows) -> Scores:
        """(n,) sent_at in POSIX seconds."""
        self._require(rows)
        seconds: Scores = self._columns.sent[rows] / 1e6
        return seconds

    def load(self, rows: Rows) -> tuple[Message | None, ...]:
        """The messages; None where one was deleted, or edited out of the scope, since the view was made."""
        self._require(rows)
        messages = self._source.load_messages(rows, self._as_of)
        if self._scope.is_open:
            return tuple(messages)
        return tuple(m if m is not None and self._scope.admits(m) else None for m in messages)

    def vectors(self, rows: Rows) -> Vectors | None:
        """(n, d) unit vectors, a zero vector where one is missing; None when the store keeps none."""
        self._require(rows)
        return self._source.load_vectors(rows, self._as_of)

    def _scored(self, text: str) -> tuple[Rows, Scores]:
        terms = split_terms(text, language=self._legs.language)
        return self._legs.lexical.search(terms, self._mask)

    def _order(self, code: int) -> PartitionOrder:
        order = self._orders.get(code)
        if order is None:
            order = self._orders[code] = self._legs.timeline.order(code, self._mask)
        return order

    def _require(self, rows: Rows) -> None:
        known = (rows >= 0) & (rows < len(self._mask))
        if not known.all() or not self._mask[rows].all():
            raise StoreError("A row is valid for the view that gave it; this view has not.")
