"""Our own form of a data set: what is read, what is refused."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sample_chat import CHAT, QUESTIONS

from tmem_integrations.errors import ImportFormatError, InputError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl, write_jsonl
from tmem_integrations.evaluation.questions import Gold


def test_question_and_gold_are_read_apart(folder):
    dataset = read_jsonl(folder)
    question = dataset.questions[0]
    assert question.text == "When is the release?"
    assert not hasattr(question, "answer")
    assert dataset.gold["q1"].evidence == (frozenset({"r1"}), frozenset({"r2"}))


def test_times_without_zone_are_in_the_zone_given(folder):
    dataset = read_jsonl(folder, timezone="Europe/Berlin")
    assert dataset.messages[0].sent_at == datetime(2026, 3, 2, 8, tzinfo=UTC)


def test_a_question_searches_its_channel_only(folder):
    found = {h.questions[0].id: [m.id for m in h.messages] for h in read_jsonl(folder).histories()}
    assert found == {"q1": ["r1", "r2", "r3"], "q2": ["l1", "l2"]}


def test_a_question_without_channel_searches_everything(write):
    write("a/messages.jsonl", CHAT)
    folder = write("a/questions.jsonl", [{"id": "q", "question": "?"}]).parent
    (history,) = read_jsonl(folder).histories()
    assert len(history.messages) == len(CHAT)


def test_a_message_with_gold_is_refused(write):
    write("a/questions.jsonl", QUESTIONS)
    folder = write("a/messages.jsonl", [CHAT[0] | {"is_decision_point": True}]).parent
    with pytest.raises(ImportFormatError, match=r"messages.jsonl, line 1: .*is_decision_point"):
        read_jsonl(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"evidence": ["r9"]}, "evidence 'r9' is no message"),
        ({"evidence": ["l1"]}, "evidence 'l1' is in another channel"),
        ({"channel": "board", "evidence": []}, "'board', which has no message"),
        ({"as_of": "2026-03-02T09:30:00"}, "evidence 'r2' was sent after the question's as_of"),
    ],
)
def test_a_question_whose_gold_cannot_be_found_is_refused(write, change, problem):
    write("a/messages.jsonl", CHAT)
    folder = write("a/questions.jsonl", [QUESTIONS[0] | change]).parent
    with pytest.raises(InputError, match=problem):
        read_jsonl(folder)


def test_a_repeated_message_id_is_refused(write):
    write("a/questions.jsonl", QUESTIONS)
    folder = write("a/messages.jsonl", [*CHAT, CHAT[0]]).parent
    with pytest.raises(InputError, match="Message id 'r1' occurs 2 times"):
        read_jsonl(folder)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"id": "q"}, "line 1: expected 'question' as text, found None"),
        ({"id": "q", "question": "?", "evidence": "r1"}, "'evidence' as list of texts"),
        ({"id": "q", "question": "?", "must_include": ["("]}, "must_include needs regular"),
        ({"id": "q", "question": "?", "as_of": "soon"}, "as_of must be ISO 8601"),
    ],
)
def test_a_bad_question_is_told_with_its_line(write, record, problem):
    write("a/messages.jsonl", CHAT)
    folder = write("a/questions.jsonl", [record]).parent
    with pytest.raises(ImportFormatError, match=problem):
        read_jsonl(folder)


def test_a_line_that_is_no_object_is_told_with_its_line(folder):
    with (folder / "questions.jsonl").open("a") as file:
        file.write("\n[1]\n")
    with pytest.raises(ImportFormatError, match=r"line 4: expected a JSON object, found '\[1\]'"):
        read_jsonl(folder)


def test_options_are_read_by_letter(write):
    write("a/messages.jsonl", CHAT)
    record = {"id": "q", "question": "?", "options": {"a": "Monday"}, "answer": "A"}
    folder = write("a/questions.jsonl", [record]).parent
    assert read_jsonl(folder).questions[0].options == {"A": "Monday"}


def test_what_is_written_is_read_back(folder, tmp_path):
    dataset = read_jsonl(folder)
    write_jsonl(dataset, tmp_path / "copy" / "chat")
    assert read_jsonl(tmp_path / "copy" / "chat") == dataset


def test_evidence_with_alternatives_cannot_be_written(folder, tmp_path):
    dataset = read_jsonl(folder)
    gold = {**dataset.gold, "q1": Gold(evidence=(frozenset({"r1", "r2"}),))}
    with pytest.raises(InputError, match="'q1' has evidence with alternatives"):
        write_jsonl(replace(dataset, gold=gold), tmp_path / "copy")
