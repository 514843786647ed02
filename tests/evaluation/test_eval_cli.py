"""`tmem eval` from the shell."""

import json
from importlib.util import find_spec

import pytest
from langchain_core.language_models import FakeListChatModel
from sample_chat import CHAT, QUESTIONS

from tmem_integrations.cli import main


@pytest.fixture
def tmem(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return run


def test_recall_prints_a_row_for_each_method_and_bound(tmem, folder):
    code, out, _ = tmem("eval", "recall", folder, "--method", "recent", "--at", "1,2")
    assert code == 0
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in out.splitlines()]
    assert rows[0] == ["method", "N", "recall"]
    assert rows[2:] == [["recent", "1", ".500"], ["recent", "2", ".750"]]


def test_recall_prints_json_for_programs(tmem, folder):
    code, out, _ = tmem(
        "eval", "recall", folder, "--method", "recent", "--at", "2", "--ranking", "--json"
    )
    (cell,) = json.loads(out)["recall"]
    assert (code, cell["macro"], cell["ranking"]["RR"]) == (0, 0.75, 0.75)


def test_without_a_choice_the_forest_stands_beside_bm25(tmem, folder):
    _, out, _ = tmem("eval", "recall", folder, "--at", "2", "--json")
    assert [c["method"] for c in json.loads(out)["recall"]] == ["bm25+metadata", "forest"]


@pytest.mark.parametrize("at", ["", "0", "many", "12,-1"])
def test_a_bad_bound_is_one_sentence(tmem, folder, at):
    code, _, err = tmem("eval", "recall", folder, "--at", at)
    assert code == 2
    assert "--at must be numbers of messages" in err


@pytest.mark.skipif(find_spec("mem0") is not None, reason="mem0 is installed")
def test_a_peer_that_is_absent_is_passed_over_in_one_sentence(tmem, folder):
    code, out, err = tmem(
        "eval", "recall", folder, "--method", "mem0", "--method", "recent", "--at", "2"
    )
    assert (code, out.count("| recent"), out.count("mem0")) == (0, 1, 0)
    assert "Passed over: The method mem0 needs mem0ai" in err
    assert tmem("eval", "recall", folder, "--method", "mem0")[0] == 2


def test_a_bad_method_is_one_sentence(tmem, folder):
    code, _, err = tmem("eval", "recall", folder, "--method", "forrest")
    assert (code, err) == (2, "tmem: Unknown method 'forrest'; did you mean 'forest'?\n")


@pytest.fixture
def gold_folder(write):
    evidence = {
        "question_id": "q1", "question": "When is the release?", "channel": "release",
        "groups": [{"asked": "date", "key": "r2", "stale": ["r1"]}],
    }  # fmt: skip
    pair = {
        "id": "p", "source": "chat", "label": "UPDATE",
        "earlier": CHAT[0], "later": CHAT[1],
    }  # fmt: skip
    write("data/chat/messages.jsonl", CHAT)
    write("data/chat/questions.jsonl", QUESTIONS)
    write("data/gold/relations.jsonl", [pair])
    return write("data/gold/evidence.jsonl", [evidence]).parent.parent


def test_gate_prints_how_many_candidates_hold_the_key(tmem, gold_folder):
    code, out, _ = tmem(
        "eval", "gate", gold_folder, "--messages", "chat", "--method", "recent", "--json"
    )
    first = json.loads(out)["gate"][0]
    assert (code, first["candidates_for_95"], first["shown"]["recall"]) == (0, 2, 1.0)


def test_gate_prints_a_table(tmem, gold_folder):
    _, out, _ = tmem("eval", "gate", gold_folder, "--messages", "chat", "--method", "recent")
    assert out.startswith("| method")
    assert "| recent" in out


def test_relations_stand_beside_always_expand(tmem, gold_folder):
    code, out, _ = tmem("eval", "relations", gold_folder, "--json")
    found = json.loads(out)["relations"]
    assert code == 0
    assert [report["linker"] for report in found] == ["always EXPAND", "package"]
    assert found[0]["accuracy"] == 0.0


def test_relations_print_a_table(tmem, gold_folder):
    assert "| always EXPAND" in tmem("eval", "relations", gold_folder)[1]


def test_a_model_without_key_is_one_sentence(tmem, gold_folder, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, _, err = tmem("eval", "relations", gold_folder, "--model", "openai:some-model")
    assert code == 2
    assert "needs the key in OPENAI_API_KEY" in err


def model():
    """A chat model of LangChain that always answers the same."""
    return FakeListChatModel(responses=["Monday. Final: Correct"])


def test_a_run_answers_judges_and_goes_on(tmem, folder, tmp_path):
    arguments = ("eval", "run", folder, "--into", tmp_path / "run", "--method", "recent",
                 "--model", "python:test_eval_cli:model", "--json")  # fmt: skip
    code, out, _ = tmem(*arguments)
    assert (code, json.loads(out)["stages"]["judge"]["finished"]) == (0, 2)
    judged = (tmp_path / "run" / "judge.jsonl").read_text().splitlines()
    # q2 has no reference answer, so neither pattern nor model can judge it.
    assert {r["key"]: r["correct"] for r in map(json.loads, judged)} == {"q1": True, "q2": None}
    code, out, _ = tmem(*arguments)
    assert {s["done_now"] for s in json.loads(out)["stages"].values()} == {0}


def test_a_sound_run_passes_the_check(tmem, folder, tmp_path):
    tmem("eval", "run", folder, "--into", tmp_path / "run", "--method", "recent")
    code, out, err = tmem("eval", "check", tmp_path / "run", folder)
    assert (code, out) == (0, "")
    assert "whole and sound" in err


def test_an_unfinished_run_fails_the_check(tmem, folder, tmp_path):
    tmem("eval", "run", folder, "--into", tmp_path / "run", "--method", "recent")
    (tmp_path / "run" / "compress.jsonl").unlink()
    code, out, _ = tmem("eval", "check", tmp_path / "run", folder)
    assert code == 1
    assert "2 questions are not finished" in out


def test_episodes_fit_each_pace_and_write_a_plot(tmem, folder, tmp_path):
    code, out, _ = tmem("eval", "episodes", folder, "--plot", tmp_path / "e.svg", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["live"]["density_per_hour"] == 6.0
    assert (tmp_path / "e.svg").read_text().startswith("<svg")


def test_episodes_need_evidence(tmem, write):
    write("a/messages.jsonl", CHAT)
    folder = write("a/questions.jsonl", [{"id": "q", "question": "?", "answer": "x"}]).parent
    code, _, err = tmem("eval", "episodes", folder)
    assert code == 1
    assert "Rates need questions with known evidence" in err


def linker():
    """A chat model that sees an update everywhere."""
    link = {"child": "m2", "parent": "m1", "relation": "UPDATE", "confidence": 1, "relevance": 1}
    return FakeListChatModel(responses=[json.dumps({"links": [link]})])


def test_relations_are_judged_by_a_model_too(tmem, gold_folder):
    model = "python:test_eval_cli:linker"
    _, out, _ = tmem("eval", "relations", gold_folder, "--model", model, "--json")
    assert json.loads(out)["relations"][-1]["accuracy"] == 1.0


def test_episodes_print_a_row_for_each_pace(tmem, folder):
    code, out, err = tmem("eval", "episodes", folder)
    assert code == 0
    assert {line.split("|")[1].strip() for line in out.splitlines()[2:]} >= {"live", "meeting"}
    assert "Pauses between evidence" in err


def test_a_report_prints_tables_and_writes_a_page(tmem, folder, tmp_path):
    tmem("eval", "run", folder, "--into", tmp_path / "run", "--method", "recent")
    code, out, _ = tmem("eval", "report", folder, tmp_path / "run", "--html", tmp_path / "r.html")
    assert (code, out.splitlines()[0]) == (0, "# chat: 2 questions, 5 messages")
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    told = json.loads(tmem("eval", "report", folder, tmp_path / "run", "--json")[1])
    assert (told["runs"][0]["macro"], told["differences"]) == (1.0, [])


def test_a_noisy_chat_tells_who_is_misled(tmem, folder, tmp_path):
    code, _, err = tmem("eval", "noise", folder, "--into", tmp_path / "noisy")
    assert code == 0
    assert "2 chains near the evidence of 2 questions" in err
    _, out, _ = tmem("eval", "recall", tmp_path / "noisy", "--method", "bm25", "--at", "1,9")
    assert "misled" in out.splitlines()[0]


def test_a_recipe_is_run_by_name(tmem, folder, tmp_path):
    code, out, _ = tmem(
        "eval", "recipe", "tef-e2", "--data", folder, "--into", tmp_path / "out", "--at", "2"
    )
    assert code == 0
    assert out == (tmp_path / "out" / "table.md").read_text()
    assert "| global" in out


def test_a_recipe_of_runs_takes_the_first_questions(tmem, folder, tmp_path):
    code, out, _ = tmem(
        "eval",
        "recipe",
        "tef-exp3",
        "--data",
        folder,
        "--into",
        tmp_path / "out",
        "--questions",
        "1",
    )
    assert code == 0
    assert "| truncated" in out
    assert len((tmp_path / "out" / "flat" / "compress.jsonl").read_text().splitlines()) == 1


def test_parents_are_checked_against_human_links(tmem, write):
    write("a/messages.jsonl", [CHAT[0], CHAT[1] | {"reply_to": "r1"}, *CHAT[2:]])
    folder = write("a/questions.jsonl", QUESTIONS).parent
    code, out, _ = tmem("eval", "parents", folder, "--json")
    assert (code, json.loads(out)["parents"][0]["linked_by_people"]) == (0, 1)
    assert tmem("eval", "parents", folder)[1].startswith("| method")
