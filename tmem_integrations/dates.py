"""Periods that a question names: "on 18 March", "last week", "in Q2", relative to when it is asked.

English only, and only forms that mean a period whoever reads them. What may be a deadline ("by 18
March") or a plan ("next week") is no period of a question. A message names more: it may tell of a day
by a plan, by "last night" or by "Thursday the 19th".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Literal

from tmem_integrations.date_forms import (
    BESIDE,
    MAY_NAME_A_TIME,
    MESSAGE_FORMS,
    QUESTION_FORMS,
    Days,
    Today,
    days_beside,
    read_form,
)

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

    @property
    def seconds(self) -> tuple[float, float]:
        """Start and end in POSIX seconds, infinite where it is open."""
        return (
            -math.inf if self.start is None else self.start.timestamp(),
            math.inf if self.end is None else self.end.timestamp(),
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
    found = _find_days(question, Today(today, today + _AHEAD, today))
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
    stretch = BESIDE.search(before)
    if stretch:
        near = days_beside(stretch, days)
        if near is None:
            return None
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
    if not MAY_NAME_A_TIME.search(text):
        return False
    day = sent_at.astimezone(zone).date()
    today = Today(day, day + _NEAREST, day + _NEAREST)
    start = None if period.start is None else period.start.astimezone(zone).date()
    end = None if period.end is None else period.end.astimezone(zone).date()
    longest = _ROUGHLY_A_DAY
    if start is not None and end is not None:
        longest = max(longest, end - start)
    for form, read in (*QUESTION_FORMS, *MESSAGE_FORMS):
        for match in form.finditer(text):
            days = read_form(match, read, today)
            if days is None or days.end - days.start > longest + timedelta(days=1):
                continue
            if (end is None or days.start < end) and (start is None or start < days.end):
                return True
    return False


def read_day(text: str, *, now: datetime, zone: tzinfo) -> date | None:
    """The one day that a text is, as people write it; the latest such day for one without a year.

    Args:
        text: The day and nothing else, in English.
        now: When it is written, aware.
        zone: Whose days are meant.

    Returns:
        None when it is something else, or more than one day.

    Examples:
        >>> from datetime import UTC
        >>> now = datetime(2026, 3, 25, 12, tzinfo=UTC)
        >>> [str(read_day(one, now=now, zone=UTC)) for one in ("yesterday", "3 days ago", "28 March")]
        ['2026-03-24', '2026-03-22', '2025-03-28']
        >>> read_day("last week", now=now, zone=UTC) is None
        True
    """
    today, text = now.astimezone(zone).date(), text.strip()
    found = _find_days(text, Today(today, today, today))
    if len(found) != 1 or found[0][0] != slice(0, len(text)):
        return None
    days = found[0][1]
    return days.start if days.end - days.start == timedelta(days=1) else None


def _find_days(question: str, today: Today) -> list[tuple[slice, Days]]:
    """All dates and periods in a question, in order; of those that overlap the longest."""
    found: list[tuple[int, int, Days]] = []
    for form, read in QUESTION_FORMS:
        for match in form.finditer(question):
            days = read_form(match, read, today)
            if days is not None:
                start, end = match.span("shown" if "shown" in form.groupindex else 0)
                found.append((start, end, days))
    found.sort(key=lambda item: (item[0], -item[1]))
    kept: list[tuple[slice, Days]] = []
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
    if end is not None and end <= (start or date.min):
        return None
    midnights = [
        None if day is None else datetime.combine(day, time.min, zone) for day in (start, end)
    ]
    return Period(midnights[0], midnights[1], " ".join(phrase.split()), of_saying, counted_from)


def _counted_from(phrase: str) -> CountedFrom:
    if re.search(r"\b(?:last|this|past|ago|yesterday|today)\b", phrase, re.I):
        return "now"
    return None if re.search(r"\b(?:19|20)\d\d\b", phrase) else "year"
