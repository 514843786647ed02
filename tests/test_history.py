"""A history over time: what a question as of then is told, through memory, file and prompt."""

import json
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tmem_integrations import AnticipatoryMemory
from tmem_integrations.cli import main
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Scope
from tmem_integrations.models.embeddings import StaticEmbedder
from tmem_integrations.protocols import Reply
from tmem_integrations.stores.chroma import ChromaStore

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
BEFORE, AFTER = START + timedelta(hours=1), START + timedelta(hours=3)
QUESTION = "When do we launch?"


def said(text: str, edited: bool = False, **values: Any) -> Message:
    edited_at = START + timedelta(hours=2) if edited else None
    return Message(
        **{"id": "m", "sent_at": START, "author": "Ann", "channel": "ops", **values},
        text=text, edited_at=edited_at,
    )  # fmt: skip


def edited_memory(**settings: Any) -> TemporalMemory:
    memory = TemporalMemory.from_messages([said("we launch on friday")], **settings)
    memory.update([said("we launch on monday", edited=True)])
    return memory


def test_a_prompt_as_of_then_holds_the_words_of_then() -> None:
    memory = edited_memory(embedder=StaticEmbedder())
    then, later, now = (memory.retrieve(QUESTION, as_of=t).text for t in (BEFORE, AFTER, None))
    assert "> we launch on friday" in then
    assert "monday" not in then
    assert later == now
    assert "> we launch on monday" in now
    assert "friday" not in now


class Judge:
    """Keeps nothing, and every prompt it was asked."""

    name = "judge"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def ask(self, prompts: Sequence[str], **_: Any) -> tuple[Reply, ...]:
        self.prompts += prompts
        return (Reply('{"selected": []}'),) * len(prompts)

    async def aask(self, prompts: Sequence[str], **_: Any) -> tuple[Reply, ...]:
        return self.ask(prompts)


def test_a_model_judges_the_words_of_then_and_is_asked_once() -> None:
    memory, judge = edited_memory(), Judge()
    for _ in range(2):
        memory.retrieve(QUESTION, as_of=BEFORE, llm=judge)
    (prompt,) = judge.prompts
    assert "friday" in prompt
    assert "monday" not in prompt


def test_a_budget_cuts_the_words_of_then() -> None:
    talk = " ".join(f"Then item {n} was talked about at length." for n in range(60))
    memory = TemporalMemory.from_messages([said(f"{talk} We launch on friday.")])
    memory.update([said("We launch on monday.", edited=True)])
    answer = memory.retrieve(QUESTION, as_of=BEFORE, max_tokens=120)
    assert "We launch on friday." in answer.text
    assert answer.n_tokens <= 120


def test_forgetting_reaches_what_was_said_before_an_edit() -> None:
    memory = TemporalMemory.from_messages([said("the salary is five", author="Ann")])
    memory.update([said("never mind", edited=True, author="Ann")])
    assert "five" in memory.retrieve("salary", as_of=BEFORE).text
    memory.forget(authors="Ann")
    assert memory.retrieve("salary", as_of=BEFORE).text == ""


def test_what_was_derived_from_an_edit_is_not_known_before_it() -> None:
    memory = AnticipatoryMemory.from_messages([said("we launch on friday")])
    memory.add([said("we launch on monday", edited=True)])
    assert "monday" in memory.retrieve(QUESTION).text
    assert "monday" not in memory.retrieve(QUESTION, as_of=BEFORE).text
    plain = AnticipatoryMemory.from_messages([said("we launch on friday")])
    plain.add([said("we launch on monday")])
    assert "monday" not in plain.retrieve(QUESTION, as_of=BEFORE).text


def tmem(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(list(map(str, arguments)))
    return capsys.readouterr().out


def test_a_second_import_keeps_what_the_first_one_brought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat, team = tmp_path / "chat.jsonl", tmp_path / "team"
    for message in (said("we launch on friday"), said("we launch on monday", edited=True)):
        chat.write_text(json.dumps(message.to_dict()))
        done = tmem(capsys, "import", chat, "--into", team)
    assert "0 new, 1 changed" in done
    asked = ("ask", QUESTION, "--in", team)
    assert "friday" in tmem(capsys, *asked, "--as-of", BEFORE.isoformat())
    assert "monday" in tmem(capsys, *asked)
    assert tmem(capsys, "check", "--in", team) == ""


def test_event_edit_and_import_time_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat, team = tmp_path / "chat.jsonl", tmp_path / "team"
    begun = datetime.now(UTC)
    for message in (said("we launch on friday"), said("we launch on monday", edited=True)):
        chat.write_text(json.dumps(message.to_dict()))
        tmem(capsys, "import", chat, "--into", team)
    (node,) = json.loads(tmem(capsys, "ask", QUESTION, "--in", team, "--json"))["nodes"]
    assert node["sent_at"] == "2026-03-02T09:00:00+00:00"
    assert node["edited_at"] == "2026-03-02T11:00:00+00:00"
    stored, changed = (datetime.fromisoformat(node[k]) for k in ("stored_at", "changed_at"))
    assert begun < stored < changed


def without_vectors(folder: Path) -> None:
    """A store whose second message lost its vector, as where a program was killed within a deletion."""
    with closing(TemporalMemory(ChromaStore.open(folder), embedder=StaticEmbedder())) as memory:
        memory.add([said("we launch on friday"), said("lunch at noon", id="n"), said("👍", id="o")])
        memory.store.upsert([said("lunch at noon", id="n")], np.zeros((1, 256), np.float32))


def vector_of(folder: Path, name: str) -> np.ndarray[Any, Any]:
    with ChromaStore.open(folder, read_only=True) as store:
        view = store.view(Scope())
        vectors = view.vectors(view.rows_of([name]))
    assert vectors is not None
    return vectors[0]


def test_importing_a_message_again_mends_a_lost_vector(tmp_path: Path) -> None:
    without_vectors(tmp_path / "team")
    assert not vector_of(tmp_path / "team", "n").any()
    with closing(
        TemporalMemory(ChromaStore.open(tmp_path / "team"), embedder=StaticEmbedder())
    ) as m:
        assert m.lost_vectors() == ("n",)
        report = m.add([said("we launch on friday"), said("lunch at noon", id="n")])
        assert (report.updated, report.unchanged) == (1, 1)
        assert m.lost_vectors() == ()
    assert vector_of(tmp_path / "team", "n") @ StaticEmbedder().embed(["lunch at noon"])[0] > 0.99


def test_check_tells_lost_vectors_and_repairs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without_vectors(tmp_path / "team")
    command = ("check", "--in", tmp_path / "team")
    assert tmem(capsys, *command) == "Message 'n' has lost its vector; --repair makes it anew.\n"
    assert json.loads(tmem(capsys, *command, "--repair", "--json")) == {
        "messages": 3, "problems": [], "mended": 1,
    }  # fmt: skip
    assert vector_of(tmp_path / "team", "n").any()
    assert tmem(capsys, *command) == ""


def test_mending_a_vector_leaves_the_past_and_the_times_of_import_alone(tmp_path: Path) -> None:
    memory = edited_memory(embedder=StaticEmbedder())
    memory.store.upsert([said("we launch on monday", edited=True)], np.zeros((1, 256), np.float32))
    before = memory.store.import_times(["m"])
    assert memory.mend_vectors() == 1
    assert memory.store.import_times(["m"]) == before
    assert "friday" in memory.retrieve(QUESTION, as_of=BEFORE).text
