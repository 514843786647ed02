"""The lines of WhatsApp exports: stamps of Android and iOS in many locales, and what follows them.

`3/4/26, 9:15 PM - Ann: hi` · `03.04.2026, 21:15 - Ann: hi` · `[03/04/2026, 21:15:07] Ann: hi`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import DateOrder, found

_DATE = r"(?P<a>\d{1,4})(?P<sep>[./-])\s?(?P<b>\d{1,2})(?P=sep)\s?(?P<c>\d{1,4})\.?"
_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?"
    r"(?:\s?(?P<half>[aApP])\.?\s?[mM]\.?|\s?(?P<arabic>[صم]))?"
)
# iOS sets the stamp in brackets, Android ends it with a dash. Marks of direction may stand before.
_IOS = re.compile(rf"[\u200e\u200f]*\[{_DATE},?\s{_TIME}\]\s(?P<body>.*)", re.DOTALL)
_ANDROID = re.compile(rf"[\u200e\u200f]*{_DATE},?\s{_TIME}\s[-–]\s(?P<body>.*)", re.DOTALL)
_SPEAKER = re.compile(r"(?P<author>[^:\n]{1,80}): ?(?P<text>.*)", re.DOTALL)
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
        clock: Wall time.
        author: None in a line that WhatsApp itself wrote.
        text: What follows, the lines without stamps after it included.
    """

    parts: tuple[int, int, int]
    clock: time
    author: str | None
    text: str


def parse_stamped(line: str) -> Stamped | None:
    """Read a line that begins with a stamp; None for one that goes on with the message before.

    Raises:
        ImportFormatError: If the stamp holds no time of day.

    Examples:
        >>> parse_stamped("3/4/26, 9:15\\u202fPM - Ann: hi")
        Stamped(parts=(3, 4, 26), clock=datetime.time(21, 15), author='Ann', text='hi')
        >>> parse_stamped("and eggs") is None
        True
    """
    stamp = _IOS.match(line) or _ANDROID.match(line)
    if stamp is None:
        return None
    body = stamp["body"]
    spoken = None if _RENAMED.match(body) else _SPEAKER.match(body)
    return Stamped(
        parts=(int(stamp["a"]), int(stamp["b"]), int(stamp["c"])),
        clock=_clock(stamp, line),
        author=spoken["author"].strip(" \u200e\u200f\u202a\u202c~\u202f\xa0") if spoken else None,
        text=spoken["text"] if spoken else body,
    )


def _clock(stamp: re.Match[str], line: str) -> time:
    hour = int(stamp["hour"])
    half = (stamp["half"] or {"ص": "a", "م": "p"}.get(stamp["arabic"] or "", "")).lower()
    if half and 1 <= hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return time(hour, int(stamp["minute"]), int(stamp["second"] or 0))
    except ValueError as error:
        raise ImportFormatError(f"expected a time of day, found {found(line)}.") from error


def settle_order(dates: Iterable[tuple[int, int, int]]) -> DateOrder:
    """The order of day, month and year that all dates of a file allow.

    A day above 12 settles it, and so does time: messages of an export follow each other.

    Args:
        dates: As written, in the order of the file.

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
        if order == "ymd" and any(parts[0] < 1000 for parts in written):
            continue  # A year of two digits goes first nowhere that we know of: only where it is said.
        try:
            readings[order] = [date_of(parts, order) for parts in written]
        except ImportFormatError:
            continue
    if not readings:
        raise ImportFormatError(
            f"expected dates of one order of day and month, found {written[:3]}."
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
        if not (year < 100 or year > 1000):
            raise ValueError("year")
        return date(year + 2000 if year < 100 else year, month, day)
    except ValueError as error:
        raise ImportFormatError(
            f"expected a date as {order}, found {'/'.join(map(str, parts))}."
        ) from error


def wall_time(stamped: Stamped, order: DateOrder) -> datetime:
    """When a line was written, by the clock of the phone."""
    return datetime.combine(date_of(stamped.parts, order), stamped.clock)
