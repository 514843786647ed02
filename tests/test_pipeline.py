"""The way of a question: by hand-sent answers, and through a memory without vectors."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tmem_integrations import requests
from tmem_integrations.config import AUTO, LIVE, MAIL, MEETING, PAPER
from tmem_integrations.errors import AccessError, QueryError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.pipeline import answer_question
from tmem_integrations.protocols import Matches
from tmem_integrations.stages.forest import Relation
from tmem_integrations.stages.linearization import parse
from tmem_integrations.stores.chroma import ChromaStore

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def message(number: int, text: str, minutes: float | None = None, **fields) -> Message:
    sent_at = START + timedelta(minutes=number if minutes is None else minutes)
    return Message(**{"id": f"m{number}", "text": text, "sent_at": sent_at, **fields})


def remember(*texts: str, **settings) -> TemporalMemory:
    history = [message(i, text) for i, text in enumerate(texts)]
    return TemporalMemory.from_messages(history, **settings)


def test_an_empty_answer_shows_its_times_in_the_zone_of_the_memory():
    memory = remember("ship it", timezone="Europe/Berlin")
    answer = memory.retrieve("kubernetes", as_of="2026-03-03T12:00")
    assert str(answer.zone) == "Europe/Berlin"
    assert "Tue 03 Mar 2026 12:00" in answer.to_html()


def test_the_pipeline_asks_for_what_it_needs_and_performs_no_io():
    found = message(0, "ship on friday")
    answers = {
        requests.Search: Matches(np.array([0]), np.array([1.0])),
        requests.Times: np.array([START.timestamp()]),
        requests.Load: (found,),
        requests.Traffic: (np.array([START.timestamp()]),),
        requests.Gather: (np.array([0]),),
        requests.TermScores: np.array([[1.0]]),
        requests.Frequencies: {"ship": 1},
        requests.Count: 1,
        requests.LoadVectors: None,
    }
    flow = answer_question(Query(text="ship"), PAPER, counter=default_counter())
    asked, request = [], next(flow)
    result = None
    while result is None:
        asked.append(type(request))
        try:
            request = flow.send(answers[type(request)])
        except StopIteration as stop:
            result = stop.value
    assert result.message_ids == ("m0",)
    assert asked[0] is requests.Search
    assert requests.Ask not in asked


def test_an_answer_is_found_beside_the_words_of_the_question():
    memory = remember("hello", "when do we ship?", "on the 24th, after the audit", "lunch?")
    assert memory.retrieve("ship", max_messages=2).message_ids == ("m1", "m2")


def test_a_revision_hangs_as_update_from_what_it_revises():
    memory = remember(
        "The budget for the venue is 4000 EUR.",
        "ok",
        "Correction: the budget for the venue is 5200 EUR now.",
    )
    forest = memory.retrieve("venue budget").forest
    node = next(node for node in forest if node.message.id == "m2")
    assert node.relation is Relation.UPDATE
    assert forest.nodes[node.parent].message.id == "m0"


@pytest.mark.parametrize("texts", [[], ["👍", "+1"], ["", " "]])
def test_a_history_without_words_gives_an_empty_explained_result(texts: list[str]):
    result = remember(*texts).retrieve("when do we ship?")
    assert (result.text, result.message_ids, result.n_tokens) == ("", (), 0)
    assert result.trace.explanation


def test_a_term_that_half_of_a_small_history_holds_is_found_with_positive_scores():
    forest = remember("ship it", "no", "we ship", "tea").retrieve("ship").forest
    assert {"m0", "m2"} <= {node.message.id for node in forest}
    assert all(node.score > 0 for node in forest)


def test_one_message_is_found_by_one_of_its_words():
    assert remember("rollback friday").retrieve("rollback").message_ids == ("m0",)


@pytest.mark.parametrize("question", ["kubernetes", "", " ", "?"])
def test_what_no_message_contains_yields_nothing(question: str):
    result = remember("the rollback is friday").retrieve(question)
    assert result.message_ids == ()
    assert result.trace.explanation


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("周五晚上上线新版本", "上线"),
        ("The rollback is Friday", "ROLLBACK friday?"),
        ("ask @ann", "@ann"),
        ("see #ops", "#ops"),
        ("v1.2.3 is out", "v1.2.3"),
        ("got ERR_42 again", "ERR_42"),
        ("🚀 today", "🚀"),
    ],
)
def test_what_people_write_can_be_searched(text: str, question: str):
    assert remember(text).retrieve(question).message_ids == ("m0",)


def test_equal_texts_of_two_people_are_two_messages():
    history = [message(0, "+1 for Vue", author="Ann"), message(1, "+1 for Vue", author="Bo")]
    nodes = TemporalMemory.from_messages(history).retrieve("Vue").metadata()["nodes"]
    assert [(n["message_id"], n["author"]) for n in nodes] == [("m0", "Ann"), ("m1", "Bo")]


def test_a_line_stays_its_author_s():
    history = [
        message(0, "I prefer React", author="Ann", author_id="U1"),
        message(1, "I prefer Vue", author="Bo", author_id="U2"),
        message(2, "hi again", author="Anna", author_id="U1"),
    ]
    text = TemporalMemory.from_messages(history).retrieve("What does Bo prefer?").text
    (line,) = [node for node in parse(text) if node.text == "I prefer Vue"]
    assert line.author == "Bo"


def test_an_unknown_channel_and_one_without_hits_explain_themselves_differently():
    memory = TemporalMemory.from_messages([message(0, "ship it", channel="ops")])
    unknown = memory.retrieve("ship", channels="opps").trace.explanation
    silent = memory.retrieve("tea", channels="ops").trace.explanation
    assert "opps" in unknown
    assert unknown != silent


@pytest.mark.parametrize("recipe", [PAPER, LIVE, MEETING, MAIL, AUTO])
@pytest.mark.parametrize("minutes", [0.0, 1 / 60, 60 * 24 * 30.0])
def test_anchors_in_a_second_or_over_years_give_a_forest(recipe, minutes: float):
    history = [message(i, f"ship number {i}", i * minutes) for i in range(36)]
    result = TemporalMemory.from_messages(history, config=recipe).retrieve("ship")
    assert len(result.message_ids) == 36
    assert result.trace.explanation is None


def test_one_lone_anchor_gives_a_tree():
    result = remember("ship", *["tea"] * 50).retrieve("ship")
    assert result.message_ids[0] == "m0"


def test_as_of_shows_only_what_was_known():
    memory = remember("ship on friday", "ship on monday instead")
    assert memory.retrieve("ship", as_of=START).message_ids == ("m0",)


def test_an_old_message_is_found_years_later():
    history = [message(0, "decided: we use Postgres", 0), message(1, "tea", 60 * 24 * 365 * 3)]
    assert "m0" in TemporalMemory.from_messages(history).retrieve("what was decided?").message_ids


def test_a_naive_time_in_a_filter_is_in_the_memory_s_zone():
    memory = remember("ship", timezone="Europe/Berlin")  # sent at 09:00 UTC
    assert memory.retrieve("ship", as_of="2026-03-02T09:30:00").message_ids == ()
    assert memory.retrieve("ship", as_of="2026-03-02T10:30:00").message_ids == ("m0",)


def test_an_unknown_filter_is_an_error_that_names_the_likely_one():
    with pytest.raises(QueryError, match="did you mean 'channels'"):
        remember("x").retrieve("x", channel="ops")


def test_with_access_control_nobody_asks_without_saying_who():
    memory = remember("ship", access={"ops": "*"})
    with pytest.raises(AccessError):
        memory.retrieve("ship")


WORDS = st.sampled_from(["ship", "friday", "budget", "tea", "ok", "ERR_42", "上线"])
TEXTS = st.lists(WORDS, max_size=5).map(" ".join)
HISTORIES = st.lists(st.tuples(TEXTS, st.integers(0, 4000), st.sampled_from("ab")), max_size=12)


def history_of(rows: Sequence[tuple[str, int, str]]) -> list[Message]:
    return [
        message(i, text, minutes, channel=channel, author=f"{channel}-author")
        for i, (text, minutes, channel) in enumerate(rows)
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES, TEXTS)
def test_an_outsider_s_result_is_that_of_a_history_without_the_channel(rows, question):
    history = history_of(rows)
    open_ = [m for m in history if m.channel == "a"]
    full = TemporalMemory.from_messages(history, access={"a": ["ann"], "b": ["bo"]})
    bare = TemporalMemory.from_messages(open_, access={"a": ["ann"], "b": ["bo"]})
    seen, alone = (m.retrieve(question, asking_user="ann") for m in (full, bare))
    assert seen.text == alone.text
    assert seen.metadata() == alone.metadata()
    strip = [(s.stage, s.taken, s.kept, dict(s.notes)) for s in seen.trace.stages]
    assert strip == [(s.stage, s.taken, s.kept, dict(s.notes)) for s in alone.trace.stages]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORIES, TEXTS, st.integers(1, 8), st.integers(1, 400))
def test_bounds_hold_and_parents_are_earlier(rows, question, max_messages, max_tokens):
    memory = TemporalMemory.from_messages(history_of(rows))
    result = memory.retrieve(question, max_messages=max_messages, max_tokens=max_tokens)
    assert len(set(result.message_ids)) == len(result.message_ids) <= max_messages
    assert default_counter().count(result.text) == result.n_tokens <= max_tokens
    for node in result.forest:
        if node.parent is not None:
            assert result.forest.nodes[node.parent].message.sent_at <= node.message.sent_at


def test_async_and_sync_give_the_same():
    memory = remember("ship on friday", "no, on monday")
    assert asyncio.run(memory.aretrieve("ship")).metadata() == memory.retrieve("ship").metadata()


def test_what_the_asker_wrote_is_not_found_by_the_asker_s_name_alone():
    history = [message(0, "tea", author="Priya"), message(1, "the rollback is friday", author="Bo")]
    memory = TemporalMemory.from_messages(history)
    assert memory.retrieve("kubernetes", asking_user="Priya").message_ids == ()
    assert "m1" in memory.retrieve("rollback", asking_user="Priya").message_ids


def test_a_term_that_one_of_two_messages_holds_is_found():
    assert remember("ship", "tea").retrieve("ship").message_ids[0] == "m0"


def test_a_question_that_holds_a_whole_log_is_read_at_both_ends():
    memory = remember("the pear is ripe", "the plum is ripe", "the fig is ripe")
    log = " ".join(f"line{i}" for i in range(5_000))
    answer = memory.retrieve(f"pear {log} plum {log} fig")
    assert {anchor.message.id for anchor in answer.anchors} == {"m0", "m2"}
    assert any("middle was not read" in note for note in answer.degraded)
    assert "plum" in answer.query.text


def test_an_id_given_as_a_number_can_be_deleted_as_one():
    memory = TemporalMemory.from_messages([{"id": 7, "text": "pear", "timestamp": 0}])
    assert memory.delete([7]) == 1
    assert len(memory) == 0


def test_an_answer_is_the_same_in_every_process():
    program = (
        "import tmem_integrations.demo as demo\n"
        "from tmem_integrations.memory import TemporalMemory\n"
        "memory = TemporalMemory.from_messages(demo.load_history(), timezone='UTC')\n"
        "print(ascii([memory.retrieve(q.question).text for q in demo.load_questions()]))\n"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    assert b"KEY" in first


def test_what_a_budget_leaves_out_is_weighed_in_the_language_of_the_store():
    """In another one each German function word would be a rare word, and "Häuser" none of the question."""
    text = "Häuser leer. Und das ist so, wie es immer war."
    message = Message(id="m", text=text, sent_at=datetime(2026, 3, 2, tzinfo=UTC))
    with ChromaStore.in_memory(language="german") as store:
        memory = TemporalMemory.from_messages([message], store=store)
        _, whole = memory.retrieve("Haus").text.split("\n\n")
        shown = memory.retrieve("Haus", max_tokens=default_counter().count(whole) - 1)
    assert text in whole
    assert shown.text.endswith("> Häuser leer. […]")
