"""Times on the command line: what people type, and what is told when it is none."""

from datetime import UTC, datetime

import pytest

from tmem_integrations.cli.times import read_moment
from tmem_integrations.errors import InputError

NOW = datetime(2026, 3, 25, 12, tzinfo=UTC)  # a Wednesday


def moment(text: str, timezone: str | None = None) -> datetime | None:
    return read_moment(text, timezone, "--as-of", now=NOW)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-03-12", datetime(2026, 3, 12)),
        ("2026-03-12T12:00", datetime(2026, 3, 12, 12)),
        ("2026-03-12 12:00", datetime(2026, 3, 12, 12)),
        ("2026-03-12T12:00+02:00", datetime(2026, 3, 12, 12 - 2)),
        ("today", datetime(2026, 3, 25)),
        ("Yesterday", datetime(2026, 3, 24)),
        ("yesterday 17:30", datetime(2026, 3, 24, 17, 30)),
        ("yesterday at 9:05", datetime(2026, 3, 24, 9, 5)),
        ("3 days ago", datetime(2026, 3, 22)),
        ("last Monday", datetime(2026, 3, 23)),
        ("12 March", datetime(2026, 3, 12)),
        ("March 12th, 2025", datetime(2025, 3, 12)),
        ("12 March 2026 17:00", datetime(2026, 3, 12, 17)),
        ("26 March", datetime(2025, 3, 26)),  # without year none is ahead
    ],
)
def test_a_time_is_read_as_people_write_it(text: str, read: datetime) -> None:
    assert moment(text) == read.replace(tzinfo=UTC)


def test_a_day_begins_in_the_zone_given_and_yesterday_is_counted_there() -> None:
    late = datetime(2026, 3, 25, 23, 30, tzinfo=UTC)  # Thursday in Berlin already
    assert read_moment("yesterday", "Europe/Berlin", "--as-of", now=late) == datetime(
        2026, 3, 24, 23, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "text", ["", "soon", "last week", "in March", "yesterday 25:00", "today, yesterday", "31 February"]
)  # fmt: skip
def test_what_is_no_time_is_told_with_the_forms(text: str) -> None:
    with pytest.raises(
        InputError, match=r"^--as-of must be a time such as 2026-03-12T12:00.*'3 days ago'"
    ):
        moment(text)


def test_no_time_is_none() -> None:
    assert read_moment(None, None, "--as-of") is None
