"""Windows and neighbours in the partitions of a history, read from Milvus by time.

A partition of a few thousand messages is read once per question, as their times and keys. Of a larger
one only stretches of time are read: Milvus orders no rows, so a neighbourhood is found by widening a
stretch until it holds enough.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tmem_integrations.stores.milvus_rows import Entity
from tmem_integrations.stores.milvus_scope import all_of, one_of
from tmem_integrations.stores.milvus_table import MilvusTable

SPOT_FIELDS = ("owner", "sent", "arrival", "place")

_WHOLE = 4_096
_ALWAYS = (-(2**63) + 1, 2**63 - 1)
_SECOND = 1_000_000
_WIDER = 16


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """Where a message is in its partition; ordered as (time, arrival).

    Attributes:
        sent: Microseconds since 1970 UTC.
        arrival: Order of arrival.
        owner: The digest of its id.
        place: The digest of its partition.
    """

    sent: int
    arrival: int
    owner: str
    place: str


def spots_of(rows: Iterable[Entity]) -> list[Spot]:
    """Rows with `SPOT_FIELDS` in (time, arrival) order."""
    return sorted(Spot(row["sent"], row["arrival"], row["owner"], row["place"]) for row in rows)


class Places:
    """The partitions that one question reads.

    Args:
        table: The messages.
        scope: What the question may read.
    """

    def __init__(self, table: MilvusTable, scope: str) -> None:
        self._table = table
        self._scope = scope
        self._whole: dict[str, list[Spot] | None] = {}
        self._gaps: dict[str, int] = {}

    def window(self, place: str, start: int, end: int) -> list[Spot]:
        """Messages with start <= sent <= end, in microseconds, in order."""
        whole = self._read_whole(place)
        if whole is None:
            return self._read(place, start, end)
        left = bisect_left(whole, start, key=_sent)
        return whole[left : bisect_right(whole, end, key=_sent)]

    def neighbours(self, spot: Spot, before: int, after: int) -> list[Spot]:
        """`spot` with up to `before` earlier and `after` later messages, in order."""
        whole = self._read_whole(spot.place)
        if whole is None:
            return [*self._earlier(spot, before), spot, *self._later(spot, after)]
        left = bisect_left(whole, spot)
        here = left < len(whole) and whole[left] == spot
        return whole[max(0, left - before) : left + here + after]

    def times(self, places: Sequence[str]) -> list[list[int]]:
        """For each partition the times of its messages in order; of large ones, a sample."""
        large = {place for place in places if self._read_whole(place) is None}
        sample: dict[str, list[int]] = {place: [] for place in large}
        if large:
            condition = all_of([one_of("place", large), self._scope])
            for row in self._table.sample(condition, ["sent", "place"]):
                sample[row["place"]].append(row["sent"])
        return [
            sorted(sample[place]) if whole is None else [spot.sent for spot in whole]
            for place in places
            for whole in [self._read_whole(place)]
        ]

    def _read_whole(self, place: str) -> list[Spot] | None:
        """All messages of a partition; None when it is large."""
        if place not in self._whole:
            rows = self._table.query(self._at(place), SPOT_FIELDS, limit=_WHOLE + 1)
            self._whole[place] = None
            if len(rows) <= _WHOLE:
                self._whole[place] = spots_of(rows)
            else:
                self._gaps[place] = self._mean_gap(place, rows)
        return self._whole[place]

    def _mean_gap(self, place: str, sample: Sequence[Entity]) -> int:
        """Microseconds between two messages, if they were spread evenly over the time of a sample."""
        times: list[int] = [row["sent"] for row in sample]
        return max(_SECOND, (max(times) - min(times)) // self._table.count(self._at(place)))

    def _earlier(self, spot: Spot, wanted: int) -> list[Spot]:
        reach, first = 2 * wanted * self._gaps[spot.place], _ALWAYS[0]
        while True:
            start = max(first, spot.sent - reach)
            found = [s for s in self._read(spot.place, start, spot.sent) if s < spot]
            if len(found) >= wanted or start == first or self._is_all(spot.place, first, start):
                return found[max(0, len(found) - wanted) :]
            reach *= _WIDER

    def _later(self, spot: Spot, wanted: int) -> list[Spot]:
        reach, last = 2 * wanted * self._gaps[spot.place], _ALWAYS[1]
        while True:
            end = min(last, spot.sent + reach)
            found = [s for s in self._read(spot.place, spot.sent, end) if s > spot]
            if len(found) >= wanted or end == last or self._is_all(spot.place, end, last):
                return found[:wanted]
            reach *= _WIDER

    def _is_all(self, place: str, after: int, before: int) -> bool:
        """Whether nothing lies between two times, so that to look further is idle."""
        between = all_of([self._at(place), f"sent > {after}", f"sent < {before}"])
        return not self._table.query(between, ["key"], limit=1)

    def _read(self, place: str, start: int, end: int) -> list[Spot]:
        if start > end:
            return []
        condition = all_of([self._at(place), f"sent >= {start}", f"sent <= {end}"])
        pages = self._table.pages(condition, SPOT_FIELDS)
        return spots_of(row for page in pages for row in page)

    def _at(self, place: str) -> str:
        return all_of([f'place == "{place}"', self._scope])


def _sent(spot: Spot) -> int:
    return spot.sent
