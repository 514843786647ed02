"""Periods in questions: which words name one, and which days it has."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.dates import Period, find_period, tells_of

NOW = datetime(2026, 3, 25, 12, tzinfo=UTC)  # a Wednesday


def period(question: str, now: datetime = NOW) -> Period | None:
    return find_period(question, now=now, zone=UTC)


def days(question: str) -> tuple[date | None, date | None]:
    """First and last day."""
    found = period(question)
    assert found is not None, question
    start = None if found.start is None else found.start.date()
    end = None if found.end is None else (found.end - timedelta(days=1)).date()
    return start, end


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("on 2026-03-18", date(2026, 3, 18), date(2026, 3, 18)),
        ("on 18 March", date(2026, 3, 18), date(2026, 3, 18)),
        ("on the 18th of March 2025", date(2025, 3, 18), date(2025, 3, 18)),
        ("on March 18th, 2025", date(2025, 3, 18), date(2025, 3, 18)),
        ("on Mar. 18", date(2026, 3, 18), date(2026, 3, 18)),
        ("on 5 April", date(2026, 4, 5), date(2026, 4, 5)),  # near ahead
        ("on 5 May", date(2025, 5, 5), date(2025, 5, 5)),  # too far ahead
        ("in February", date(2026, 2, 1), date(2026, 2, 28)),
        ("in April", date(2025, 4, 1), date(2025, 4, 30)),
        ("in June 2024", date(2024, 6, 1), date(2024, 6, 30)),
        ("in 2023", date(2023, 1, 1), date(2023, 12, 31)),
        ("in Q1", date(2026, 1, 1), date(2026, 3, 31)),
        ("in Q2", date(2025, 4, 1), date(2025, 6, 30)),
        ("in the fourth quarter of 2024", date(2024, 10, 1), date(2024, 12, 31)),
        ("yesterday", date(2026, 3, 24), date(2026, 3, 24)),
        ("the day before yesterday", date(2026, 3, 23), date(2026, 3, 23)),
        ("today", date(2026, 3, 25), date(2026, 3, 25)),
        ("last week", date(2026, 3, 16), date(2026, 3, 22)),
        ("this week", date(2026, 3, 23), date(2026, 3, 29)),
        ("last month", date(2026, 2, 1), date(2026, 2, 28)),
        ("last quarter", date(2025, 10, 1), date(2025, 12, 31)),
        ("last Wednesday", date(2026, 3, 18), date(2026, 3, 18)),
        ("in the last 3 days", date(2026, 3, 22), date(2026, 3, 25)),
        ("over the past two months", date(2026, 1, 25), date(2026, 3, 25)),
        ("two weeks ago", date(2026, 3, 9), date(2026, 3, 15)),
        ("between 3 March and 9 March", date(2026, 3, 3), date(2026, 3, 9)),
        ("from last Monday to yesterday", date(2026, 3, 23), date(2026, 3, 24)),
        ("before 18 March", None, date(2026, 3, 17)),
        ("since 18 March", date(2026, 3, 18), None),
        ("after last week", date(2026, 3, 23), None),
        ("the week before 18 March", date(2026, 3, 11), date(2026, 3, 17)),
        ("two weeks before 18 March", date(2026, 3, 4), date(2026, 3, 17)),
        ("on the Sunday before 18 March", date(2026, 3, 15), date(2026, 3, 15)),
        ("on the weekend before 18 March", date(2026, 3, 14), date(2026, 3, 15)),
        ("on the Friday after 18 March", date(2026, 3, 20), date(2026, 3, 20)),
        ("the two days after 18 March", date(2026, 3, 19), date(2026, 3, 20)),
    ],
)
def test_a_period_has_its_days(words: str, first: date | None, last: date | None) -> None:
    assert days(f"What was decided {words}?") == (first, last)


@pytest.mark.parametrize(
    "question",
    [
        "When do we launch?",
        "May we ship?",  # no month
        "Is it due by 18 March?",  # a deadline
        "What happens on 30 February?",
        "What changed between 3 March and the release of 9 March?",  # two dates, no range
        "Is version 2.0 of 2023 done?",
        "the second week",
        "",
    ],
)
def test_what_may_mean_something_else_is_no_period(question: str) -> None:
    assert period(question) is None


def test_a_day_is_that_of_the_zone() -> None:
    found = find_period(
        "yesterday", now=datetime(2026, 3, 24, 23, 30, tzinfo=UTC), zone=ZoneInfo("Europe/Berlin")
    )
    assert found is not None
    assert found.start == datetime(2026, 3, 23, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "of_saying"),
    [
        ("What was decided last week?", True),
        ("What did Ann say on 18 March?", True),
        ("Did the report go out on 18 March?", False),
        ("Where did they go last year?", False),
    ],
)
def test_what_was_said_then_is_told_from_what_happened_then(question: str, of_saying: bool) -> None:
    found = period(question)
    assert found is not None
    assert found.of_saying is of_saying


@pytest.mark.parametrize(
    ("text", "sent_on", "tells"),
    [
        ("It went out yesterday.", 19, True),
        ("It went out last night.", 19, True),
        ("It went out yesterday.", 20, False),
        ("tomorrow it is", 17, True),
        ("next week it is", 9, False),  # which day of it?
        ("Wednesday the 18th", 9, True),
        ("on Wednesday", 16, True),
        ("on Wednesday", 9, False),  # the 11th
        ("on wed", 20, True),
        ("the 18th", 2, True),
        ("the 18th floor", 19, True),  # taken for a day
        ("on 18 March", 1, True),
        ("on 18 March 2025", 1, False),
        ("this year", 9, False),
        ("two weeks ago", 31, False),
        ("we married in 1999", 9, False),
        ("it is done", 18, False),
    ],
)
def test_a_message_tells_of_a_day_by_a_date(text: str, sent_on: int, tells: bool) -> None:
    asked = period("on 18 March")
    assert asked is not None
    assert tells_of(text, datetime(2026, 3, sent_on, 12, tzinfo=UTC), asked, UTC) is tells


def test_a_message_tells_of_a_month_by_a_date_as_long() -> None:
    asked = period("in February")
    assert asked is not None
    told = "Last month I was away."
    assert tells_of(told, datetime(2026, 3, 9, tzinfo=UTC), asked, UTC)
    assert not tells_of(told, datetime(2026, 4, 9, tzinfo=UTC), asked, UTC)


@given(
    st.lists(
        st.sampled_from(
            ["31", "18th", "March", "in", "Q4", "last", "week", "between", "and", "9999", "of", "two",
             "999", "years", "ago", "the", "past", "0", "2026-02-30", "second", "quarter"]
        ),
        max_size=7,
    ),
    st.datetimes(timezones=st.just(UTC)),
)  # fmt: skip
def test_any_words_at_any_time_give_a_period_in_order_or_none(
    words: list[str], now: datetime
) -> None:
    found = period(" ".join(words), now)
    assert found is None or found.start is None or found.end is None or found.start < found.end


@pytest.mark.parametrize(
    "phrase",
    [
        "two years after 9999-01-01",
        "the 999 years before 0500-01-01",
        "the Sunday before 0001-01-01",
        "before 0001-01-01",
        "the weekend after 9999-12-30",
    ],
)
def test_a_stretch_beyond_the_calendar_is_no_period(phrase):
    assert find_period(f"What happened {phrase}?", now=NOW, zone=UTC) is None
