"""BM25 over messages that come, change and go, seen through the eyes of who may read them.

The scores are those of `rank_bm25.BM25Okapi` fitted on the visible documents alone: counts of documents,
document frequencies, the average length and the floor of negative idf values know nothing of a document
outside the scope, so no score tells of one.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.stores.growing import GrowingArray
from tmem_integrations.stores.postings import (
    Segment,
    append_segment,
    build_segment,
    merge_segments,
)

_K1 = 1.5
_B = 0.75
_EPSILON = 0.25
_CACHED_AVERAGES = 64


def positive_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lift scores that are zero or negative to tiny positive values.

    In a small history BM25 gives zero to a term that half of the messages hold, and less to one that
    most hold; yet these messages match. Positive scores stay as they are; all others keep their order and
    their ties, and come below every positive one.

    Args:
        scores: (n,) finite.

    Returns:
        (n,) positive.

    Examples:
        >>> positive_scores(np.array([2.0, 0.0, -1.0])).tolist()
        [2.0, 1e-06, 5e-07]
    """
    low = scores <= 0
    if not low.any():
        return scores
    values, ranks = np.unique(scores[low], return_inverse=True)
    smallest = scores[~low].min() if not low.all() else 1.0
    lifted = scores.astype(np.float64)
    lifted[low] = min(1e-6, smallest / 2) * (ranks + 1) / len(values)
    return lifted


def okapi_idf(frequencies: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """ln((N − df + ½) / (df + ½)), before the floor for negative values."""
    idf: NDArray[np.float64] = np.log(n_documents - frequencies + 0.5) - np.log(frequencies + 0.5)
    return idf


@dataclass(frozen=True, slots=True)
class _State:
    """All that a search reads, replaced as a whole."""

    version: int = 0
    segments: tuple[Segment, ...] = ()
    lengths: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    alive: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))


@dataclass(frozen=True, slots=True)
class Postings:
    """All that an index holds of the documents that are there, numbered anew from 0.

    Attributes:
        terms: (t,) the terms.
        starts: (t + 1,) where each term's postings begin in `slots` and `counts`.
        slots: (p,) documents, ascending within a term.
        counts: (p,) how often the document holds the term.
        lengths: (n,) how many terms each document has.
    """

    terms: list[str]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: NDArray[np.int32]


class LexicalIndex:
    """An inverted index of documents that are numbered by the order of their coming: their slot.

    One writer and any number of readers at once: a search sees the index before or after a change, never
    between. A slot is never used again; a changed document is removed and gets a new one.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._next_number = 0
        self._lengths: GrowingArray[np.int32] = GrowingArray(np.int32)
        self._alive: GrowingArray[np.bool_] = GrowingArray(np.bool_)
        self._state = _State()
        self._n_dead_tokens = 0
        self._averages: OrderedDict[tuple[int, bytes | None], float] = OrderedDict()
        self._averages_lock = threading.Lock()

    @property
    def n_slots(self) -> int:
        """How many slots were ever given."""
        return len(self._state.lengths)

    def add(self, slots: Sequence[int], token_lists: Sequence[Sequence[str]]) -> None:
        """Index documents.

        Args:
            slots: (n,) the next n slots, in order.
            token_lists: (n,) terms of each, with repetitions; may be empty.
        """
        expected = range(self.n_slots, self.n_slots + len(slots))
        if list(slots) != list(expected) or len(slots) != len(token_lists):
            raise ValueError(f"expected {expected} and as many token lists, got {slots!r:.80}.")
        if not slots:
            return
        numbers = self._numbers
        for token in {token for tokens in token_lists for token in tokens}.difference(numbers):
            numbers[token] = self._next_number
            self._next_number += 1
        new = build_segment(slots, [[numbers[token] for token in one] for one in token_lists])
        self._lengths.extend([len(tokens) for tokens in token_lists])
        self._alive.extend(np.ones(len(slots), np.bool_))
        self._publish(append_segment(self._state.segments, new, self._alive.values))

    def remove(self, slots: Sequence[int]) -> None:
        """Forget documents; unknown and already removed ones are passed over."""
        gone = np.asarray([slot for slot in slots if 0 <= slot < self.n_slots], dtype=np.int64)
        alive = self._alive.values.copy()
        self._n_dead_tokens += int(self._lengths.values[gone[alive[gone]]].sum())
        alive[gone] = False
        self._alive.replace(alive)
        segments = self._state.segments
        if 2 * self._n_dead_tokens > int(self._lengths.values[alive].sum()):
            segments = self._compact(segments, alive)
        self._publish(segments)

    def dump(self) -> Postings:
        """What `restore` takes; nothing is left of removed documents."""
        state = self._state
        merged = merge_segments(state.segments, state.alive)
        renumbered = (np.cumsum(state.alive) - 1).astype(np.int32)
        spelled = {number: term for term, number in self._numbers.items()}
        return Postings(
            terms=[spelled[number] for number in merged.terms.tolist()],
            starts=merged.starts,
            slots=renumbered[merged.slots],
            counts=merged.counts,
            lengths=state.lengths[state.alive],
        )

    def restore(self, postings: Postings) -> None:
        """Hold the documents of a dump; only while the index is empty."""
        self._numbers = {term: number for number, term in enumerate(postings.terms)}
        self._next_number = len(postings.terms)
        self._lengths.extend(postings.lengths)
        self._alive.extend(np.ones(len(postings.lengths), np.bool_))
        numbers = np.arange(len(postings.terms))
        segment = Segment(numbers, postings.starts, postings.slots, postings.counts)
        self._publish((segment,) if len(segment) else ())

    def search(
        self, terms: Sequence[str], allowed: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Visible documents that hold at least one of the terms.

        Args:
            terms: A term that is repeated counts as often.
            allowed: (m,) whether the scope admits a slot; later slots it does not. None admits all.

        Returns:
            (n,) slots, ascending, and (n,) their BM25Okapi scores, which may be zero or negative.
        """
        state = self._state
        visible = _visible(state, allowed)
        scores = np.zeros(len(visible))
        matched = np.zeros(len(visible), np.bool_)
        for _, repeats, slots, weights in self._weigh(state, terms, visible, allowed is None):
            scores[slots] += repeats * weights
            matched[slots] = True
        found = np.flatnonzero(matched)
        return found, scores[found]

    def term_scores(
        self,
        terms: Sequence[str],
        slots: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64]:
        """What each distinct term adds to the score of some documents.

        Args:
            terms: A repeated term is one.
            slots: (n,) visible documents.
            allowed: As for `search`.

        Returns:
            (t, n), one row for each distinct term in order; 0 exactly where it does not occur, and tiny
            positive values where BM25Okapi gives a term that occurs zero or less.
        """
        state = self._state
        visible = _visible(state, allowed)
        column = np.full(len(visible), -1)
        column[slots] = np.arange(len(slots))
        table = np.zeros((len(set(terms)), len(slots)))
        for index, _, found, weights in self._weigh(state, terms, visible, allowed is None):
            at = column[found]
            table[index, at[at >= 0]] = positive_scores(weights[at >= 0])
        return table

    def _weigh(
        self, state: _State, terms: Sequence[str], visible: NDArray[np.bool_], everything: bool
    ) -> Iterator[tuple[int, int, NDArray[np.int32], NDArray[np.float64]]]:
        """Per distinct term that occurs: its number, its repeats, the slots and their weights."""
        n_documents = int(np.count_nonzero(visible))
        if n_documents == 0:
            return
        average_length = state.lengths.sum(where=visible, dtype=np.int64) / n_documents
        for index, (term, repeats) in enumerate(Counter(terms).items()):
            slots, counts = self._postings(state, term, visible)
            if len(slots) == 0:
                continue
            idf = float(okapi_idf(np.array(len(slots)), n_documents))
            if idf < 0:
                idf = _EPSILON * self._average_idf(state, visible, n_documents, everything)
            saturation = _K1 * (1 - _B + _B * state.lengths[slots] / average_length)
            yield index, repeats, slots, idf * (counts * (_K1 + 1) / (counts + saturation))

    def document_frequencies(
        self, terms: Sequence[str], allowed: NDArray[np.bool_] | None = None
    ) -> dict[str, int]:
        """For each distinct term, how many visible documents hold it."""
        state = self._state
        visible = _visible(state, allowed)
        distinct = list(dict.fromkeys(terms))
        if visible.all():
            # A question asks this for every word of its answer, and a common word is in most documents.
            numbers = np.array([self._numbers.get(term, -1) for term in distinct], dtype=np.int64)
            sizes = sum(
                (s.sizes(numbers) for s in state.segments), np.zeros(len(numbers), np.int64)
            )
            return dict(zip(distinct, sizes.tolist(), strict=True))
        return {term: len(self._postings(state, term, visible)[0]) for term in distinct}

    def lengths(self, slots: NDArray[np.int64]) -> NDArray[np.int32]:
        """(n,) how many terms each document has."""
        return self._state.lengths[slots]

    def _postings(
        self, state: _State, term: str, visible: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        number = self._numbers.get(term, -1)
        parts = [segment.postings(number) for segment in state.segments]
        slots = np.concatenate([part[0] for part in parts] or [np.empty(0, np.int32)])
        counts = np.concatenate([part[1] for part in parts] or [np.empty(0, np.int32)])
        kept = visible[slots]
        return slots[kept], counts[kept]

    def _average_idf(
        self, state: _State, visible: NDArray[np.bool_], n_documents: int, everything: bool
    ) -> float:
        """Mean idf over the terms that occur in a visible document; remembered per scope."""
        key = (state.version, None if everything else np.packbits(visible).tobytes())
        with self._averages_lock:
            if key in self._averages:
                self._averages.move_to_end(key)
                return self._averages[key]
        size = 1 + max((int(s.terms[-1]) for s in state.segments if len(s)), default=-1)
        frequencies = np.zeros(size, np.int64)
        for segment in state.segments:
            frequencies[segment.terms] += segment.frequencies(visible)
        average = float(okapi_idf(frequencies[frequencies > 0], n_documents).mean())
        with self._averages_lock:
            self._averages[key] = average
            while len(self._averages) > _CACHED_AVERAGES:
                self._averages.popitem(last=False)
        return average

    def _compact(
        self, segments: tuple[Segment, ...], alive: NDArray[np.bool_]
    ) -> tuple[Segment, ...]:
        """Drop what removed documents left: they cost no time, and their words are not kept."""
        self._n_dead_tokens = 0
        if not segments:
            return ()
        merged = merge_segments(segments, alive)
        held = set(merged.terms.tolist())
        self._numbers = {term: n for term, n in self._numbers.items() if n in held}
        return (merged,) if held else ()

    def _publish(self, segments: tuple[Segment, ...]) -> None:
        version = self._state.version + 1
        self._state = _State(version, segments, self._lengths.values, self._alive.values)


def _visible(state: _State, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    if allowed is None:
        return state.alive
    visible = np.zeros_like(state.alive)
    visible[: len(allowed)] = allowed[: len(visible)]
    visible &= state.alive
    return visible
