"""The lines of WhatsApp exports: stamps of Android and iOS in many locales, and what follows them.

`3/4/26, 9:15 PM - Ann: hi` · `03.04.2026, 21:15 - Ann: hi` · `[03/04/2026, 21:15:07] Ann: hi` ·
`[2026/4/3 下午9:15:07] Ann: hi` · `2026년 4월 3일 오후 9:15, Ann : hi` (as KakaoTalk writes it too)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import DateOrder, found

DIRECTIONS = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"
"""Marks of direction, as they go into the brackets of a pattern: phones set them into stamps and names."""
_M = f"[{DIRECTIONS}]*"
_DATES = (
    rf"(?P<a>\d{{1,4}}){_M}(?P<sep>[./-]){_M}\s?(?P<b>\d{{1,2}}){_M}(?P=sep){_M}\s?(?P<c>\d{{1,4}})\.?",
    r"(?P<a>\d{4})[年년]\s?(?P<b>\d{1,2})[月월]\s?(?P<c>\d{1,2})[日일]",
)
_MORNING = "凌晨|清晨|早上|上午|午前|오전|पूर्वाह्न|ص|ق\\.ظ\\.|SA|π\\.μ\\.|[aA]\\.?\\s?[mM]\\.?"
_AFTERNOON = "下午|晚上|午後|오후|अपराह्न|م|ب\\.ظ\\.|CH|μ\\.μ\\.|[pP]\\.?\\s?[mM]\\.?"
_NOON = "中午"
_HALF = f"{_MORNING}|{_AFTERNOON}|{_NOON}"
_TIME = (
    rf"(?:(?P<before>{_HALF})\s?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?"
    rf"(?:\s?{_M}(?P<half>{_HALF}))?{_M}"
)
# iOS sets the stamp in brackets, Android ends it with a dash. French and Finnish phones write "at".
_AT = rf"[,،]?{_M}\s{_M}(?:(?:à|klo)\s)?"
_STAMPS = [
    re.compile(pattern, re.DOTALL)
    for numbers in _DATES
    for pattern in (
        rf"{_M}\[{_M}{numbers}{_AT}{_TIME}\]\s?(?P<body>.*)",
        rf"{_M}{numbers}{_AT}{_TIME}\s[-–]\s(?P<body>.*)",
    )
]
_STAMPS.append(re.compile(rf"{_DATES[1]}\s{_TIME}(?:,\s(?P<body>.*)|\Z)", re.DOTALL))
# Where the hour goes by one of these, dates begin with the year, which may have two digits.
_YEAR_FIRST = re.compile("[上下午早凌清晚中오]")
# When WhatsApp began. What is earlier is in another calendar, or in another order.
_FIRST_YEAR = 2009
_SPEAKER = re.compile(r"(?P<author>[^:\n]{1,80}): ?(?P<text>.*)", re.DOTALL)
_AROUND_NAME = re.compile(rf"^[{DIRECTIONS}\s~]+|[{DIRECTIONS}\s]+$")
# A group's name is quoted in the line that tells its change, and may hold a colon.
_RENAMED = re.compile(
    r"[^:]*\b(?:changed|created|ha creado|cambió|hat|changé|alterou)\b[^:]*[\"“„«]"
)
_ORDERS: tuple[DateOrder, ...] = ("dmy", "mdy", "ymd")


@dataclass(frozen=True, slots=True)
class Stamped:
    """A line that begins with a stamp.

    Attributes:
        parts: The three numbers of the date, in the order written.
        year_first: Whether it is of a language that writes the year first.
        clock: Wall time.
        author: None in a line that WhatsApp itself wrote.
        text: What follows, the lines without stamps after it included.
    """

    parts: tuple[int, int, int]
    year_first: bool
    clock: time
    author: str | None
    text: str


def parse_stamped(line: str) -> Stamped | None:
    """Read a line that begins with a stamp; None for one that goes on with the message before.

    Raises:
        ImportFormatError: If the stamp holds no time of day.

    Examples:
        >>> stamped = parse_stamped("3/4/26, 9:15\\u202fPM - Ann: hi")
        >>> stamped.parts, stamped.clock.isoformat(), stamped.author, stamped.text
        ((3, 4, 26), '21:15:00', 'Ann', 'hi')
        >>> parse_stamped("and eggs") is None
        True
    """
    stamp = next((found for one in _STAMPS if (found := one.match(line))), None)
    if stamp is None:
        return None
    body = stamp["body"] or ""
    half = stamp["before"] or stamp["half"] or ""
    spoken = None if _RENAMED.match(body) else _SPEAKER.match(body)
    return Stamped(
        parts=(int(stamp["a"]), int(stamp["b"]), int(stamp["c"])),
        year_first=bool(_YEAR_FIRST.match(half)),
        clock=_clock(stamp, half, line),
        author=_AROUND_NAME.sub("", spoken["author"]) if spoken else None,
        text=spoken["text"] if spoken else body,
    )


def _clock(stamp: re.Match[str], half: str, line: str) -> time:
    hour = int(stamp["hour"])
    if half == _NOON:
        hour += 12 if hour < 6 else 0
    elif half and hour <= 12:
        hour = hour % 12 + (12 if re.fullmatch(_AFTERNOON, half) else 0)
    try:
        return time(hour, int(stamp["minute"]), int(stamp["second"] or 0))
    except ValueError as error:
        raise ImportFormatError(f"expected a time of day, found {found(line)}.") from error


def settle_order(dates: Iterable[tuple[int, int, int]], *, year_first: bool = False) -> DateOrder:
    """The order of day, month and year that all dates of a file allow.

    A day above 12 settles it, and so does time: messages of an export follow each other.

    Args:
        dates: As written, in the order of the file.
        year_first: Whether a year of two digits may go first: elsewhere it does only where it is said.

    Raises:
        ImportFormatError: If none fits, or more than one; says how to choose.

    Examples:
        >>> settle_order([(3, 4, 26), (28, 4, 26)]), settle_order([(1, 30, 26)])
        ('dmy', 'mdy')
        >>> settle_order([(9, 3, 26), (2, 4, 26)])  # 9 March, then 2 April
        'dmy'
    """
    written = list(dates)
    readings: dict[DateOrder, list[date]] = {}
    for order in _ORDERS:
        if order == "ymd" and not year_first and any(parts[0] < 1000 for parts in written):
            continue
        try:
            readings[order] = [date_of(parts, order) for parts in written]
        except ImportFormatError:
            continue
    if not readings:
        raise ImportFormatError(
            f"expected Gregorian dates of one order of day and month, since {_FIRST_YEAR}, "
            f"found {written[:3]}."
        )
    if not written:
        raise ImportFormatError("expected lines that begin with a date, found none.")
    rising = [order for order, days in readings.items() if _is_rising(days)]
    fitting = rising or list(readings)
    if len(fitting) == 1:
        return fitting[0]
    example = ", ".join(f"{readings[order][0]} ({order})" for order in fitting)
    raise ImportFormatError(
        f"expected dates that settle the order of day and month, found {'/'.join(map(str, written[0]))}, "
        f"which may be {example}; choose with date_order= or --date-order."
    )


def _is_rising(days: list[date]) -> bool:
    return all(first <= second for first, second in pairwise(days))


def date_of(parts: tuple[int, int, int], order: DateOrder) -> date:
    """Read a date; two digits of a year are of this century.

    Raises:
        ImportFormatError: If it is no date in this order.
    """
    year, month, day = (parts[order.index(letter)] for letter in "ymd")
    try:
        day_of = date(year + 2000 if year < 100 else year, month, day)
        if day_of.year < _FIRST_YEAR:
            raise ValueError("year")
        return day_of
    except ValueError as error:
        raise ImportFormatError(
            f"expected a Gregorian date as {order}, since {_FIRST_YEAR}, "
            f"found {'/'.join(map(str, parts))}."
        ) from error


def wall_time(stamped: Stamped, order: DateOrder) -> datetime:
    """When a line was written, by the clock of the phone."""
    return datetime.combine(date_of(stamped.parts, order), stamped.clock)
