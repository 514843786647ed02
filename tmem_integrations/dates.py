"""Periods that a question names: "on 18 March", "last week", "in Q2", relative to when it is asked.

English only, and only forms that mean a period whoever reads them. What may be a deadline ("by 18
March") or a plan ("next week") is no period of a question. A message names more: it may tell of a day
by a plan, by "last night" or by "Thursday the 19th".
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Literal

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
# A day without its year that lies a little ahead is meant; further ahead, last year's is. In a message
# the nearest one is: people plan.
_AHEAD = timedelta(days=31)
_NEAREST = timedelta(days=183)
# What a message names tells of a day only if it is not much longer: "this year" tells of none.
_ROUGHLY_A_DAY = timedelta(days=3)
_SAID = re.compile(
    r"\b(?:said|says?|wrote|writes?|posted|mention(?:ed|s)?|discuss(?:ed|ion|ions)?|talk(?:ed|s)?|ask(?:ed|s)?"
    r"|announced?|announcements?|decide[ds]?|decisions?|agreed?|agreements?|told|messages?|chat(?:ted)?"
    r"|conversations?|repl(?:y|ied|ies)|answer(?:ed)?|reported|suggest(?:ed)?|propos(?:ed|als?)"
    r"|confirm(?:ed)?|shared?|topics?)\b",
    re.IGNORECASE,
)


CountedFrom = Literal["now", "year"] | None


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a question names.

    Attributes:
        start: First moment, aware; None when it is open.
        end: First moment after it, aware; None when it is open.
        phrase: The words that name it.
        of_saying: Whether the question asks for what was said then, not for what happened then.
        counted_from: "now" for what moves with the time of asking, such as "last week"; "year" for what
            comes every year, such as "on 18 March"; None for a date with its year.
    """

    start: datetime | None
    end: datetime | None
    phrase: str
    of_saying: bool = False
    counted_from: CountedFrom = None

    def holds(self, moment: datetime) -> bool:
        """Whether a moment lies in it."""
        return (self.start is None or self.start <= moment) and (
            self.end is None or moment < self.end
        )

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


@dataclass(frozen=True, slots=True)
class _Today:
    """The day from which words are read.

    Attributes:
        day: Itself.
        limit: The last day that may be meant by one without year.
        begun: The last day on which a month or quarter without year may have begun.
    """

    day: date
    limit: date
    begun: date


_Reader = Callable[[re.Match[str], _Today], _Days]


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
    found = _find_days(question, _Today(today, today + _AHEAD, today))
    if not found:
        return None
    of_saying = bool(_SAID.search(question))
    first, days = found[0]
    named = _counted_from(question[first])
    before = question[: first.start]
    if len(found) == 2 and _is_range(before, question[first.stop : found[1][0].start]):
        second, other = found[1]
        phrase = question[first.start : second.stop]
        return _period(days.start, other.end, phrase, zone, of_saying, named)
    if len(found) != 1 or re.search(r"\b(?:by|until|till|due|next)\s+(?:the\s+)?$", before, re.I):
        return None
    phrase = question[first]
    stretch = _BESIDE.search(before)
    if stretch:
        near = _beside(stretch, days)
        phrase = f"{stretch[0].strip()} {phrase}"
        return _period(near.start, near.end, phrase, zone, of_saying, named)
    if re.search(r"\bbefore\s+(?:the\s+)?$", before, re.I):
        return _period(None, days.start, f"before {phrase}", zone, of_saying, named)
    if re.search(r"\bafter\s+(?:the\s+)?$", before, re.I):
        return _period(days.end, None, f"after {phrase}", zone, of_saying, named)
    if re.search(r"\bsince\s+(?:the\s+)?$", before, re.I):
        return _period(days.start, None, f"since {phrase}", zone, of_saying, named)
    return _period(days.start, days.end, phrase, zone, of_saying, named)


def tells_of(text: str, sent_at: datetime, period: Period, zone: tzinfo) -> bool:
    """Whether a message names a time that lies in a period, read from when it was sent.

    Args:
        text: Of the message, in English.
        sent_at: Aware.
        period: That a question names.
        zone: Whose days are meant.

    Examples:
        >>> from datetime import UTC
        >>> period = find_period("on 18 March", now=datetime(2026, 3, 25, tzinfo=UTC), zone=UTC)
        >>> sent_at = datetime(2026, 3, 19, 9, tzinfo=UTC)
        >>> tells_of("It went out last night.", sent_at, period, UTC)
        True
        >>> tells_of("It went out.", sent_at, period, UTC)
        False
    """
    if not _MAY_NAME_A_TIME.search(text):
        return False
    day = sent_at.astimezone(zone).date()
    today = _Today(day, day + _NEAREST, day + _NEAREST)
    start = None if period.start is None else period.start.astimezone(zone).date()
    end = None if period.end is None else period.end.astimezone(zone).date()
    longest = _ROUGHLY_A_DAY
    if start is not None and end is not None:
        longest = max(longest, end - start)
    for form, read in (*_FORMS, *_MESSAGE_FORMS):
        for match in form.finditer(text):
            days = _read(match, read, today)
            if days is None or days.end - days.start > longest + timedelta(days=1):
                continue
            if (end is None or days.start < end) and (start is None or start < days.end):
                return True
    return False


def _find_days(question: str, today: _Today) -> list[tuple[slice, _Days]]:
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
    start: date | None,
    end: date | None,
    phrase: str,
    zone: tzinfo,
    of_saying: bool,
    counted_from: CountedFrom,
) -> Period | None:
    if start is not None and end is not None and start >= end:
        return None
    midnights = [
        None if day is None else datetime.combine(day, time.min, zone) for day in (start, end)
    ]
    return Period(midnights[0], midnights[1], " ".join(phrase.split()), of_saying, counted_from)


def _counted_from(phrase: str) -> CountedFrom:
    if re.search(r"\b(?:last|this|past|ago|yesterday|today)\b", phrase, re.I):
        return "now"
    return None if re.search(r"\b(?:19|20)\d\d\b", phrase) else "year"


def _beside(stretch: re.Match[str], days: _Days) -> _Days:
    """The days of "the week before", "two days after", "the Sunday before" some days."""
    is_before = stretch["side"].lower() == "before"
    if stretch["weekday"]:
        name = stretch["weekday"].lower()
        wanted = 5 if name == "weekend" else _DAYS.index(name)
        if is_before:
            day = days.start - timedelta(days=(days.start.weekday() - wanted) % 7 or 7)
        else:
            day = days.end + timedelta(days=(wanted - days.end.weekday()) % 7)
        return _Days(day, day + timedelta(days=2 if name == "weekend" else 1))
    n, unit = _number(stretch["count"] or "1"), stretch["unit"].lower()
    if is_before:
        return _Days(_add(unit, days.start, -n), days.start)
    return _Days(days.end, _add(unit, days.end, n))


def _iso(m: re.Match[str], today: _Today) -> _Days:
    return _one_day(date.fromisoformat(m["iso"]))


def _day_of_month(m: re.Match[str], today: _Today) -> _Days:
    month, day = _month(m["month"]), int(m["day"])
    if m["year"]:
        return _one_day(date(int(m["year"]), month, day))
    return _one_day(_latest(lambda year: date(year, month, day), today.limit))


def _whole_month(m: re.Match[str], today: _Today) -> _Days:
    month = _month(m["month"])
    first = (
        date(int(m["year"]), month, 1)
        if m["year"]
        else _latest(lambda year: date(year, month, 1), today.begun)
    )
    return _Days(first, _add_months(first, 1))


def _whole_year(m: re.Match[str], today: _Today) -> _Days:
    return _Days(date(int(m["year"]), 1, 1), date(int(m["year"]) + 1, 1, 1))


def _quarter(m: re.Match[str], today: _Today) -> _Days:
    number = int(m["q"]) if "q" in m.re.groupindex else _ORDINALS.index(m["ordinal"].lower()) + 1
    month = 3 * number - 2
    first = (
        date(int(m["year"]), month, 1)
        if m["year"]
        else _latest(lambda year: date(year, month, 1), today.begun)
    )
    return _Days(first, _add_months(first, 3))


def _named_day(m: re.Match[str], today: _Today) -> _Days:
    back = {"the day before yesterday": 2, "yesterday": 1}.get(" ".join(m[0].lower().split()), 0)
    return _one_day(today.day - timedelta(days=back))


def _last_weekday(m: re.Match[str], today: _Today) -> _Days:
    back = (today.day.weekday() - _DAYS.index(m["weekday"].lower())) % 7 or 7
    return _one_day(today.day - timedelta(days=back))


def _last_or_this(m: re.Match[str], today: _Today) -> _Days:
    unit = m["unit"].lower()
    first = _start_of(unit, today.day)
    if m["which"].lower() == "this":
        return _Days(first, _add(unit, first, 1))
    return _Days(_add(unit, first, -1), first)


def _past_units(m: re.Match[str], today: _Today) -> _Days:
    return _Days(
        _add(m["unit"].lower(), today.day, -_number(m["count"])), today.day + timedelta(days=1)
    )


def _units_ago(m: re.Match[str], today: _Today) -> _Days:
    unit = m["unit"].lower()
    then = _add(unit, today.day, -_number(m["count"]))
    first = _start_of(unit, then)
    return _Days(first, _add(unit, first, 1))


def _tomorrow(m: re.Match[str], today: _Today) -> _Days:
    return _one_day(today.day + timedelta(days=1))


def _last_night(m: re.Match[str], today: _Today) -> _Days:
    return _one_day(today.day - timedelta(days=1))


def _next(m: re.Match[str], today: _Today) -> _Days:
    unit = m["unit"].lower()
    first = _add(unit, _start_of(unit, today.day), 1)
    return _Days(first, _add(unit, first, 1))


def _weekday_past(m: re.Match[str], today: _Today) -> _Days:
    return _one_day(today.day - timedelta(days=(today.day.weekday() - _weekday(m)) % 7))


def _weekday_ahead(m: re.Match[str], today: _Today) -> _Days:
    return _one_day(today.day + timedelta(days=(_weekday(m) - today.day.weekday()) % 7))


def _weekend_past(m: re.Match[str], today: _Today) -> _Days:
    back = today.day.weekday() + 2 + 7 * (_number(m["count"]) - 1 if m["count"] else 0)
    first = today.day - timedelta(days=back)
    return _Days(first, first + timedelta(days=2))


def _weekend_ahead(m: re.Match[str], today: _Today) -> _Days:
    first = today.day + timedelta(days=(5 - today.day.weekday()) % 7)
    return _Days(first, first + timedelta(days=2))


def _day_alone(m: re.Match[str], today: _Today) -> _Days:
    """ "the 18th": of the month in which it is said."""
    return _one_day(today.day.replace(day=int(m["day"])))


def _day_alone_ahead(m: re.Match[str], today: _Today) -> _Days:
    return _one_day(_add_months(today.day.replace(day=1), 1).replace(day=int(m["day"])))


def _weekday(m: re.Match[str]) -> int:
    return [day[:3] for day in _DAYS].index(m["weekday"].lower()[:3])


def _read(match: re.Match[str], read: _Reader, today: _Today) -> _Days | None:
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
_WEEKDAY = rf"(?P<weekday>{'|'.join(_DAYS)}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"
_MESSAGE_FORMS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
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
)
_BESIDE = re.compile(
    rf"\b(?:the\s+)?(?:(?:{_COUNT}\s+)?{_UNIT}s?|(?P<weekday>{'|'.join(_DAYS)}|weekend))\s+"
    r"(?P<side>before|after)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_MAY_NAME_A_TIME = re.compile(
    rf"\d|night|yesterday|today|tomorrow|ago\b|\b(?:last|next|this|past)\b|weekend|quarter"
    rf"|\b(?:{'|'.join(name[:3] for name in (*_MONTHS, *_DAYS))})",
    re.IGNORECASE,
)
