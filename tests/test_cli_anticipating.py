"""`tmem import --anticipate`: what is filed in a folder is used by every question, and goes with its messages."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations import AnticipatoryRetriever
from tmem_integrations.cli import main
from tmem_integrations.stores.derived import SqliteRows

QUESTION = "holidays"  # no message of the demo has this word
Tmem = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tmem(capsys: pytest.CaptureFixture[str]) -> Tmem:
    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, arguments)))
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


@pytest.fixture
def demo(tmem: Tmem, tmp_path: Path) -> Path:
    assert tmem("demo", "--save", tmp_path / "demo.jsonl")[0] == 0
    return tmp_path / "demo.jsonl"


def asked(tmem: Tmem, folder: Path) -> list[str]:
    found: dict[str, Any] = json.loads(tmem("ask", QUESTION, "--in", folder, "--json")[1])
    return list(found["message_ids"])


def test_questions_reach_what_shares_no_word_with_them(
    tmem: Tmem, demo: Path, tmp_path: Path
) -> None:
    team = tmp_path / "team"
    assert tmem("import", demo, "--into", team)[0] == 0
    assert (tmem("ask", QUESTION, "--in", team)[0], asked(tmem, team)) == (1, [])
    # What is there already is filed, though nothing of it is new.
    code, out, _ = tmem("import", demo, "--into", team, "--anticipate")
    assert (code, "0 new" in out) == (0, True)
    assert "scenes filed, by rules, under what they may matter to" in out
    assert asked(tmem, team)
    shown = tmem("ask", QUESTION, "--in", team, "--max-messages", 4)[1]
    assert "I take Saturday 14 and Sunday 15 March" in shown
    assert tmem("show", QUESTION, "--in", team)[0] == 0


def test_it_is_what_the_retriever_reaches_from_python(
    tmem: Tmem, demo: Path, tmp_path: Path
) -> None:
    told = json.loads(tmem("import", demo, "--into", tmp_path / "cli", "--anticipate", "--json")[1])
    with_rules = AnticipatoryRetriever.open(tmp_path / "cli", read_only=True)
    assert told["scenes"] == with_rules.memory.stats()["scenes"] > 0
    with_rules.close()
    history = [json.loads(line) for line in demo.read_text().splitlines()]
    AnticipatoryRetriever.from_messages(history, store=tmp_path / "python").close()
    assert asked(tmem, tmp_path / "python") == asked(tmem, tmp_path / "cli") != []


def test_a_reader_makes_no_vectors_of_what_is_filed(
    tmem: Tmem, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = tmp_path / "team"
    tmem("import", demo, "--into", team, "--anticipate")
    from tmem_integrations.models.embeddings import StaticEmbedder

    embedded: list[str] = []
    embed = StaticEmbedder.embed

    def spy(embedder: StaticEmbedder, texts: Any) -> Any:
        embedded.extend(texts)
        return embed(embedder, texts)

    monkeypatch.setattr(StaticEmbedder, "embed", spy)
    assert asked(tmem, team)
    assert set(embedded) == {QUESTION}


def test_a_question_with_words_enough_does_not_read_what_is_filed(
    tmem: Tmem, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team, plain = tmp_path / "team", tmp_path / "plain"
    tmem("import", demo, "--into", team, "--anticipate")
    tmem("import", demo, "--into", plain)
    read: list[object] = []
    monkeypatch.setattr(SqliteRows, "rows", lambda rows: read.append(rows) or [])
    asked_words = ("ask", "When do we launch?", "--in")
    assert tmem(*asked_words, team)[1] == tmem(*asked_words, plain)[1]
    assert read == []
    assert tmem("ask", QUESTION, "--in", team)[0] == 1
    assert len(read) == 1


def test_a_later_import_without_it_says_what_is_not_filed(
    tmem: Tmem, demo: Path, tmp_path: Path
) -> None:
    team, lines = tmp_path / "team", demo.read_text().splitlines(keepends=True)
    first = tmp_path / "first.jsonl"
    first.write_text("".join(lines[:200]))
    assert "--anticipate files" not in tmem("import", first, "--into", team)[2]
    tmem("import", first, "--into", team, "--anticipate")
    assert "--anticipate files these, too" in tmem("import", demo, "--into", team)[2]
    assert "--anticipate files" not in tmem("import", demo, "--into", team)[2]  # nothing is new
    tmem("import", demo, "--into", team, "--anticipate")
    assert AnticipatoryRetriever.open(team).memory.stats()["messages"] == len(lines)


def test_what_is_forgotten_or_edited_goes_and_the_folder_stays_whole(
    tmem: Tmem, tmp_path: Path
) -> None:
    said = [
        {"id": f"m{i}", "text": text, "timestamp": f"2026-03-02T09:0{i}:00Z", "channel": "ops"}
        for i, text in enumerate(("Mira broke the amphora", "The zeppelin is late", "fine"))
    ]
    chat, team = tmp_path / "chat.jsonl", tmp_path / "team"
    chat.write_text("".join(json.dumps(one) + "\n" for one in said))
    tmem("import", chat, "--into", team, "--anticipate")
    assert tmem("forget", "--in", team, "--id", "m0", "--yes")[0] == 0
    assert tmem("check", "--in", team)[0] == 0
    said[1]["text"] = "The airship is late"
    chat.write_text("".join(json.dumps(one) + "\n" for one in said[1:]))
    assert tmem("import", chat, "--into", team, "--anticipate")[0] == 0
    assert tmem("check", "--in", team)[0] == 0
    derived = (team / "anticipation.sqlite3").read_bytes()
    assert b"amphora" not in derived
    assert b"zeppelin" not in derived
    assert b"airship" in derived


def test_who_may_not_read_a_channel_reaches_nothing_of_it(
    tmem: Tmem, demo: Path, tmp_path: Path
) -> None:
    team, members = tmp_path / "team", tmp_path / "members.json"
    tmem("import", demo, "--into", team, "--anticipate")
    found = asked(tmem, team)
    history = [json.loads(line) for line in demo.read_text().splitlines()]
    shown = {one["channel"] for one in history if one["id"] in found}
    assert shown
    members.write_text(json.dumps({channel: ["Ann"] for channel in shown} | {"empty": "*"}))
    code, out, _ = tmem("ask", QUESTION, "--in", team, "--members", members, "--as", "Bo")
    assert (code, out) == (1, "")


def test_a_dry_run_files_nothing(tmem: Tmem, demo: Path, tmp_path: Path) -> None:
    code, out, _ = tmem("import", demo, "--into", tmp_path / "team", "--anticipate", "--dry-run")
    assert (code, "filed" in out, (tmp_path / "team").exists()) == (0, False, False)
