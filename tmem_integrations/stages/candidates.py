"""Candidates: the messages around the anchors that may be evidence (TEF §4.2).

An episode opens a window in time, and a lone anchor a window of its own. Of a window only what lies
within reach of an anchor is looked at: in a busy channel half a day holds thousands of messages, and
relevance does not travel that far.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message
from tmem_integrations.protocols import Neighbours, Partition, Rows, Scores, Window
from tmem_integrations.stages.episodes import Episodes


@dataclass(frozen=True, slots=True)
class Candidates:
    """Messages that may be evidence; those of one run follow each other in their partition.

    Attributes:
        messages: The n messages, run by run, each in (time, arrival) order.
        rows: (n,) their handles.
        runs: (n,) number of the run each belongs to.
        term_scores: (t, n) lexical score of each term of the search text in each message.
        is_asked: (t,) whether the term is one of the question; the others name the asker.
        is_anchor: (n,) whether seed retrieval found it.
    """

    messages: tuple[Message, ...]
    rows: Rows
    runs: NDArray[np.int64]
    term_scores: Scores
    is_asked: NDArray[np.bool_]
    is_anchor: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.messages)


def windows_of(
    episodes: Episodes, partitions: Mapping[int, Partition], reach: int
) -> tuple[tuple[Partition, ...], tuple[Window | Neighbours, ...]]:
    """What to read around the anchors: a window per episode, a neighbourhood per lone anchor.

    Args:
        episodes: From `find_episodes`.
        partitions: Row of each anchor to its partition.
        reach: Messages on each side of a lone anchor.

    Returns:
        The partition and the request of each part.
    """
    owners = [e.partition for e in episodes.kept] + [partitions[row] for row in episodes.lone]
    parts: list[Window | Neighbours] = [Window(e.partition, e.start, e.end) for e in episodes.kept]
    parts += [Neighbours(row, reach, reach) for row in episodes.lone]
    return tuple(owners), tuple(parts)


def join_runs(
    owners: Sequence[Partition], parts: Sequence[Rows], anchors: Rows, reach: int
) -> tuple[Rows, ...]:
    """Stretches of consecutive messages around anchors; no row is in two of them.

    Args:
        owners: Partition of each part.
        parts: Rows of each part: consecutive messages of its partition, in order.
        anchors: (k,) rows of all anchors.
        reach: Messages on each side of an anchor.
    """
    by_partition: dict[Partition, list[Rows]] = defaultdict(list)
    known = np.sort(anchors)
    for owner, part in zip(owners, parts, strict=True):
        by_partition[owner].extend(_near(part, known, reach))
    return tuple(run for runs in by_partition.values() for run in _join(runs))


def _near(part: Rows, anchors: Rows, reach: int) -> list[Rows]:
    """The stretches of `part` that lie within reach of an anchor.

    Args:
        anchors: (k,) ascending.
    """
    places = np.searchsorted(anchors, part)
    places[places == len(anchors)] = 0
    stretches: list[list[int]] = []
    for at in np.flatnonzero(anchors[places] == part).tolist() if len(anchors) else ():
        start, end = max(at - reach, 0), at + reach + 1
        if stretches and start <= stretches[-1][1]:
            stretches[-1][1] = end
        else:
            stretches.append([start, end])
    return [part[start:end] for start, end in stretches]


def _join(runs: Sequence[Rows]) -> list[Rows]:
    """Unite runs that share rows: each is a stretch of the same sequence, so what follows a shared row
    in one follows it in the other."""
    every = np.sort(np.concatenate([*runs, np.empty(0, np.int64)]))
    if not (every[1:] == every[:-1]).any():
        return sorted(runs, key=lambda run: int(run[0]))
    following: dict[int, int] = {}
    rows: set[int] = set()
    for run in runs:
        rows.update(run.tolist())
        following.update(zip(run[:-1].tolist(), run[1:].tolist(), strict=True))
    joined = []
    for first in sorted(rows - set(following.values())):
        chain = [first]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        joined.append(np.array(chain, dtype=np.int64))
    return joined
