"""Whatever the history, membership and question: an answer is what it would be without the messages that
may not be read, and nothing of those is anywhere in it."""

import dataclasses
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tmem_integrations.config import AUTO, ForestConfig
from tmem_integrations.errors import AccessError, ConfigError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.models.embeddings import StaticEmbedder

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CHANNELS = ("general", "board", None)
USERS = ("ann", "bo", "cy")
WORDS = ("ship", "friday", "launch", "budget", "monday", "ok", "@ann", "why?", "18")
EMBEDDER = StaticEmbedder()


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    n = draw(st.integers(1, 8))
    messages = []
    for number in range(n):
        channel = draw(st.sampled_from(CHANNELS))
        words = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)))
        # The marks are in no question, so that they can come from nowhere but the message.
        mark = f"zq{number}x"
        messages.append(
            Message(
                id=f"id{mark}",
                text=f"{words} {mark}text",
                sent_at=START + timedelta(minutes=draw(st.integers(0, 2000))),
                author=f"Author{mark}" if draw(st.booleans()) else draw(st.sampled_from(USERS)),
                channel=channel,
                topic=draw(st.sampled_from([None, "release"])),
                reply_to=draw(st.sampled_from([None, *(m.id for m in messages)])),
                edited_at=draw(st.sampled_from([None, START + timedelta(days=2)])),
            )
        )
    return messages


MEMBERSHIPS = st.fixed_dictionaries(
    {}, optional={"general": st.sampled_from(["*", "ann", ["ann", "bo"]]), "board": st.just(["cy"])}
)
QUESTIONS = st.lists(st.sampled_from([*WORDS, "Author", "last week", "who said"]), max_size=4).map(
    " ".join
)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "channels": st.sampled_from(["general", "board", "nowhere"]),
        "not_channels": st.just("board"),
        "as_of": st.just(START + timedelta(minutes=1000)),
        "topics": st.just("release"),
    },
)


def shown(answer: Any) -> dict[str, Any]:
    """All that leaves, but for wall times."""
    trace = answer.trace.to_dict()
    for stage in trace["stages"]:
        stage.pop("seconds", None)
        stage.get("notes", {}).pop("seconds", None)
    return {
        "text": answer.text,
        "trees": answer.tree_texts,
        "metadata": answer.metadata(),
        "trace": trace,
        "nodes": [dataclasses.asdict(node.message) for node in answer.forest],
        "anchors": [dataclasses.asdict(anchor) for anchor in answer.anchors],
        "dropped": answer.dropped,
    }


def ask(
    history: list[Message], members: Any, question: str, user: str, **options: Any
) -> dict[str, Any]:
    embedder = options.pop("embedder", None)
    config = options.pop("config", None)
    memory = TemporalMemory.from_messages(history, access=members, embedder=embedder, config=config)
    try:
        return shown(memory.retrieve(question, asking_user=user, **options))
    finally:
        memory.close()


def may_read(members: Any, user: str, channel: str | None) -> bool:
    admitted = members.get(channel, ()) if channel is not None else ()
    return user in ([admitted] if isinstance(admitted, str) else admitted) or admitted == "*"


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    histories(), MEMBERSHIPS, QUESTIONS, st.sampled_from(USERS), FILTERS, st.booleans(),
    st.sampled_from([ForestConfig(), AUTO]),
)  # fmt: skip
def test_an_answer_is_that_of_a_history_without_what_may_not_be_read(
    history: list[Message],
    members: Any,
    question: str,
    user: str,
    filters: Any,
    with_vectors: bool,
    config: ForestConfig,
) -> None:
    options = {**filters, "config": config, "embedder": EMBEDDER if with_vectors else None}
    allowed = [m for m in history if may_read(members, user, m.channel)]
    answer = ask(history, members, question, user, **options)
    assert answer == ask(allowed, members, question, user, **options)
    forbidden = {re.search(r"zq\dx", m.id)[0] for m in history if m not in allowed}
    assert not [mark for mark in forbidden if mark in repr(answer)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), MEMBERSHIPS, FILTERS)
def test_without_an_asker_the_error_says_nothing_of_the_history(
    history: list[Message], members: Any, filters: Any
) -> None:
    memory = TemporalMemory.from_messages(history, access=members)
    with pytest.raises(AccessError) as refused:
        memory.retrieve("ship", **filters)
    assert not re.search(r"zq\dx", str(refused.value))
    memory.close()


def said(name: str, channel: str, minute: int, text: str = "we ship", **values: Any) -> Message:
    return Message(
        id=name, text=text, sent_at=START + timedelta(minutes=minute), channel=channel, **values
    )


def test_padding_and_neighbours_stop_at_the_border_inside_a_topic() -> None:
    history = [
        said("open1", "general", 0, topic="release"),
        said("secret", "board", 1, "not before the audit", topic="release"),
        said("open2", "general", 2, topic="release"),
    ]
    answer = ask(history, {"general": "*", "board": ["cy"]}, "when do we ship", "ann")
    assert answer["metadata"]["message_ids"] == ["open1", "open2"]


def test_a_reply_does_not_tell_the_id_of_a_message_in_a_closed_channel() -> None:
    history = [said("secret", "board", 0), said("open", "general", 1, reply_to="secret")]
    answer = ask(history, {"general": "*"}, "when do we ship", "ann")
    assert "secret" not in repr(answer)


def test_a_member_who_left_no_longer_finds_it() -> None:
    members = {"board": ["ann"]}
    memory = TemporalMemory.from_messages([said("m", "board", 0)], access=members)
    assert memory.retrieve("ship", asking_user="ann").message_ids == ("m",)
    members["board"].remove("ann")
    assert memory.retrieve("ship", asking_user="ann").message_ids == ()


def test_redact_changes_what_comes_out_everywhere() -> None:
    def redact(message: Message, query: Any) -> Message | None:
        if query.asking_user == "cy":
            return message
        return replace(message, text=re.sub(r"\d{4}", "[number]", message.text))

    history = [said("m", "general", 0, "the ship code is 4711"), said("n", "general", 1, "ok")]
    memory = TemporalMemory.from_messages(history, access={"general": "*"})
    memory.redact = redact
    answer = shown(memory.retrieve("what is the ship code", asking_user="ann"))
    assert "the ship code is [number]" in answer["text"]
    assert "4711" not in repr(answer)
    assert "4711" in memory.retrieve("what is the ship code", asking_user="cy").text


def test_a_withheld_message_is_not_shown() -> None:
    memory = TemporalMemory.from_messages([said("m", "general", 0), said("n", "general", 1)])
    memory.redact = lambda message, query: None if message.id == "m" else message
    assert memory.retrieve("when do we ship").message_ids == ("n",)


def test_redact_cannot_move_a_message() -> None:
    memory = TemporalMemory.from_messages([said("m", "general", 0)])
    memory.redact = lambda message, query: replace(message, id="other")
    with pytest.raises(ConfigError, match="redact must return None or message 'm'"):
        memory.retrieve("when do we ship")
