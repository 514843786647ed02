"""Traffic: how much was said when, in the partitions where anchors lie.

It decides nothing. It is what a reader needs to see whether the windows lie where the talk was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmem_integrations.protocols import Partition, Scores
from tmem_integrations.stages.episodes import Episodes
from tmem_integrations.trace import Lane, Timeline, Window

# Fine enough to see a morning in a month, and few enough that a trace stays small.
N_PARTS = 160


def count_traffic(
    partitions: Sequence[Partition], times: Sequence[Scores], episodes: Episodes
) -> Timeline:
    """Count messages in equal parts of the time between the first and the last one.

    Args:
        partitions: In the order they are shown.
        times: For each the (n,) times of its messages, or of a fair sample, POSIX seconds, in order.
        episodes: Those that were kept.

    Examples:
        >>> import numpy as np
        >>> nothing = Episodes(kept=(), lone=(), n_sparse=0)
        >>> lane = count_traffic([("channel", "ops")], [np.array([0.0, 1.0, 160.0])], nothing).lanes[0]
        >>> lane.counts[:3], lane.counts[-1]
        ((1, 1, 0), 1)
    """
    occupied = [own for own in times if len(own)]
    if not occupied:
        return Timeline()
    start = min(float(own[0]) for own in occupied)
    end = max(float(own[-1]) for own in occupied)
    # A single instant still needs parts of some width.
    edges = np.linspace(start, max(end, start + 1.0), N_PARTS + 1)
    lanes = tuple(
        Lane(
            kind=partition[0],
            name=partition[1],
            counts=_count(own, edges),
            windows=tuple(
                Window(e.start, e.end, len(e.anchors))
                for e in episodes.kept
                if e.partition == partition
            ),
        )
        for partition, own in zip(partitions, times, strict=True)
    )
    return Timeline(start, end, lanes)


def _count(times: Scores, edges: Scores) -> tuple[int, ...]:
    """How many times lie between each two edges: as `np.histogram`, which would sort them first."""
    before = np.searchsorted(times, edges)
    before[-1] = np.searchsorted(times, edges[-1], side="right")
    return tuple(np.diff(before).tolist())
