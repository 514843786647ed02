"""Periods that a question names: "on 18 March", "last week", "in Q2", relative to when it is asked.

English only, and only forms that mean a period whoever reads them. What may be a deadline ("by 18
March") or a plan ("next week") is no period in which something was said.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth")
_MONTH = (
    r"(?P<month>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|"
    + "|".join(_MONTHS)
    + r")\b\.?"
)
_YEAR = r"(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT = r"(?P<unit>day|week|month|quarter|year)"
# A day without its year that lies a little ahead is meant; further ahead, last year's is.
_AHEAD = timedelta(days=31)
_SAID = re.compile(
    r"\b(?:said|says?|wrote|writes?|posted|mention(?:ed|s)?|discuss(?:ed|ion|ions)?|talk(?:ed|s)?|ask(?:ed|s)?"
    r"|announced?|announcements?|decide[ds]?|decisions?|agreed?|agreements?|told|messages?|chat(?:ted)?"
    r"|conversations?|repl(?:y|ied|ies)|answer(?:ed)?|reported|suggest(?:ed)?|propos(?:ed|als?)"
    r"|confirm(?:ed)?|shared?|topics?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a question names.

    Attributes:
        start: First moment, aware; None when it is open.
        end: First moment after it, aware; None when it is open.
        phrase: The words that name it.
        of_saying: Whether the question asks for what was said then, not for what happened then.
    """

    start: datetime | None
    end: datetime | None
    phrase: str
    of_saying: bool = False

    def describe(self) -> str:
        """For people, with dates: "18 March" (2026-03-18)."""
        last = None if self.end is None else (self.end - timedelta(microseconds=1)).date()
        first = None if self.start is None else self.start.date()
        if first is None:
            dates = f"until {last}"
        elif last is None:
            dates = f"from {first}"
        else:
            dates = str(first) if first == last else f"{first} to {last}"
        return f'"{self.phrase}" ({dates})'


@dataclass(frozen=True, slots=True)
class _Days:
    """Days from `start` up to, without, `end`."""

    start: date
    end: date


_Reader = Callable[[re.Match[str], date], _Days]


def find_period(question: str, *, now: datetime, zone: tzinfo) -> Period | None:
    """The period that a question names.

    Args:
        question: The question, in English.
        now: When it is asked, aware; relative forms and dates without year are read from there.
        zone: Whose days are meant.

    Returns:
        None when it names none, or more than one that are not the ends of a range.

    Examples:
        >>> from datetime import UTC
        >>> now = datetime(2026, 3, 25, 12, tzinfo=UTC)
        >>> find_period("Did the report go out on 18 March?", now=now, zone=UTC).describe()
        '"18 March" (2026-03-18)'
        >>> find_period("What was decided last week?", now=now, zone=UTC).describe()
        '"last week" (2026-03-16 to 2026-03-22)'
        >>> find_period("When do we launch?", now=now, zone=UTC) is None
        True
    """
    today = now.astimezone(zone).date()
    found = _find_days(question, today)
    if not found:
        return None
    of_saying = bool(_SAID.search(question))
    first, days = found[0]
    before = question[: first.start]
    if len(found) == 2 and _is_range(before, question[first.stop : found[1][0].start]):
        second, other = found[1]
        phrase = question[first.start : second.stop]
        return _period(days.start, other.end, phrase, zone, of_saying)
    if len(found) != 1 or re.search(r"\b(?:by|until|till|due|next)\s+(?:the\s+)?$", before, re.I):
        return None
    phrase = question[first]
    if re.search(r"\bbefore\s+(?:the\s+)?$", before, re.I):
        return _period(None, days.start, f"before {phrase}", zone, of_saying)
    if re.search(r"\bafter\s+(?:the\s+)?$", before, re.I):
        return _period(days.end, None, f"after {phrase}", zone, of_saying)
    if re.search(r"\bsince\s+(?:the\s+)?$", before, re.I):
        return _period(days.start, None, f"since {phrase}", zone, of_saying)
    return _period(days.start, days.end, phrase, zone, of_saying)


def _find_days(question: str, today: date) -> list[tuple[slice, _Days]]:
    """All dates and periods in a question, in order; of those that overlap the longest."""
    found: list[tuple[int, int, _Days]] = []
    for form, read in _FORMS:
        for match in form.finditer(question):
            days = _read(match, read, today)
            if days is not None:
                start, end = match.span("shown" if "shown" in form.groupindex else 0)
                found.append((start, end, days))
    found.sort(key=lambda item: (item[0], -item[1]))
    kept: list[tuple[slice, _Days]] = []
    for start, end, days in found:
        if not kept or start >= kept[-1][0].stop:
            kept.append((slice(start, end), days))
    return kept


def _is_range(before: str, between: str) -> bool:
    return bool(
        re.search(r"\b(?:between|from)\s+(?:the\s+)?$", before, re.I)
        and re.fullmatch(r"\s*(?:and|to|until|till|-|–)\s*(?:the\s+)?", between, re.I)
    )


def _period(
    start: date | None, end: date | None, phrase: str, zone: tzinfo, of_saying: bool
) -> Period | None:
    if start is not None and end is not None and start >= end:
        return None
    midnights = [
        None if day is None else datetime.combine(day, time.min, zone) for day in (start, end)
    ]
    return Period(midnights[0], midnights[1], " ".join(phrase.split()), of_saying)


def _iso(m: re.Match[str], today: date) -> _Days:
    return _one_day(date.fromisoformat(m["iso"]))


def _day_of_month(m: re.Match[str], today: date) -> _Days:
    month, day = _month(m["month"]), int(m["day"])
    if m["year"]:
        return _one_day(date(int(m["year"]), month, day))
    return _one_day(_latest(lambda year: date(year, month, day), today + _AHEAD))


def _whole_month(m: re.Match[str], today: date) -> _Days:
    month = _month(m["month"])
    first = (
        date(int(m["year"]), month, 1)
        if m["year"]
        else _latest(lambda year: date(year, month, 1), today)
    )
    return _Days(first, _add_months(first, 1))


def _whole_year(m: re.Match[str], today: date) -> _Days:
    return _Days(date(int(m["year"]), 1, 1), date(int(m["year"]) + 1, 1, 1))


def _quarter(m: re.Match[str], today: date) -> _Days:
    number = int(m["q"]) if "q" in m.re.groupindex else _ORDINALS.index(m["ordinal"].lower()) + 1
    month = 3 * number - 2
    first = (
        date(int(m["year"]), month, 1)
        if m["year"]
        else _latest(lambda year: date(year, month, 1), today)
    )
    return _Days(first, _add_months(first, 3))


def _named_day(m: re.Match[str], today: date) -> _Days:
    back = {"the day before yesterday": 2, "yesterday": 1}.get(" ".join(m[0].lower().split()), 0)
    return _one_day(today - timedelta(days=back))


def _last_weekday(m: re.Match[str], today: date) -> _Days:
    back = (today.weekday() - _DAYS.index(m["weekday"].lower())) % 7 or 7
    return _one_day(today - timedelta(days=back))


def _last_or_this(m: re.Match[str], today: date) -> _Days:
    unit = m["unit"].lower()
    first = _start_of(unit, today)
    if m["which"].lower() == "this":
        return _Days(first, _add(unit, first, 1))
    return _Days(_add(unit, first, -1), first)


def _past_units(m: re.Match[str], today: date) -> _Days:
    return _Days(_add(m["unit"].lower(), today, -_number(m["count"])), today + timedelta(days=1))


def _units_ago(m: re.Match[str], today: date) -> _Days:
    unit = m["unit"].lower()
    then = _add(unit, today, -_number(m["count"]))
    first = _start_of(unit, then)
    return _Days(first, _add(unit, first, 1))


def _read(match: re.Match[str], read: _Reader, today: date) -> _Days | None:
    """None for what looks like a date and is none, such as 31 February."""
    try:
        return read(match, today)
    except (ValueError, OverflowError):
        return None


def _one_day(day: date) -> _Days:
    return _Days(day, day + timedelta(days=1))


def _month(name: str) -> int:
    return 1 + [month[:3] for month in _MONTHS].index(name.lower()[:3])


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS.index(word.lower()) + 1


def _latest(in_year: Callable[[int], date], limit: date) -> date:
    """The last occurrence of a yearly date that is not after `limit`."""
    for year in range(limit.year, limit.year - 9, -1):
        try:
            day = in_year(year)
        except ValueError:
            continue  # 29 February is not in every year.
        if day <= limit:
            return day
    raise ValueError("no such day")


def _start_of(unit: str, day: date) -> date:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "month":
        return day.replace(day=1)
    if unit == "quarter":
        return date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _add(unit: str, day: date, n: int) -> date:
    if unit in ("day", "week"):
        return day + timedelta(days=n if unit == "day" else 7 * n)
    return _add_months(day, {"month": 1, "quarter": 3, "year": 12}[unit] * n)


def _add_months(day: date, n: int) -> date:
    months = day.year * 12 + day.month - 1 + n
    year, month = divmod(months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))


_FORMS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"\b(?P<iso>\d{4}-\d\d-\d\d)\b", _iso),
        (rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}?", _day_of_month),
        (rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}\b{_YEAR}?", _day_of_month),
        (rf"\b(?:in|during)\s+(?P<shown>(?:early\s+|late\s+)?{_MONTH}{_YEAR}?)", _whole_month),
        (rf"\b{_MONTH}{_YEAR}", _whole_month),
        (rf"\bQ(?P<q>[1-4])\b{_YEAR}?", _quarter),
        (rf"\b(?P<ordinal>{'|'.join(_ORDINALS)})\s+quarter\b{_YEAR}?", _quarter),
        (
            r"\b(?:(?:the\s+day\s+before\s+)?yesterday|today|this\s+(?:morning|afternoon))\b",
            _named_day,
        ),
        (rf"\blast\s+(?P<weekday>{'|'.join(_DAYS)})\b", _last_weekday),
        (rf"\b(?P<which>last|this)\s+{_UNIT}\b", _last_or_this),
        (rf"\bthe\s+(?:last|past)\s+{_COUNT}\s+{_UNIT}s?\b", _past_units),
        (rf"\b{_COUNT}\s+{_UNIT}s?\s+ago\b", _units_ago),
        (r"\b(?:in|during)\s+(?P<shown>(?P<year>(?:19|20)\d\d))\b", _whole_year),
    )
)
