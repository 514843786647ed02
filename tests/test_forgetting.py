"""Forgetting: what is selected, that nothing else is, and that nothing of it is left anywhere."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tmem_integrations.cli import main
from tmem_integrations.errors import QueryError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.models.embeddings import StaticEmbedder
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.protocols import FILED, DerivedRow
from tmem_integrations.stores.chroma import ChromaStore

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
GATEMEM = Path(__file__).parents[2] / "shared" / "data" / "gatemem"


def said(name: str, author: str = "Ann", day: int = 0, **values: Any) -> Message:
    values = {"text": "the salary is five", "channel": "general", **values}
    return Message(id=name, author=author, sent_at=START + timedelta(days=day), **values)


def memory_of(*messages: Message) -> TemporalMemory:
    return TemporalMemory.from_messages(messages)


HISTORY = (
    said("a1"), said("a2", day=10, channel="board"), said("b1", "Bo"), said("b2", "Bo", day=10),
)  # fmt: skip


@pytest.mark.parametrize(
    ("conditions", "gone"),
    [
        ({"ids": ["a1", "nowhere"]}, {"a1"}),
        ({"ids": "a1"}, {"a1"}),
        ({"authors": "Ann"}, {"a1", "a2"}),
        ({"channels": ["board"]}, {"a2"}),
        ({"before": START + timedelta(days=10)}, {"a1", "b1"}),
        ({"authors": "Bo", "before": START + timedelta(days=10)}, {"b1"}),
        ({"authors": ["Ann", "Bo"], "channels": "general"}, {"a1", "b1", "b2"}),
        ({"authors": "Cy"}, set()),
    ],
)
def test_conditions_must_all_hold(conditions: dict[str, Any], gone: set[str]) -> None:
    memory = memory_of(*HISTORY)
    planned = memory.forget(**conditions, dry_run=True)
    assert (set(planned.ids), planned.n_left, planned.done) == (gone, 4, False)
    done = memory.forget(**conditions)
    assert (set(done.ids), done.n_left, done.done) == (gone, 4 - len(gone), True)
    assert set(memory.store.get([m.id for m in HISTORY])) == {m.id for m in HISTORY} - gone


@pytest.mark.parametrize(
    "conditions", [{}, {"ids": []}, {"authors": ""}, {"authors": "Ann", "channels": []}]
)
def test_an_empty_condition_is_an_error_and_forgets_nobody(conditions: dict[str, Any]) -> None:
    memory = memory_of(*HISTORY)
    with pytest.raises(QueryError, match=r"Say what to forget|is empty"):
        memory.forget(**conditions)
    assert len(memory) == 4


def test_an_author_who_was_renamed_is_forgotten_by_id() -> None:
    memory = memory_of(
        said("x", "Ann", author_id="U1"), said("y", "Anna", author_id="U1"), said("z", "Bo")
    )
    assert set(memory.forget(authors="U1").ids) == {"x", "y"}


def test_what_a_model_said_about_a_message_goes_with_it() -> None:
    memory = memory_of(*HISTORY)
    assert memory.verdicts is not None
    memory.verdicts.put("k", [GateVerdict(1, "KEY", "the salary is five")], ["a1"])
    memory.forget(authors="Ann")
    assert memory.verdicts.message_ids() == frozenset()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.sampled_from(["x", "y"]), st.integers(0, 30)),
        max_size=8,
    ),
    st.sampled_from("ABC"),
)
def test_after_forgetting_the_memory_is_that_of_the_rest(
    drawn: list[tuple[str, str, int]], author: str
) -> None:
    embedder = StaticEmbedder()
    history = [
        said(f"m{i}", who, day, channel=where, text=f"plan {'alpha' * (i % 2)} of {who}")
        for i, (who, where, day) in enumerate(drawn)
    ]
    memory = TemporalMemory.from_messages(history, embedder=embedder)
    memory.forget(authors=author)
    rest = TemporalMemory.from_messages(
        [m for m in history if m.author != author], embedder=embedder
    )
    for question in ("plan alpha", f"plan of {author}"):
        left, fresh = memory.retrieve(question), rest.retrieve(question)
        assert (left.text, left.trace.explanation) == (fresh.text, fresh.trace.explanation)
    assert memory.store.check() == ()


def test_nothing_of_it_is_left_in_the_files(tmp_path: Path) -> None:
    store = ChromaStore.open(tmp_path / "store")
    memory = TemporalMemory(store, embedder=StaticEmbedder())
    memory.add([said("a1", text="xylophone-4711"), said("b1", "Bo", text="lunch")])
    memory.retrieve("xylophone-4711?")
    memory.forget(authors="Ann")
    memory.close()
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not [path for path in files if b"xylophone" in path.read_bytes()]


def test_check_finds_what_a_model_said_about_a_message_that_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ChromaStore.open(tmp_path / "store")
    memory = TemporalMemory(store)
    memory.add([said("a1")])
    assert memory.verdicts is not None
    memory.verdicts.put("k", [], ["a1", "ghost"])
    memory.close()
    with pytest.raises(SystemExit) as ended:
        main(["check", "--in", str(tmp_path / "store")])
    assert ended.value.code == 1
    assert "Verdicts about message 'ghost'" in capsys.readouterr().out


def test_check_finds_what_was_derived_from_a_message_that_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChromaStore.open(tmp_path / "store") as store:
        store.upsert([said("a1")])
        store.derived.write([DerivedRow(FILED, "ghost", "", frozenset({"scene"}))])
    with pytest.raises(SystemExit):
        main(["check", "--in", str(tmp_path / "store")])
    assert "derived from message 'ghost'" in capsys.readouterr().out


@pytest.mark.skipif(not GATEMEM.is_dir(), reason="needs the GateMem data beside the project")
def test_what_gatemem_wants_forgotten_is_gone_once_its_messages_are() -> None:
    """Every message that holds a value to be forgotten is forgotten; no answer holds the value then."""
    messages, questions = (
        [
            json.loads(line)
            for line in (GATEMEM / name).read_text(encoding="utf-8").split("\n")
            if line
        ]
        for name in ("messages.jsonl", "questions.jsonl")
    )
    wanted = [q for q in questions if q["kind"] == "safety" and q.get("leak_targets")]
    episodes = sorted({q["channel"] for q in wanted})[::8]
    assert episodes
    for episode in episodes:
        memory = TemporalMemory.from_messages(
            [m for m in messages if m["channel"] == episode], timezone="UTC"
        )
        asked = [q for q in wanted if q["channel"] == episode]
        patterns = [re.compile(p, re.IGNORECASE) for q in asked for p in q["leak_targets"]]
        holding = [
            m["id"] for m in messages
            if m["channel"] == episode and any(p.search(m["text"]) for p in patterns)
        ]  # fmt: skip
        memory.forget(ids=holding)
        for question in asked:
            answer = memory.retrieve(question["question"], as_of=question["as_of"])
            # Of the texts alone: the time in a header may look like a minute that was to be forgotten.
            told = [node.message.text for node in answer.forest]
            assert told
            assert not any(p.search(text) for p in patterns for text in told), question["id"]
            assert not set(holding) & set(answer.message_ids)
