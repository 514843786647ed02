"""Postings: which documents hold a term, and how often.

An index is a few immutable segments, as in Lucene: a new document is a segment of its own, and segments
of like size are merged, so that adding one document costs the logarithm of what is there. Readers hold a
tuple of segments that never changes under them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A segment is merged with its neighbour when it is not this many times smaller.
_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings of some documents, in compressed sparse columns.

    Attributes:
        terms: (t,) term numbers, ascending.
        starts: (t + 1,) where each term's postings begin in `slots` and `counts`.
        slots: (p,) documents, ascending within a term.
        counts: (p,) how often the document holds the term, at least 1.
    """

    terms: NDArray[np.int64]
    starts: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.slots)

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Documents that hold a term and how often; empty where none does."""
        place = int(np.searchsorted(self.terms, term))
        if place == len(self.terms) or self.terms[place] != term:
            return self.slots[:0], self.counts[:0]
        part = slice(int(self.starts[place]), int(self.starts[place + 1]))
        return self.slots[part], self.counts[part]

    def sizes(self, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,) how many documents hold each of some terms; 0 where none does."""
        if len(self.terms) == 0:
            return np.zeros(len(terms), np.int64)
        places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        sizes = self.starts[places + 1] - self.starts[places]
        return np.where(self.terms[places] == terms, sizes, 0)

    def frequencies(self, visible: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(t,) for each of `terms`, how many visible documents hold it."""
        passed = np.concatenate([[0], np.cumsum(visible[self.slots])])
        frequencies: NDArray[np.int64] = passed[self.starts[1:]] - passed[self.starts[:-1]]
        return frequencies

    def keys(self) -> NDArray[np.int64]:
        """(p,) term of each posting."""
        return np.repeat(self.terms, np.diff(self.starts))


def build_segment(slots: Sequence[int], term_lists: Sequence[Sequence[int]]) -> Segment:
    """Count the terms of some documents.

    Args:
        slots: (n,) documents.
        term_lists: (n,) term numbers of each, with repetitions.
    """
    lengths = np.fromiter(map(len, term_lists), np.int64, len(term_lists))
    n_tokens = int(lengths.sum())
    terms = np.fromiter((term for one in term_lists for term in one), np.int64, n_tokens)
    owners = np.repeat(np.asarray(slots, dtype=np.int64), lengths)
    pairs, counts = np.unique((terms << 32) | owners, return_counts=True)
    return _compress(pairs >> 32, (pairs & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32))


def merge_segments(segments: Sequence[Segment], alive: NDArray[np.bool_]) -> Segment:
    """One segment with the postings of all, those of documents that are not alive left out."""
    keys = np.concatenate([segment.keys() for segment in segments])
    slots = np.concatenate([segment.slots for segment in segments])
    counts = np.concatenate([segment.counts for segment in segments])
    kept = alive[slots]
    keys, slots, counts = keys[kept], slots[kept], counts[kept]
    order = np.argsort((keys << 32) | slots, kind="stable")
    return _compress(keys[order], slots[order], counts[order])


def append_segment(
    segments: tuple[Segment, ...], new: Segment, alive: NDArray[np.bool_]
) -> tuple[Segment, ...]:
    """Add a segment and merge from the end, until each is several times larger than the next."""
    merged = [new]
    size = len(new)
    rest = list(segments)
    while rest and len(rest[-1]) < _GROWTH * size:
        size += len(rest[-1])
        merged.append(rest.pop())
    if len(merged) > 1:
        new = merge_segments(merged[::-1], alive)
    return (*rest, new) if len(new) else tuple(rest)


def _compress(
    keys: NDArray[np.int64], slots: NDArray[np.int32], counts: NDArray[np.int32]
) -> Segment:
    terms, starts = np.unique(keys, return_index=True)
    return Segment(terms, np.append(starts, len(keys)).astype(np.int64), slots, counts)
