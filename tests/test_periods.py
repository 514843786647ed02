"""A period in the question bounds what is read, or is named where it does not."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tmem_integrations.config import ForestConfig
from tmem_integrations.dates import Period
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Query
from tmem_integrations.periods import within

AS_OF = "2026-03-20T00:00:00Z"


def said(name: str, day: int, text: str, **values: Any) -> Message:
    return Message(id=name, text=text, sent_at=datetime(2026, 3, day, 12, tzinfo=UTC), **values)


REPORT = [said("m8", 8, "the report is done"), said("m9", 9, "the report goes out soon")]


def ask(question: str, messages: list[Message], periods: Any = "said", **filters: Any) -> Any:
    memory = TemporalMemory.from_messages(messages, config=ForestConfig(periods=periods))
    return memory.retrieve(question, as_of=filters.pop("as_of", AS_OF), **filters)


def test_what_was_said_on_a_day_is_not_answered_with_another_day() -> None:
    answer = ask("What was said about the report on 18 March?", REPORT)
    assert answer.message_ids == ()
    assert (
        answer.trace.explanation
        == 'Nothing in the period "18 March" (2026-03-18): no message was sent then.'
    )


def test_a_neighbours_date_does_not_pass_for_the_one_asked() -> None:
    answer = ask("did the report go out on 18 March?", REPORT)
    assert set(answer.message_ids) == {"m8", "m9"}
    assert any('was sent in the period "18 March" (2026-03-18)' in note for note in answer.degraded)


def test_always_makes_every_period_a_bound() -> None:
    answer = ask("did the report go out on 18 March?", REPORT, "always")
    assert answer.message_ids == ()
    assert "Nothing in the period" in answer.trace.explanation


def test_never_leaves_the_question_alone() -> None:
    answer = ask("What was said about the report on 18 March?", REPORT, "never")
    assert set(answer.message_ids) == {"m8", "m9"}
    assert answer.degraded == ()


def test_in_the_period_only_its_messages_are_shown() -> None:
    answer = ask("What was said about the report on 9 March?", REPORT)
    assert answer.message_ids == ("m9",)
    assert "Only messages sent in" in answer.trace.explanation


def test_a_period_without_a_match_says_how_much_was_looked_at() -> None:
    answer = ask("What was said about lunch on 9 March?", REPORT)
    assert "none of the 1 messages sent then" in answer.trace.explanation


def test_relative_periods_start_from_as_of() -> None:
    answer = ask("What was said about the report last week?", REPORT, as_of="2026-03-10T12:00:00Z")
    assert answer.message_ids == ("m8",)  # 2 to 8 March


def test_old_messages_imported_now_answer_for_their_own_year() -> None:
    old = Message(
        id="old", text="decided: we ship weekly", sent_at=datetime(2023, 5, 2, tzinfo=UTC)
    )
    new = Message(id="new", text="decided: we ship daily", sent_at=datetime(2026, 5, 2, tzinfo=UTC))
    answer = TemporalMemory.from_messages([old, new]).retrieve(
        "what was decided in 2023: how do we ship?"
    )
    assert answer.message_ids == ("old",)


def test_a_period_counts_nothing_that_may_not_be_read() -> None:
    messages = [
        said("m1", 9, "the report", channel="board"),
        said("m2", 9, "lunch", channel="general"),
    ]
    memory = TemporalMemory.from_messages(messages, access={"general": "*", "board": ["ann"]})
    answer = memory.retrieve(
        "what was said on 9 March about the report?", asking_user="bo", as_of=AS_OF
    )
    assert "none of the 1 messages" in str(answer.trace.explanation)


@pytest.mark.parametrize(
    ("after", "before", "expected"), [(None, None, (8, 9)), (7, 10, (8, 9)), (8.5, 8.6, (8.5, 8.6))]
)
def test_bounds_of_the_question_and_of_the_period_both_hold(
    after: float | None, before: float | None, expected: tuple[float, float]
) -> None:
    def time(day: float | None) -> datetime | None:
        return None if day is None else datetime.fromtimestamp(day * 86400, UTC)

    query = within(
        Query(text="q", after=time(after), before=time(before)), Period(time(8), time(9), "p")
    )
    assert (query.after, query.before) == tuple(map(time, expected))
