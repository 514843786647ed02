"""`tmem ask --model`: a model on a server of our own gates, links and answers."""

import json
import re
from pathlib import Path

import pytest
from support.judging import label_of
from support.openai_server import OpenAIServer, answers, fails

from tmem_integrations.cli import main

QUESTION = "When do we ship?"
LINK = "https://chat.example/m2"
FRIDAY, MONDAY = "we ship on Friday", "no, we ship on Monday"
HISTORY = [
    {"id": "m1", "text": FRIDAY, "timestamp": "2026-03-02T09:00:00Z", "author": "Ann"},
    {"id": "m2", "text": MONDAY, "timestamp": "2026-03-02T09:05:00Z", "author": "Bo", "permalink": LINK},
    {"id": "m3", "text": "ship noises", "timestamp": "2026-03-02T09:06:00Z", "author": "Bo"},
]  # fmt: skip


def respond(call):
    """Gate, linker and answer, told apart by their prompts."""
    prompt = call.prompt
    if prompt.startswith("Answer a question"):
        return "<think>[1]?</think>On Monday [2], not on Friday any more [1]."
    if "Children and their eligible parents" in prompt:
        child, parent = label_of(prompt, MONDAY), label_of(prompt, FRIDAY)
        own = {"child": child, "parent": parent, "relation": "UPDATE", "confidence": 1}
        rest = re.findall(r"^(m\d+): ", prompt, re.MULTILINE)
        links = [own] + [
            {"child": c, "parent": None, "relation": "NONE"} for c in rest if c != child
        ]
        return json.dumps({"links": links})
    picked = [label_of(prompt, text) for text in (FRIDAY, MONDAY)]
    return json.dumps({"selected": [{"id": c, "label": "KEY", "reason": "date"} for c in picked]})


@pytest.fixture
def server():
    with OpenAIServer(answers(respond)) as running:
        yield running


@pytest.fixture
def chat(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in HISTORY))
    return path


@pytest.fixture
def ask(capsys, chat):
    """Exit code, stdout and stderr of `tmem ask`."""

    def run(*arguments, source=None):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["ask", QUESTION, "--in", str(source or chat), *map(str, arguments)])
        return ended.value.code or 0, *capsys.readouterr()

    return run


def model(server):
    return ("--model", "openai:any", "--base-url", server.base_url)


def test_the_model_judges_what_is_shown_and_the_cost_is_told(ask, server):
    code, out, err = ask(*model(server))
    assert code == 0
    assert re.search(r"\[2\] KEY updates \[1\] .* Bo", out)
    assert f"2 calls of the model, {sum(_tokens(call) for call in server.calls):,} tokens." in err


def _tokens(call):
    """As the server counts: four characters a token."""
    return len(call.prompt) // 4 + len(respond(call)) // 4


def test_with_answer_it_answers_and_each_citation_is_a_message(ask, server):
    code, out, _ = ask(*model(server), "--answer")
    assert code == 0
    assert out.splitlines() == [
        "On Monday [2], not on Friday any more [1].",
        "",
        f"[2] m2 2026-03-02 Bo {LINK}",
        "[1] m1 2026-03-02 Ann",
    ]


def test_the_answer_is_asked_from_the_forest_as_it_is_shown(ask, server):
    _, shown, _ = ask(*model(server))
    ask(*model(server), "--answer")
    assert shown.strip() in server.calls[-1].prompt


def test_in_json_citations_are_ids_and_permalinks(ask, server):
    _, out, _ = ask(*model(server), "--answer", "--json")
    printed = json.loads(out)
    assert printed["answer"].startswith("On Monday")
    assert printed["citations"] == [
        {"number": 2, "message_id": "m2", "permalink": LINK},
        {"number": 1, "message_id": "m1", "permalink": None},
    ]
    assert printed["llm_calls"] == 2


def test_a_citation_of_no_message_is_told(ask):
    def invent(call):
        return "On Monday [9]." if call.prompt.startswith("Answer") else respond(call)

    with OpenAIServer(answers(invent)) as server:
        _, out, err = ask(*model(server), "--answer")
    assert out == "On Monday [9].\n"
    assert "The answer cites messages that were not shown: [9]." in err


def test_an_answer_that_fails_in_passing_is_asked_for_again(ask, server):
    ask(*model(server))
    server.script(answers(respond), answers(respond), fails(503, retry_after=0.01))
    assert ask(*model(server), "--answer")[0] == 0
    assert server.calls[-1].prompt == server.calls[-2].prompt


def test_without_an_answer_the_error_is_one_line(ask):
    def silent(call):
        refuse = fails(400, message="secret")
        return refuse(call) if call.prompt.startswith("Answer") else answers(respond)(call)

    with OpenAIServer(silent) as server:
        code, out, err = ask(*model(server), "--answer")
    assert (code, out) == (2, "")
    assert "any did not answer:" in err
    assert "secret" not in err


def test_a_model_that_fails_leaves_the_rules_and_it_is_told(ask):
    with OpenAIServer(fails(401)) as server:
        code, out, err = ask(*model(server))
    assert code == 0
    assert FRIDAY in out
    assert "judged by rule" in err


def test_nothing_found_is_not_asked_about(ask, server, tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps(HISTORY[0] | {"text": "lunch"}) + "\n")
    assert ask(*model(server), "--answer", source=path)[0] == 1
    assert server.calls == []


def test_an_answer_needs_a_model(ask):
    code, _, err = ask("--answer")
    assert code == 2
    assert "--answer needs --model" in err


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(
    ask, chat, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-mine")
    folder = tmp_path / "team"
    with pytest.raises(SystemExit):
        main(["import", str(chat), "--into", str(folder)])
    with OpenAIServer(answers(respond)) as server:
        _, out, err = ask(*model(server), "--json", source=folder)
        assert {call.authorization for call in server.calls} == {"Bearer sk-of-mine"}
    assert "sk-of-mine" not in out + err
    assert not [p for p in folder.rglob("*") if p.is_file() and b"sk-of-mine" in p.read_bytes()]


def test_without_a_key_openai_itself_is_not_asked(ask, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    code, _, err = ask("--model", "openai:any")
    assert code == 2
    assert "OPENAI_API_KEY" in err


@pytest.fixture
def team(chat, tmp_path):
    with pytest.raises(SystemExit):
        main(["import", str(chat), "--into", str(tmp_path / "team")])
    return tmp_path / "team"


def test_of_a_folder_the_same_question_is_asked_once(ask, server, team):
    first = ask(*model(server), source=team)
    n_calls = len(server.calls)
    again = ask(*model(server), source=team)
    assert again[1] == first[1]
    assert len(server.calls) == n_calls


def test_what_is_forgotten_is_forgotten_in_the_verdicts_too(ask, server, team):
    ask(*model(server), source=team)
    verdicts: Path = team / "verdicts.sqlite"
    assert b"date" in verdicts.read_bytes()
    with pytest.raises(SystemExit):
        main(["forget", "--in", str(team), "--author", "Bo", "--yes"])
    assert b"date" not in verdicts.read_bytes()
