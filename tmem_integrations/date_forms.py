"""The forms of dates and periods, and the days that they mean seen from some day. English only."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

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


@dataclass(frozen=True, slots=True)
class Days:
    """Days from `start` up to, without, `end`."""

    start: date
    end: date


@dataclass(frozen=True, slots=True)
class Today:
    """The day from which words are read.

    Attributes:
        day: Itself.
        limit: The last day that may be meant by one without year.
        begun: The last day on which a month or quarter without year may have begun.
    """

    day: date
    limit: date
    begun: date


_Reader = Callable[[re.Match[str], Today], Days]


def read_form(match: re.Match[str], read: _Reader, today: Today) -> Days | None:
    """None for what looks like a date and is none, such as 31 February."""
    try:
        return read(match, today)
    except (ValueError, OverflowError):
        return None


def days_beside(stretch: re.Match[str], days: Days) -> Days | None:
    """The days of "the week before", "two days after", "the Sunday before" some days.

    Args:
        stretch: Of `BESIDE`.
        days: The days themselves.

    Returns:
        None beyond the calendar, such as two years after 9999.
    """
    try:
        return _beside(stretch, days)
    except (ValueError, OverflowError):
        return None


def _beside(stretch: re.Match[str], days: Days) -> Days:
    is_before = stretch["side"].lower() == "before"
    if stretch["weekday"]:
        name = stretch["weekday"].lower()
        wanted = 5 if name == "weekend" else _DAYS.index(name)
        if is_before:
            day = days.start - timedelta(days=(days.start.weekday() - wanted) % 7 or 7)
        else:
            day = days.end + timedelta(days=(wanted - days.end.weekday()) % 7)
        return Days(day, day + timedelta(days=2 if name == "weekend" else 1))
    n, unit = _number(stretch["count"] or "1"), stretch["unit"].lower()
    if is_before:
        return Days(_add(unit, days.start, -n), days.start)
    return Days(days.end, _add(unit, days.end, n))


def _iso(m: re.Match[str], today: Today) -> Days:
    return _one_day(date.fromisoformat(m["iso"]))


def _day_of_month(m: re.Match[str], today: Today) -> Days:
    month, day = _month(m["month"]), int(m["day"])
    if m["year"]:
        return _one_day(date(int(m["year"]), month, day))
    return _one_day(_latest(lambda year: date(year, month, day), today.limit))


def _whole_month(m: re.Match[str], today: Today) -> Days:
    first = _first_of(_month(m["month"]), m["year"], today)
    return Days(first, _add_months(first, 1))


def _whole_year(m: re.Match[str], today: Today) -> Days:
    return Days(date(int(m["year"]), 1, 1), date(int(m["year"]) + 1, 1, 1))


def _quarter(m: re.Match[str], today: Today) -> Days:
    number = int(m["q"]) if "q" in m.re.groupindex else _ORDINALS.index(m["ordinal"].lower()) + 1
    first = _first_of(3 * number - 2, m["year"], today)
    return Days(first, _add_months(first, 3))


def _named_day(m: re.Match[str], today: Today) -> Days:
    back = {"the day before yesterday": 2, "yesterday": 1}.get(" ".join(m[0].lower().split()), 0)
    return _one_day(today.day - timedelta(days=back))


def _last_weekday(m: re.Match[str], today: Today) -> Days:
    back = (today.day.weekday() - _DAYS.index(m["weekday"].lower())) % 7 or 7
    return _one_day(today.day - timedelta(days=back))


def _last_or_this(m: re.Match[str], today: Today) -> Days:
    unit = m["unit"].lower()
    first = _start_of(unit, today.day)
    if m["which"].lower() == "this":
        return Days(first, _add(unit, first, 1))
    return Days(_add(unit, first, -1), first)


def _past_units(m: re.Match[str], today: Today) -> Days:
    return Days(
        _add(m["unit"].lower(), today.day, -_number(m["count"])), today.day + timedelta(days=1)
    )


def _units_ago(m: re.Match[str], today: Today) -> Days:
    unit = m["unit"].lower()
    then = _add(unit, today.day, -_number(m["count"]))
    first = _start_of(unit, then)
    return Days(first, _add(unit, first, 1))


def _tomorrow(m: re.Match[str], today: Today) -> Days:
    return _one_day(today.day + timedelta(days=1))


def _last_night(m: re.Match[str], today: Today) -> Days:
    return _one_day(today.day - timedelta(days=1))


def _next(m: re.Match[str], today: Today) -> Days:
    unit = m["unit"].lower()
    first = _add(unit, _start_of(unit, today.day), 1)
    return Days(first, _add(unit, first, 1))


def _weekday_past(m: re.Match[str], today: Today) -> Days:
    return _one_day(today.day - timedelta(days=(today.day.weekday() - _weekday(m)) % 7))


def _weekday_ahead(m: re.Match[str], today: Today) -> Days:
    return _one_day(today.day + timedelta(days=(_weekday(m) - today.day.weekday()) % 7))


def _weekend_past(m: re.Match[str], today: Today) -> Days:
    back = today.day.weekday() + 2 + 7 * (_number(m["count"]) - 1 if m["count"] else 0)
    first = today.day - timedelta(days=back)
    return Days(first, first + timedelta(days=2))


def _weekend_ahead(m: re.Match[str], today: Today) -> Days:
    first = today.day + timedelta(days=(5 - today.day.weekday()) % 7)
    return Days(first, first + timedelta(days=2))


def _day_alone(m: re.Match[str], today: Today) -> Days:
    """ "the 18th": of the month in which it is said."""
    return _one_day(today.day.replace(day=int(m["day"])))


def _day_alone_ahead(m: re.Match[str], today: Today) -> Days:
    return _one_day(_add_months(today.day.replace(day=1), 1).replace(day=int(m["day"])))


def _first_of(month: int, year: str | None, today: Today) -> date:
    """Where a month or quarter begins: in that year, else the last one that has begun."""
    if year:
        return date(int(year), month, 1)
    return _latest(lambda one: date(one, month, 1), today.begun)


def _weekday(m: re.Match[str]) -> int:
    return [day[:3] for day in _DAYS].index(m["weekday"].lower()[:3])


def _one_day(day: date) -> Days:
    return Days(day, day + timedelta(days=1))


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


Forms = tuple[tuple[re.Pattern[str], _Reader], ...]


def _forms(*forms: tuple[str, _Reader]) -> Forms:
    return tuple((re.compile(pattern, re.IGNORECASE), read) for pattern, read in forms)


QUESTION_FORMS = _forms(
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
"""What names a period in whatever text, each with its reader."""
_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAYS)}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"
MESSAGE_FORMS = _forms(
    (r"\blast\s+night\b", _last_night),
    (r"\btomorrow\b", _tomorrow),
    (rf"\bnext\s+{_UNIT}\b", _next),
    (rf"\b{_WEEKDAY}", _weekday_past),
    (rf"\b{_WEEKDAY}", _weekday_ahead),
    (r"\b(?:last|(?:over\s+)?the|this\s+past)\s+(?P<count>)weekend\b", _weekend_past),
    (rf"\b{_COUNT}\s+weekends?\s+ago\b", _weekend_past),
    (r"\b(?:this|next|the)\s+weekend\b", _weekend_ahead),
    (r"\bthe\s+(?P<day>\d{1,2})(?:st|nd|rd|th)\b", _day_alone),
    (r"\bthe\s+(?P<day>\d{1,2})(?:st|nd|rd|th)\b", _day_alone_ahead),
)
"""What names a day in a message besides: it may tell of a day that is to come."""
BESIDE = re.compile(
    rf"\b(?:the\s+)?(?:(?:{_COUNT}\s+)?{_UNIT}s?|(?P<weekday>{'|'.join(_DAYS)}|weekend))\s+"
    r"(?P<side>before|after)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
"""What before a date means a stretch beside it."""
MAY_NAME_A_TIME = re.compile(
    rf"\d|night|yesterday|today|tomorrow|ago\b|\b(?:last|next|this|past)\b|weekend|quarter"
    rf"|\b(?:{'|'.join(name[:3] for name in (*_MONTHS, *_DAYS))})",
    re.IGNORECASE,
)
"""What a text must hold to name a time at all: quick to see."""
