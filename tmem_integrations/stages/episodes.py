"""Episodes: stretches of time in which the anchors are dense (TEF §4.2).

People who settle something answer each other within hours. So anchors that lie close in time mark a
discussion, and the messages around them belong to it even when they share no word with the question.
A discussion that pauses for longer than the radius becomes two episodes; the forest may still join
them. An anchor that lies in no episode stays an anchor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from tmem_integrations.config import EpisodeConfig, require
from tmem_integrations.protocols import Partition, Rows, Scores

_HOUR = 3600.0
# Bounds of a measured radius: a minute, since sources round to it, and a month.
_SHORTEST, _LONGEST = 60.0, 30 * 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Episode:
    """A dense run of anchors in one partition, with its padded window.

    Attributes:
        partition: Topic, channel or the bucket of what has neither.
        anchors: Handles of its anchors, in order of time.
        start: Begin of the window, POSIX seconds.
        end: End of the window, POSIX seconds, inclusive.
    """

    partition: Partition
    anchors: tuple[int, ...]
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Episodes:
    """What the anchors form.

    Attributes:
        kept: Episodes denser than μ, in order of partition and time; windows of one partition are
            disjoint, so that a message is judged once.
        lone: Anchors in no kept episode, in order of time.
        n_sparse: Clusters that were not dense enough.
    """

    kept: tuple[Episode, ...]
    lone: tuple[int, ...]
    n_sparse: int


def seed_density(n_anchors: int, span: float, *, floor: float) -> float:
    r"""Anchors per hour of a cluster (TEF Eq. 2).

    $$ \rho(C) = |C| / \max(\Delta t, \delta) $$

    Args:
        n_anchors: Size |C| of the cluster, at least 1.
        span: Time Δt between its first and last anchor, hours, at least 0.
        floor: Span floor δ, hours, positive: keeps a burst within seconds from counting as
            infinitely dense.

    Returns:
        Density, anchors per hour.

    Raises:
        ConfigError: If `floor` is not positive.

    Examples:
        >>> seed_density(3, 0.0, floor=2.0)
        1.5
    """
    require(floor > 0, "floor", "positive", floor)
    return n_anchors / max(span, floor)


def pace_episodes(config: EpisodeConfig, gap: float | None) -> EpisodeConfig:
    """Settings for a history of another pace: ε becomes the time in which 100 messages pass.

    The gate looks at 100 messages of a window (TEF §5.1), so a window one ε wide to either side
    holds what the gate can take, in chat of minutes as in mail of days.

    Args:
        config: What holds when the pace cannot be measured.
        gap: Median time between consecutive messages of a partition, seconds; None when unknown.
    """
    if gap is None:
        return config
    seconds = min(max(100 * gap, _SHORTEST), _LONGEST)
    return EpisodeConfig.at_pace(timedelta(seconds=seconds))


def find_episodes(
    rows: Rows, times: Scores, partitions: Sequence[Partition], config: EpisodeConfig
) -> Episodes:
    """Cluster the anchors of each partition in time and keep the dense clusters.

    Args:
        rows: (k,) handles of the anchors.
        times: (k,) their sent_at, POSIX seconds.
        partitions: k partitions.
        config: ε, MinPts, μ, δ and the padding.
    """
    members: dict[Partition, list[int]] = defaultdict(list)
    for index in np.lexsort((rows, times)):
        members[partitions[index]].append(int(index))
    kept: list[Episode] = []
    inside: set[int] = set()
    n_sparse = 0
    for partition in sorted(members):
        dense: list[Episode] = []
        for cluster in _clusters(members[partition], times, config):
            if _is_dense(times[cluster], config):
                dense.append(_padded(partition, rows[cluster], times[cluster], config))
                inside.update(cluster)
            else:
                n_sparse += 1
        kept.extend(_merge_overlapping(dense))
    lone = [int(rows[i]) for i in np.lexsort((rows, times)) if int(i) not in inside]
    return Episodes(tuple(kept), tuple(lone), n_sparse)


def _clusters(members: list[int], times: Scores, config: EpisodeConfig) -> Iterator[list[int]]:
    """Members of each DBSCAN cluster, clusters and members in order of time; noise is left out.

    On one axis a cluster is a chain of core points, each within ε of the next, with all that lies within
    ε of its ends. Sorted times give that at once, where a general DBSCAN takes milliseconds.

    Args:
        members: Indices of anchors, in order of time.
    """
    # Relative to the first: seconds since 1970 would leave less precision for small radii.
    at = times[members] - times[members[0]]
    reach = config.radius.total_seconds()
    left = np.searchsorted(at, at - reach, side="left")
    right = np.searchsorted(at, at + reach, side="right")
    cores = np.flatnonzero(right - left >= config.min_anchors)
    breaks = np.flatnonzero(np.diff(at[cores]) > reach) + 1
    end = 0
    for chain in np.split(cores, breaks):
        if len(chain):
            # What lies between two clusters goes to the earlier one.
            start, end = max(int(left[chain[0]]), end), int(right[chain[-1]])
            yield members[start:end]


def _is_dense(times: Scores, config: EpisodeConfig) -> bool:
    span = float(times[-1] - times[0]) / _HOUR
    floor = config.span_floor.total_seconds() / _HOUR
    return seed_density(len(times), span, floor=floor) > config.density


def _padded(partition: Partition, rows: Rows, times: Scores, config: EpisodeConfig) -> Episode:
    padding = config.padding.total_seconds()
    anchors = tuple(int(row) for row in rows)
    return Episode(partition, anchors, float(times[0]) - padding, float(times[-1]) + padding)


def _merge_overlapping(episodes: list[Episode]) -> list[Episode]:
    """Join episodes of one partition whose windows touch; they come in order of their start."""
    merged: list[Episode] = []
    for episode in sorted(episodes, key=lambda e: e.start):
        last = merged[-1] if merged else None
        if last is not None and episode.start <= last.end:
            anchors = last.anchors + episode.anchors
            end = max(last.end, episode.end)
            merged[-1] = Episode(last.partition, anchors, last.start, end)
        else:
            merged.append(episode)
    return merged
