"""A period in the question bounds what is read, or is named where it does not."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tmem_integrations.config import ForestConfig
from tmem_integrations.dates import Period
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Query
from tmem_integrations.periods import NamedPeriod

AS_OF = "2026-03-20T00:00:00Z"


def said(name: str, day: int, text: str, **values: Any) -> Message:
    return Message(id=name, text=text, sent_at=datetime(2026, 3, day, 12, tzinfo=UTC), **values)


REPORT = [said("m8", 8, "the report is done"), said("m9", 9, "the report goes out soon")]


def ask(question: str, messages: list[Message], periods: Any = "told", **filters: Any) -> Any:
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
    assert answer.message_ids == ()
    assert answer.trace.explanation == (
        'Nothing in the period "18 March" (2026-03-18): none of the 2 messages in scope that share a '
        "word with the question was sent then or names it."
    )


def test_neighbours_in_the_conversation_do_not_pass_for_it_either() -> None:
    answer = ask("did the report go out on 18 March?", [*REPORT, said("m18", 18, "report: sent")])
    assert answer.message_ids == ("m18",)


@pytest.mark.parametrize(
    ("day", "text"),
    [
        (19, "the report went out last night"),
        (19, "yesterday the report left"),
        (10, "the report goes out on 18 March"),
        (10, "not the 17th, the report goes out on Wednesday the 18th"),
        (17, "the report goes out tomorrow"),
    ],
)
def test_what_tells_of_the_day_by_a_date_is_of_the_day(day: int, text: str) -> None:
    told = said("told", day, text)
    assert ask("did the report go out on 18 March?", [*REPORT, told]).message_ids == ("told",)


def test_who_tells_of_the_day_is_shown_with_that_day_s_conversation() -> None:
    told = [
        said("asked", 19, "and, how was the trip?"),
        said("told", 19, "yesterday's trip was fine"),
        said("more", 19, "it was cold and lovely up there"),
        said("later", 20, "what a trip"),
    ]
    answer = ask("How was the trip on 18 March?", told)
    assert set(answer.message_ids) == {"asked", "told", "more"}
    assert "telling of, the period" in answer.trace.explanation


def test_said_looks_everywhere_for_what_happened_and_says_so() -> None:
    answer = ask("did the report go out on 18 March?", REPORT, "said")
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
    assert "the one message sent then shares no word" in answer.trace.explanation


def test_what_a_budget_left_no_room_for_was_in_the_period() -> None:
    answer = ask("What was said about the report on 9 March?", REPORT, max_tokens=1)
    assert "No message fits 1 tokens" in answer.trace.explanation


def test_in_a_silent_archive_a_date_without_year_is_read_from_its_end() -> None:
    old = Message(id="o", text="we camp at the lake", sent_at=datetime(2023, 6, 27, tzinfo=UTC))
    memory = TemporalMemory.from_messages([old])
    assert memory.retrieve("When did they camp in June?").message_ids == ("o",)
    assert memory.retrieve("When did they camp in July?").message_ids == ()


def test_in_a_silent_archive_what_moves_with_the_time_of_asking_is_no_bound() -> None:
    old = Message(id="o", text="we camp at the lake", sent_at=datetime(2023, 6, 27, tzinfo=UTC))
    answer = TemporalMemory.from_messages([old]).retrieve("Where did they camp last year?")
    assert answer.message_ids == ("o",)
    assert "None of the messages shown was sent in the period" in answer.degraded[0]


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
    assert "the one message sent then" in str(answer.trace.explanation)


@pytest.mark.parametrize(
    ("after", "before", "expected"), [(None, None, (8, 9)), (7, 10, (8, 9)), (8.5, 8.6, (8.5, 8.6))]
)
def test_bounds_of_the_question_and_of_the_period_both_hold(
    after: float | None, before: float | None, expected: tuple[float, float]
) -> None:
    def time(day: float | None) -> datetime | None:
        return None if day is None else datetime.fromtimestamp(day * 86400, UTC)

    named = NamedPeriod(Period(time(8), time(9), "p"), "said", UTC)
    query = named.narrow(Query(text="q", after=time(after), before=time(before)))
    assert (query.after, query.before) == tuple(map(time, expected))


WEEK = [
    said(f"{channel}{day}", day, f"{word} number {day} was looked at by all of us", channel=channel)
    for channel, word in (("ops", "server"), ("design", "button"))
    for day in range(9, 16)
]


def test_a_question_without_a_subject_lists_the_week() -> None:
    answer = ask("What was discussed last week?", WEEK, as_of="2026-03-18T00:00:00Z")
    assert set(answer.message_ids) == {m.id for m in WEEK}
    assert answer.trace.explanation == (
        'Only messages sent in the period "last week" (2026-03-09 to 2026-03-15) were looked at. The '
        "question names no subject: 14 of 14 messages, spread over time and channels, stand for them."
    )


def test_a_listing_keeps_to_the_number_of_messages_and_spreads_them() -> None:
    asked = {"as_of": "2026-03-18T00:00:00Z", "max_messages": 4}
    answer = ask("What was discussed last week?", WEEK, **asked)
    days = [n.message.sent_at.day for n in answer.forest if n.message.channel == "ops"]
    assert len(answer.message_ids) == 4
    assert len(days) == 2
    assert min(days) < 12 < max(days)


def test_a_listing_holds_nothing_of_a_closed_channel() -> None:
    memory = TemporalMemory.from_messages(WEEK, access={"ops": "*", "design": ["ann"]})
    asked = {"asking_user": "bo", "as_of": "2026-03-18T00:00:00Z"}
    answer = memory.retrieve("What happened last week?", **asked)
    assert {n.message.channel for n in answer.forest} == {"ops"}
    assert "7 of 7 messages" in str(answer.trace.explanation)


def test_words_that_hit_come_first_in_a_listing() -> None:
    decided = said("d", 12, "decided: blue", channel="ops")
    asked = {"as_of": "2026-03-18T00:00:00Z", "max_messages": 3}
    assert "d" in ask("What was decided last week?", [*WEEK, decided], **asked).message_ids


@pytest.mark.parametrize("question", ["What was said about servers last week?", "Who did it?"])
def test_a_question_with_a_subject_or_without_a_period_is_no_listing(question: str) -> None:
    answer = ask(question, WEEK, as_of="2026-03-18T00:00:00Z")
    assert "listing" not in [stage.stage for stage in answer.trace.stages]


def test_a_listing_of_an_empty_week_says_so() -> None:
    answer = ask("What was discussed last week?", WEEK, as_of="2026-04-18T00:00:00Z")
    assert answer.trace.explanation.endswith(
        "(2026-04-06 to 2026-04-12): no message was sent then."
    )
