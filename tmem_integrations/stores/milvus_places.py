"""Windows and neighbours in the partitions of a history, read from Milvus by time.

What one answer holds is read in one: the times and keys of all messages in the partitions of a question.
Where there are more, a sample tells how dense they are, and only stretches of time are read, many in one
call. Milvus orders no rows, so those nearest to a time are found by narrowing a stretch.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tmem_integrations.batches import batches
from tmem_integrations.stores.milvus_rows import Entity
from tmem_integrations.stores.milvus_scope import all_of, one_of
from tmem_integrations.stores.milvus_table import MilvusTable

SPOT_FIELDS = ("owner", "sent", "arrival", "place")

_AT_ONCE = 50
_ALWAYS = (-(2**63) + 1, 2**63 - 1)
_SECOND = 1_000_000
# How many are read, at least, to find the nearest.
_SOME = 512


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


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Messages of a partition with start <= sent <= end, microseconds."""

    place: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Around:
    """A message with those before and after it in its partition."""

    spot: Spot
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class _Large:
    """What a sample tells of a partition that is not read whole.

    Attributes:
        sent: Times of the sample, in order.
        gap: Microseconds between two messages, if its middle half were spread evenly.
    """

    sent: list[int]
    gap: int


class Places:
    """The partitions that one question reads.

    Args:
        table: The messages.
        scope: What the question may read.
        count: How many messages that are.
    """

    def __init__(self, table: MilvusTable, scope: str, count: Callable[[], int]) -> None:
        self._table = table
        self._scope = scope
        self._count = count
        self._known: dict[str, list[Spot] | _Large] = {}
        self._held: dict[str, list[tuple[Stretch, list[Spot]]]] = {}

    def gather(self, parts: Sequence[Stretch | Around]) -> list[list[Spot]]:
        """`window` and `neighbours` for many at once."""
        self._survey(
            [part.place if isinstance(part, Stretch) else part.spot.place for part in parts]
        )
        wanted = [part if isinstance(part, Stretch) else self._likely(part) for part in parts]
        self._hold([one for one in wanted if isinstance(self._known[one.place], _Large)])
        return [
            self.window(part) if isinstance(part, Stretch) else self.neighbours(part)
            for part in parts
        ]

    def window(self, stretch: Stretch) -> list[Spot]:
        """The messages of a stretch, in order."""
        self._survey([stretch.place])
        known = self._known[stretch.place]
        return self._read(stretch) if isinstance(known, _Large) else _cut(known, stretch)

    def neighbours(self, around: Around) -> list[Spot]:
        """A message with up to `before` earlier and `after` later ones, in order."""
        spot, before, after = around.spot, around.before, around.after
        self._survey([spot.place])
        known = self._known[spot.place]
        if isinstance(known, _Large):
            likely = self._likely(around)
            known = self._read(likely)
            earlier = self._earlier(spot, [s for s in known if s < spot], before, likely.start)
            later = self._later(spot, [s for s in known if s > spot], after, likely.end)
            return [*earlier[max(0, len(earlier) - before) :], spot, *later[:after]]
        left = bisect_left(known, spot)
        here = left < len(known) and known[left] == spot
        return known[max(0, left - before) : left + here + after]

    def times(self, places: Sequence[str]) -> list[list[int]]:
        """For each partition the times of its messages in order; of many, a sample."""
        self._survey(places)
        known = [self._known[place] for place in places]
        return [
            one.sent if isinstance(one, _Large) else [spot.sent for spot in one] for one in known
        ]

    def _survey(self, places: Sequence[str]) -> None:
        """Read partitions whole if one answer holds them, else a sample of them."""
        new = [place for place in dict.fromkeys(places) if place not in self._known]
        if not new:
            return
        within = all_of([one_of("place", new), self._scope])
        rows, share = self._table.sample(within, SPOT_FIELDS, n_rows=self._count())
        by_place: dict[str, list[Spot]] = {place: [] for place in new}
        for spot in spots_of(rows):
            by_place[spot.place].append(spot)
        if share == 1:
            self._known |= by_place
            return
        for place, spots in by_place.items():
            sent = [spot.sent for spot in spots]
            self._known[place] = _Large(sent, max(_SECOND, int(_usual_gap(sent) * share)))

    def _likely(self, around: Around) -> Stretch:
        """Where the neighbours of a message should be found."""
        known = self._known[around.spot.place]
        gap = known.gap if isinstance(known, _Large) else 0
        reach = 3 * max(around.before, around.after) * gap
        return _bounded(around.spot.place, around.spot.sent - reach, around.spot.sent + reach)

    def _hold(self, stretches: Iterable[Stretch]) -> None:
        """Read many stretches in few calls."""
        joined: list[Stretch] = []
        for one in sorted(stretch for stretch in stretches if stretch.start <= stretch.end):
            last = joined[-1] if joined else None
            if last is not None and last.place == one.place and one.start <= last.end:
                joined[-1] = Stretch(one.place, last.start, max(last.end, one.end))
            else:
                joined.append(one)
        for part in batches(joined, _AT_ONCE):
            any_of = " or ".join(f"({_within(stretch)})" for stretch in part)
            pages = self._table.pages(all_of([f"({any_of})", self._scope]), SPOT_FIELDS)
            spots = spots_of(row for page in pages for row in page)
            for stretch in part:
                own = [spot for spot in spots if spot.place == stretch.place]
                self._held.setdefault(stretch.place, []).append((stretch, _cut(own, stretch)))

    def _earlier(self, spot: Spot, found: list[Spot], wanted: int, start: int) -> list[Spot]:
        """Those found since `start`, with others before it where they are too few."""
        if len(found) < wanted and start > _ALWAYS[0]:
            before = Stretch(spot.place, _ALWAYS[0], start - 1)
            found = [*self._some(before, wanted - len(found), first=False), *found]
        return found

    def _later(self, spot: Spot, found: list[Spot], wanted: int, end: int) -> list[Spot]:
        """The same on the other side."""
        if len(found) < wanted and end < _ALWAYS[1]:
            after = Stretch(spot.place, end + 1, _ALWAYS[1])
            found = [*found, *self._some(after, wanted - len(found), first=True)]
        return found

    def _some(self, stretch: Stretch, wanted: int, *, first: bool) -> list[Spot]:
        """So many messages at the beginning or the end of a stretch, or more, in order.

        Of many rows an answer gives some, in no order. The last one wanted lies no farther off than among
        these, so they leave a part of the stretch, and few of its rows.
        """
        limit = min(self._table.max_rows, max(_SOME, 8 * wanted))
        while wanted < limit:
            condition = all_of([_within(stretch), self._scope])
            found = spots_of(self._table.query(condition, SPOT_FIELDS, limit=limit))
            if len(found) < limit:
                return found
            bound = found[wanted - 1 if first else -wanted].sent
            nearer = replace(stretch, end=bound) if first else replace(stretch, start=bound)
            if nearer == stretch:
                break
            stretch = nearer
        return self._read(stretch)

    def _read(self, stretch: Stretch) -> list[Spot]:
        for held, spots in self._held.get(stretch.place, ()):
            if held.start <= stretch.start and stretch.end <= held.end:
                return _cut(spots, stretch)
        if stretch.start > stretch.end:
            return []
        pages = self._table.pages(all_of([_within(stretch), self._scope]), SPOT_FIELDS)
        return spots_of(row for page in pages for row in page)


def _usual_gap(times: Sequence[int]) -> float:
    """Between two of the middle half of some times; a lone one far off, at either end, says nothing.

    Examples:
        >>> _usual_gap([0, 1_000, 1_010, 1_020, 1_030, 1_040, 1_050, 1_060])
        10.0
        >>> _usual_gap([7])
        0.0
    """
    first, last = len(times) // 4, (3 * len(times)) // 4
    return (times[last] - times[first]) / (last - first) if last > first else 0.0


def _cut(spots: list[Spot], stretch: Stretch) -> list[Spot]:
    """Those of a partition that lie in a stretch of it."""
    left = bisect_left(spots, stretch.start, key=_sent)
    return spots[left : bisect_right(spots, stretch.end, key=_sent)]


def _sent(spot: Spot) -> int:
    return spot.sent


def _within(stretch: Stretch) -> str:
    return f'place == "{stretch.place}" and sent >= {stretch.start} and sent <= {stretch.end}'


def _bounded(place: str, start: int, end: int) -> Stretch:
    """A stretch within the times that Milvus compares."""
    return Stretch(place, max(_ALWAYS[0], start), min(_ALWAYS[1], end))
