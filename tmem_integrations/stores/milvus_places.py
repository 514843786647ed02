"""Windows and neighbours in the partitions of a history, read from Milvus by time.

Partitions of a few thousand messages are read once per question, as times and keys, in as few calls as
their sizes allow. Of a larger one a sample tells how dense it is, and only stretches of time are read:
Milvus orders no rows, so a neighbourhood is found by widening a stretch until it holds enough.
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


@dataclass(frozen=True, slots=True)
class _Large:
    """What a sample tells of a partition that is not read whole.

    Attributes:
        sent: Times of the sample, in order.
        gap: Microseconds between two messages, if they were spread evenly.
    """

    sent: list[int]
    gap: int


class Places:
    """The partitions that one question reads.

    Args:
        table: The messages.
        scope: What the question may read.
    """

    def __init__(self, table: MilvusTable, scope: str) -> None:
        self._table = table
        self._scope = scope
        self._known: dict[str, list[Spot] | _Large] = {}

    def window(self, place: str, start: int, end: int) -> list[Spot]:
        """Messages with start <= sent <= end, in microseconds, in order."""
        known = self._survey_one(place)
        if isinstance(known, _Large):
            return self._read(place, start, end)
        left = bisect_left(known, start, key=_sent)
        return known[left : bisect_right(known, end, key=_sent)]

    def neighbours(self, spot: Spot, before: int, after: int) -> list[Spot]:
        """`spot` with up to `before` earlier and `after` later messages, in order."""
        known = self._survey_one(spot.place)
        if isinstance(known, _Large):
            return self._around(spot, before, after, known.gap)
        left = bisect_left(known, spot)
        here = left < len(known) and known[left] == spot
        return known[max(0, left - before) : left + here + after]

    def times(self, places: Sequence[str]) -> list[list[int]]:
        """For each partition the times of its messages in order; of large ones, a sample."""
        self._survey(list(dict.fromkeys(places)))
        known = [self._known[place] for place in places]
        return [
            one.sent if isinstance(one, _Large) else [spot.sent for spot in one] for one in known
        ]

    def _survey_one(self, place: str) -> list[Spot] | _Large:
        self._survey([place])
        return self._known[place]

    def _survey(self, places: Sequence[str]) -> None:
        """Read partitions whole, together if one answer holds them; of the large ones a sample."""
        new = [place for place in places if place not in self._known]
        if not new:
            return
        within = all_of([one_of("place", new), self._scope])
        rows, share = self._table.sample(within, SPOT_FIELDS)
        by_place: dict[str, list[Spot]] = {place: [] for place in new}
        for spot in spots_of(rows):
            by_place[spot.place].append(spot)
        if share == 1:
            self._known |= by_place
            return
        sizes = {place: int(len(spots) / share) for place, spots in by_place.items()}
        for place in new:
            if sizes[place] > _WHOLE or len(new) == 1:
                sent = [spot.sent for spot in by_place[place]]
                span = sent[-1] - sent[0] if sent else 0
                self._known[place] = _Large(sent, max(_SECOND, span // max(1, sizes[place])))
        left = [place for place in new if place not in self._known]
        # Without the large ones they may fit; where there were none, half of them may.
        middle = len(left) if len(left) < len(new) else len(left) // 2
        self._survey(left[:middle])
        self._survey(left[middle:])

    def _around(self, spot: Spot, before: int, after: int, gap: int) -> list[Spot]:
        reach = 2 * max(before, after) * gap
        near = self._read(spot.place, *_bounded(spot.sent - reach, spot.sent + reach))
        earlier = self._earlier(spot, [s for s in near if s < spot], before, reach)
        later = self._later(spot, [s for s in near if s > spot], after, reach)
        return [*earlier[max(0, len(earlier) - before) :], spot, *later[:after]]

    def _earlier(self, spot: Spot, found: list[Spot], wanted: int, reach: int) -> list[Spot]:
        """Those found within reach, or as many as are wanted and there are."""
        while len(found) < wanted and self._is_any(spot.place, _ALWAYS[0], spot.sent - reach):
            reach *= _WIDER
            start, _ = _bounded(spot.sent - reach, spot.sent)
            found = [s for s in self._read(spot.place, start, spot.sent) if s < spot]
        return found

    def _later(self, spot: Spot, found: list[Spot], wanted: int, reach: int) -> list[Spot]:
        """The same on the other side."""
        while len(found) < wanted and self._is_any(spot.place, spot.sent + reach, _ALWAYS[1]):
            reach *= _WIDER
            _, end = _bounded(spot.sent, spot.sent + reach)
            found = [s for s in self._read(spot.place, spot.sent, end) if s > spot]
        return found

    def _is_any(self, place: str, after: int, before: int) -> bool:
        """Whether something lies between two times; if not, to look further is idle."""
        after, before = _bounded(after, before)
        between = all_of([self._at(place), f"sent > {after}", f"sent < {before}"])
        return bool(self._table.query(between, ["key"], limit=1))

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


def _bounded(start: int, end: int) -> tuple[int, int]:
    """Two times within what Milvus compares."""
    return max(_ALWAYS[0], start), min(_ALWAYS[1], end)
