"""Timeline: when and where each message was said, and who may see it.

Messages are numbered by slot, as in the lexical index. What belongs to a slot never changes: an edit is a
removal and new slots with the old arrival, one for each text that the message ever had. Per partition the slots are kept in (time, arrival) order, so a
window is two binary searches.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import Partition, partition_of
from tmem_integrations.stores.codes import Codes
from tmem_integrations.stores.growing import GrowingArray
from tmem_integrations.stores.versions import NEVER
from tmem_integrations.times import to_microseconds

_PACE_LAG = 5
_PACE_SAMPLE = 50_000
_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def microseconds_of(seconds: float) -> int:
    """The microsecond nearest to a POSIX time.

    Seconds as float64 lie up to a quarter of a microsecond beside the time they stand for, so a bound
    taken from a message's own time would miss the message if it were rounded up.

    Examples:
        >>> microseconds_of(1700000000.123457)
        1700000000123457
    """
    if math.isnan(seconds):
        raise ValueError("expected a time in POSIX seconds, got nan.")
    if abs(seconds) >= 1e12:
        return _LAST if seconds > 0 else _FIRST
    whole = math.floor(seconds)
    return whole * 1_000_000 + round((seconds - whole) * 1e6)


@dataclass(frozen=True, slots=True)
class Columns:
    """What is known of each slot, at one version; all arrays of one length.

    Attributes:
        sent: Time, microseconds since 1970 UTC.
        known: From when its text is known: its time, or that of an edit.
        until: When the message said something else; `NEVER` for what it says now.
        arrival: Order of arrival: breaks ties of time.
        partition: Code of the partition.
        channel: Code of the channel, -1 when unknown; so for the following.
        topic: Code of the topic.
        author: Code of the author's name.
        author_id: Code of the author's id, in the same numbering as names.
        alive: Whether the message is still there.
    """

    sent: NDArray[np.int64]
    known: NDArray[np.int64]
    until: NDArray[np.int64]
    arrival: NDArray[np.int64]
    partition: NDArray[np.int32]
    channel: NDArray[np.int32]
    topic: NDArray[np.int32]
    author: NDArray[np.int32]
    author_id: NDArray[np.int32]
    alive: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sent)


@dataclass(frozen=True, slots=True)
class PartitionOrder:
    """Messages of one partition that one question may see, in (time, arrival) order.

    Attributes:
        slots: (n,) the messages.
        sent: (n,) their times, microseconds.
        arrival: (n,) their order of arrival.
    """

    slots: NDArray[np.int64]
    sent: NDArray[np.int64]
    arrival: NDArray[np.int64]

    def window(self, start: int, end: int) -> NDArray[np.int64]:
        """Slots with start <= time <= end, in microseconds."""
        left = np.searchsorted(self.sent, start, side="left")
        right = np.searchsorted(self.sent, end, side="right")
        return self.slots[left:right]

    def neighbours(self, sent: int, arrival: int, before: int, after: int) -> NDArray[np.int64]:
        """Slots from `before` places ahead of a (time, arrival) to `after` places behind it."""
        left, right = np.searchsorted(self.sent, [sent, sent + 1])
        place = int(left + np.searchsorted(self.arrival[left:right], arrival))
        here = place < len(self.slots) and (self.sent[place], self.arrival[place]) == (
            sent,
            arrival,
        )
        return self.slots[max(0, place - before) : place + here + after]


def median_gap(columns: Columns, mask: NDArray[np.bool_]) -> float | None:
    """`median_pace` of the messages that a mask admits.

    Args:
        mask: (n,) the messages that count; of many, those that arrived last.
    """
    slots = np.flatnonzero(mask)[-_PACE_SAMPLE:]
    return median_pace(columns.sent[slots], columns.partition[slots])


def median_pace(sent: NDArray[np.int64], partition: NDArray[np.integer[Any]]) -> float | None:
    """Median seconds between consecutive messages of a partition.

    Where a source rounds to the minute most gaps are 0; then the median over two messages, three, …
    tells the pace.

    Args:
        sent: (n,) times of messages, microseconds.
        partition: (n,) code of the partition of each.

    Returns:
        None when no partition holds two of them.
    """
    order = np.lexsort((sent, partition))
    sent, partition = sent[order], partition[order]
    pace = None
    for lag in range(1, _PACE_LAG + 1):
        together = partition[lag:] == partition[:-lag]
        if together.any():
            pace = float(np.median((sent[lag:] - sent[:-lag])[together])) / lag / 1e6
        if pace:
            break
    return pace


class Timeline:
    """Times, partitions and names of messages. One writer and any number of readers at once: arrays that
    were handed out never change.
    """

    def __init__(self) -> None:
        self._sent, self._known = GrowingArray(np.int64), GrowingArray(np.int64)
        self._until = GrowingArray(np.int64)
        # Without edits no question looks at `until`.
        self._has_earlier = False
        self._arrival = GrowingArray(np.int64)
        self._partition, self._channel = GrowingArray(np.int32), GrowingArray(np.int32)
        self._topic = GrowingArray(np.int32)
        self._author, self._author_id = GrowingArray(np.int32), GrowingArray(np.int32)
        self._alive = GrowingArray(np.bool_)
        self._partitions, self._channels = Codes(), Codes()
        self._topics, self._people = Codes(), Codes()
        self._order: dict[int, GrowingArray[np.int64]] = {}
        self._columns = self._read_columns()
        # Partitions as an open scope sees them, until somebody writes.
        self._whole: tuple[Columns, dict[int, PartitionOrder]] = (self._columns, {})
        # Each question asks which channels there are.
        self._channel_names: tuple[Columns, frozenset[str]] = (self._columns, frozenset())

    @property
    def columns(self) -> Columns:
        """What is known of each slot as of now."""
        return self._columns

    def __len__(self) -> int:
        """How many messages are there."""
        return int(np.count_nonzero(self._columns.alive))

    def add(
        self,
        messages: Sequence[Message],
        arrivals: Sequence[int],
        known: Sequence[int],
        until: Sequence[int],
    ) -> range:
        """Place messages on the timeline, in each version that they had.

        Args:
            arrivals: (n,) order of arrival of each.
            known: (n,) from when each was known, as in `Columns`.
            until: (n,) until when.

        Returns:
            Their slots: the next n.
        """
        slots = range(len(self._columns), len(self._columns) + len(messages))
        sent = [to_microseconds(m.sent_at) for m in messages]
        partitions = [self._partitions.number(partition_of(m)) for m in messages]
        self._sent.extend(sent)
        self._known.extend(known)
        self._until.extend(until)
        self._has_earlier |= any(one != NEVER for one in until)
        self._arrival.extend(arrivals)
        self._partition.extend(partitions)
        self._channel.extend([self._channels.number(m.channel) for m in messages])
        self._topic.extend([self._topics.number(m.topic) for m in messages])
        self._author.extend([self._people.number(m.author) for m in messages])
        self._author_id.extend([self._people.number(m.author_id) for m in messages])
        self._alive.extend(np.ones(len(messages), np.bool_))
        members: defaultdict[int, list[int]] = defaultdict(list)
        for slot, partition in zip(slots, partitions, strict=True):
            members[partition].append(slot)
        for partition, new in members.items():
            self._insert(partition, np.asarray(new, dtype=np.int64))
        self._columns = self._read_columns()
        return slots

    def remove(self, slots: Sequence[int]) -> None:
        """Take messages off the timeline; those already gone are passed over."""
        gone = np.asarray(slots, dtype=np.int64)
        alive = self._alive.values.copy()
        alive[gone] = False
        for partition in set(self._columns.partition[gone].tolist()):
            order = self._order[partition].values
            self._order[partition].replace(order[alive[order]])
        self._alive.replace(alive)
        self._columns = self._read_columns()

    def partition_code(self, partition: Partition) -> int | None:
        """The code of a partition in `Columns.partition`; None for one never seen."""
        return self._partitions.find(partition)

    def order(self, code: int, mask: NDArray[np.bool_]) -> PartitionOrder:
        """The slots of a partition that a mask admits.

        Args:
            code: From `partition_code` or `Columns.partition`.
            mask: (m,) as from `mask`; slots added since are not admitted.
        """
        columns, (known_at, known) = self._columns, self._whole
        is_whole = mask is columns.alive
        if is_whole and known_at is columns and code in known:
            return known[code]
        slots = self._order[code].values
        slots = slots[slots < len(mask)]
        slots = slots[mask[slots]]
        order = PartitionOrder(slots, columns.sent[slots], columns.arrival[slots])
        if is_whole:
            if known_at is not columns:
                self._whole = (columns, known := {})
            known[code] = order
        return order

    def channels(self) -> frozenset[str]:
        """Channels of the messages that are there."""
        columns, (known_at, names) = self._columns, self._channel_names
        if known_at is not columns:
            found = self._channels.names(columns.channel[columns.alive])
            names = frozenset(name for name in found if isinstance(name, str))
            self._channel_names = (columns, names)
        return names

    def mask(self, scope: Scope) -> NDArray[np.bool_]:
        """(n,) whether the scope admits each slot, by the rule of `Scope.admits`; removed ones it does
        not. Not to be written to.
        """
        query, columns = scope.query, self._columns
        if scope.is_open and not self._has_earlier:
            return columns.alive
        mask = columns.alive.copy()
        if scope.readable is not None:
            mask &= self._channels.table(scope.readable)[columns.channel]
        if query.channels is not None:
            mask &= self._channels.table(query.channels)[columns.channel]
        if query.not_channels is not None:
            mask &= (columns.channel >= 0) & ~self._channels.table(query.not_channels)[
                columns.channel
            ]
        if query.topics is not None:
            mask &= self._topics.table(query.topics)[columns.topic]
        if query.authors is not None:
            wanted = self._people.table(query.authors)
            mask &= wanted[columns.author] | wanted[columns.author_id]
        if query.as_of is not None:
            mask &= columns.known <= to_microseconds(query.as_of)
        if self._has_earlier:
            moment = NEVER - 1 if query.as_of is None else to_microseconds(query.as_of)
            mask &= columns.until > moment
        if query.after is not None:
            mask &= columns.sent >= to_microseconds(query.after)
        if query.before is not None:
            mask &= columns.sent < to_microseconds(query.before)
        return mask

    def _insert(self, partition: int, new: NDArray[np.int64]) -> None:
        """Put slots into their partition; those later than all there are simply appended."""
        sent, arrival = self._sent.values, self._arrival.values
        new = new[np.lexsort((arrival[new], sent[new]))]
        order = self._order.setdefault(partition, GrowingArray(np.int64))
        old = order.values
        if len(old) == 0 or (sent[old[-1]], arrival[old[-1]]) <= (sent[new[0]], arrival[new[0]]):
            order.extend(new)
        elif len(new) == 1:
            time = sent[new[0]]
            times = sent[old]
            left, right = np.searchsorted(times, time), np.searchsorted(times, time, side="right")
            place = left + np.searchsorted(arrival[old[left:right]], arrival[new[0]])
            order.replace(np.insert(old, place, new[0]))
        else:
            merged = np.concatenate([old, new])
            order.replace(merged[np.lexsort((arrival[merged], sent[merged]))])

    def _read_columns(self) -> Columns:
        return Columns(
            sent=self._sent.values,
            known=self._known.values,
            until=self._until.values,
            arrival=self._arrival.values,
            partition=self._partition.values,
            channel=self._channel.values,
            topic=self._topic.values,
            author=self._author.values,
            author_id=self._author_id.values,
            alive=self._alive.values,
        )
