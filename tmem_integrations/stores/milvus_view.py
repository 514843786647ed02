"""What one question may read of a history in Milvus. Each call asks the server; little is kept here.

Scores are BM25 as in Okapi, but for two things that make them a matter of the message and of what the
scope admits alone: the usual length of a message is a constant, and idf is ln(1 + (N − df + ½)/(df + ½)),
never negative, from counts under the scope. Milvus' own BM25 counts all rows of a collection, other
people's and deleted ones too, and milvus-lite those of a segment. So weights of words are written as
sparse vectors, and Milvus sums idf times weight over its inverted index.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

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
from tmem_integrations.stores.milvus_counts import Counts
from tmem_integrations.stores.milvus_places import (
    SPOT_FIELDS,
    Around,
    Places,
    Spot,
    Stretch,
    spots_of,
)
from tmem_integrations.stores.milvus_rows import (
    ROW_FIELDS,
    Entity,
    digest,
    dimension_of,
    message_terms,
    place_of,
    term_number,
    term_weights,
    to_row,
    to_vector,
)
from tmem_integrations.stores.milvus_scope import all_of, version_of
from tmem_integrations.stores.milvus_table import MAX_ROWS, MilvusTable
from tmem_integrations.stores.timeline import median_pace, microseconds_of
from tmem_integrations.text import split_terms

_EVER = 2**63 - 1
_MAX_MATCHES = MAX_ROWS
# Documents of a term are listed up to here and counted beyond; so many terms are listed in one call.
_MAX_LISTED = 1_024
_TERMS_AT_ONCE = 64
_PACE_SAMPLE = 4_096
_SAMPLE = 256


class MilvusView:
    """A `HistoryView`: rows are numbers that this view gave to messages.

    It knows nothing that arrived after it was made. What was deleted or edited since is read as it is
    now, and a message that is loaded is checked against the scope once more.

    Args:
        scope: What the question may read.
        table: The messages.
        clock: The last arrival it may see.
        within: What it may read, as a condition.
        counts: What was counted under that condition already.
        tenant_name: Of its keys.
        language: How words are split.
        dimension: Of the vectors; None when none are kept.
    """

    def __init__(
        self,
        scope: Scope,
        table: MilvusTable,
        *,
        clock: int,
        within: str,
        counts: Counts,
        tenant_name: str,
        language: str | None,
        dimension: int | None,
    ) -> None:
        self._scope = scope
        self._table = table
        self._clock = clock
        self._tenant_name = tenant_name
        self._language = language
        self._dimension = dimension
        self._within = within
        self._counts = counts
        self._places = Places(table, self._within, lambda: self.n_messages)
        self._spots: list[Spot] = []
        self._rows: dict[str, int] = {}
        self._messages: dict[int, Message] = {}

    @property
    def n_messages(self) -> int:
        """How many messages the scope admits."""
        if self._counts.n_messages is None:
            self._counts.n_messages = self._table.count(self._within)
        return self._counts.n_messages

    def pace(self) -> float | None:
        """Median seconds between consecutive messages of a partition, of the last 4,096 to arrive; where
        no partition has two of those in the scope, of more."""
        too_few, n_arrivals = 0, _PACE_SAMPLE
        while True:
            condition = all_of([self._within, f"arrival > {self._clock - n_arrivals}"])
            rows = self._table.query(condition, ["sent", "place"], limit=self._table.max_rows)
            if len(rows) >= self._table.max_rows and n_arrivals - too_few > 1:
                # Some are left out, and what lies between two others is no gap: look less far back.
                n_arrivals = (too_few + n_arrivals) // 2
                continue
            sent = np.array([row["sent"] for row in rows], dtype=np.int64)
            _, places = np.unique([row["place"] for row in rows], return_inverse=True)
            pace = median_pace(sent, places)
            if pace is not None or n_arrivals >= self._clock:
                return pace
            too_few, n_arrivals = n_arrivals, n_arrivals * 16

    def search(
        self,
        text: str,
        *,
        containing: str | None = None,
        between: tuple[float, float] | None = None,
    ) -> Matches:
        """The 16,384 best messages that share a term with `text`, with their BM25 scores.

        Two terms share a dimension once in four thousand million pairs; then one finds the other.

        Args:
            text: What is searched for.
            containing: Only messages that share a term with this text too.
            between: Only messages with start <= sent_at < end (POSIX seconds).
        """
        queries = [
            self._weighted(text),
            *([] if containing is None else [self._weighted(containing)]),
        ]
        if not all(queries):
            return Matches(np.empty(0, np.int64), np.empty(0))
        within = self._within if between is None else all_of([self._within, _sent_in(*between)])
        found, *others = self._table.search(queries, within, SPOT_FIELDS, limit=_MAX_MATCHES)
        if containing is not None and len(found) >= _MAX_MATCHES:
            # What the best have in common is not the best of what they have in common.
            holds = _holds_any(split_terms(containing, language=self._language))
            (found,) = self._table.search(
                queries[:1], all_of([within, holds]), SPOT_FIELDS, limit=_MAX_MATCHES
            )
        elif others:
            asked = {hit["owner"] for _, hit in others[0]}
            found = [(score, hit) for score, hit in found if hit["owner"] in asked]
        scored = {hit["owner"]: score for score, hit in found}
        spots = spots_of(hit for _, hit in found)
        scores = np.array([scored[spot.owner] for spot in spots], np.float64)
        return Matches(self._give(spots), scores, len(spots) >= _MAX_MATCHES)

    def term_scores(self, text: str, rows: Rows) -> Scores:
        """(t, n) what each distinct term of `text` adds to the score of each row, from its message."""
        self._require(rows)
        terms = list(dict.fromkeys(split_terms(text, language=self._language)))
        idf = self._idf(terms)
        table = np.zeros((len(terms), len(rows)))
        for column, message in enumerate(self._remembered(rows)):
            if message is not None:
                weights = term_weights(message_terms(message, self._language))
                table[:, column] = [idf[term] * weights.get(term, 0.0) for term in terms]
        return table

    def document_frequencies(self, text: str) -> dict[str, int]:
        """For each distinct term of `text`, how many visible messages hold it; 0 where none does."""
        terms = list(dict.fromkeys(split_terms(text, language=self._language)))
        self._count(terms)
        return {term: self._counts.frequencies[term] for term in terms}

    def window(self, partition: Partition, start: float, end: float) -> Rows:
        """Messages of a partition with start <= sent_at <= end, in (time, arrival) order.

        Args:
            start: POSIX seconds, read to the nearest microsecond.
            end: The same.
        """
        return self._give(self._places.window(_stretch_of(Window(partition, start, end))))

    def within(self, start: float, end: float) -> Rows:
        """Messages of all partitions with start <= sent_at < end, in (time, arrival) order; of more than
        16,384 a sample.

        Args:
            start: POSIX seconds, read to the nearest microsecond.
            end: The same.
        """
        condition = all_of([self._within, _sent_in(start, end)])
        rows, _ = self._table.sample(condition, SPOT_FIELDS, n_rows=self.n_messages)
        return self._give(spots_of(rows))

    def latest(self) -> float | None:
        """sent_at of the last message, POSIX seconds; None when there is none."""
        last = -_EVER
        # Each answer is a sample of what is later than the last one, and leaves next to nothing of it.
        while later := self._table.query(
            all_of([self._within, f"sent > {last}"]), ["sent"], limit=_SAMPLE
        ):
            last = max(row["sent"] for row in later)
        return None if last == -_EVER else last / 1e6

    def neighbours(self, row: int, before: int, after: int) -> Rows:
        """`row` with up to `before` earlier and `after` later messages of its partition, in order."""
        self._require(np.array([row]))
        return self._give(self._places.neighbours(Around(self._spots[row], before, after)))

    def gather(self, parts: Sequence[Window | Neighbours]) -> tuple[Rows, ...]:
        """`window` and `neighbours` for many at once, in as few calls as their number allows."""
        self._require(np.array([p.row for p in parts if isinstance(p, Neighbours)], np.int64))
        found = self._places.gather(
            [
                _stretch_of(part)
                if isinstance(part, Window)
                else Around(self._spots[part.row], part.before, part.after)
                for part in parts
            ]
        )
        return tuple(self._give(spots) for spots in found)

    def traffic(self, partitions: Sequence[Partition]) -> tuple[Scores, ...]:
        """For each partition the times of its messages; of large ones, a sample of 16,384 in all."""
        times = self._places.times([place_of(partition) for partition in partitions])
        return tuple(np.array(own, dtype=np.float64) / 1e6 for own in times)

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Rows of messages by id, in order; those that are not visible are left out."""
        owners = [digest("id", one, self._tenant_name) for one in ids]
        rows = self._table.read(
            list(dict.fromkeys(owners)), SPOT_FIELDS, field="owner", condition=self._within
        )
        spots = {spot.owner: spot for spot in spots_of(rows.values())}
        return self._give([spots[owner] for owner in owners if owner in spots])

    def times(self, rows: Rows) -> Scores:
        """(n,) sent_at in POSIX seconds."""
        self._require(rows)
        return np.array([self._spots[row].sent for row in rows.tolist()], dtype=np.float64) / 1e6

    def load(self, rows: Rows) -> tuple[Message | None, ...]:
        """The messages; None where one was deleted, or edited out of the scope, since the view was made."""
        self._require(rows)
        self._read_messages(dict.fromkeys(rows.tolist()))
        return tuple(self._messages.get(row) for row in rows.tolist())

    def vectors(self, rows: Rows) -> Vectors | None:
        """(n, d) unit vectors, a zero vector where one is missing; None when the store keeps none."""
        self._require(rows)
        if self._dimension is None:
            return None
        owners = [self._spots[row].owner for row in rows.tolist()]
        found = self._read(list(dict.fromkeys(owners)), ["vector"])
        vectors = np.zeros((len(owners), self._dimension), np.float32)
        for index, owner in enumerate(owners):
            if owner in found:
                vectors[index] = to_vector(found[owner])
        return vectors

    def _weighted(self, text: str) -> dict[int, float]:
        """A text as a sparse vector of idf, of the terms that occur."""
        terms = Counter(split_terms(text, language=self._language))
        idf = self._idf(terms)
        query: defaultdict[int, float] = defaultdict(float)
        for term, repeats in terms.items():
            if self._counts.frequencies[term]:
                query[dimension_of(term_number(term))] += repeats * idf[term]
        return query

    def _remembered(self, rows: Rows) -> list[Message | None]:
        """Messages as they were loaded last, read now where they were not."""
        self._read_messages(row for row in rows.tolist() if row not in self._messages)
        return [self._messages.get(row) for row in rows.tolist()]

    def _read_messages(self, rows: Iterable[int]) -> None:
        by_owner = {self._spots[row].owner: row for row in rows}
        found = self._read(list(by_owner), ROW_FIELDS)
        for owner, row in by_owner.items():
            message = to_row(found[owner]).message if owner in found else None
            self._messages.pop(row, None)
            if message is not None and self._scope.admits(message):
                self._messages[row] = message

    def _read(self, owners: Sequence[str], fields: Sequence[str]) -> dict[str, Entity]:
        """Fields of the version that the question reads, by the digest of the message's id."""
        if self._scope.query.as_of is None:
            # The key of the present version is its owner; by key is the shortest way.
            return self._table.read(owners, fields)
        version = version_of(self._scope.query)
        return self._table.read(owners, fields, field="owner", condition=version)

    def _idf(self, terms: Iterable[str]) -> Mapping[str, float]:
        names = list(terms)
        self._count(names)
        df = np.array([self._counts.frequencies[term] for term in names], dtype=np.float64)
        idf = np.log1p((max(self.n_messages, df.max(initial=0)) - df + 0.5) / (df + 0.5))
        return dict(zip(names, idf.tolist(), strict=True))

    def _count(self, terms: Sequence[str]) -> None:
        """Count the documents of terms: of rare ones those listed, of frequent ones by the server."""
        new = [term for term in terms if term not in self._counts.frequencies]
        for start in range(0, len(new), _TERMS_AT_ONCE):
            part = new[start : start + _TERMS_AT_ONCE]
            queries = [{dimension_of(term_number(term)): 1.0} for term in part]
            lists = self._table.search(queries, self._within, ["key"], limit=_MAX_LISTED)
            for term, hits in zip(part, lists, strict=True):
                n_hits = len(hits)
                if n_hits == _MAX_LISTED:
                    holds = f"array_contains(terms, {term_number(term)})"
                    n_hits = max(n_hits, self._table.count(all_of([self._within, holds])))
                self._counts.frequencies[term] = n_hits

    def _give(self, spots: Sequence[Spot]) -> Rows:
        """The rows of messages: a new one for each that this view has not met."""
        for spot in spots:
            if spot.owner not in self._rows:
                self._rows[spot.owner] = len(self._spots)
                self._spots.append(spot)
        return np.array([self._rows[spot.owner] for spot in spots], dtype=np.int64)

    def _require(self, rows: Rows) -> None:
        if not ((rows >= 0) & (rows < len(self._spots))).all():
            raise StoreError("A row is valid for the view that gave it; this view has not.")


def _stretch_of(window: Window) -> Stretch:
    first, last = (max(-_EVER, microseconds_of(time)) for time in (window.start, window.end))
    return Stretch(place_of(window.partition), first, last)


def _sent_in(start: float, end: float) -> str:
    """Whether a message was sent at start <= sent_at < end, POSIX seconds."""
    first, last = (max(-_EVER, microseconds_of(time)) for time in (start, end))
    return f"sent >= {first} and sent < {last}"


def _holds_any(terms: Iterable[str]) -> str:
    """Whether a message holds one of some terms, at least one."""
    numbers = sorted({term_number(term) for term in terms})
    return f"array_contains_any(terms, {numbers})"
