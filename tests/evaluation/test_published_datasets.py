"""Data sets in their published forms, on small files of our own writing."""

import json
import pkgutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation import datasets
from tmem_integrations.evaluation.datasets import FORMS, load_dataset
from tmem_integrations.evaluation.datasets.locomo_plus import gap_of

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_2_date_time": "9:05 am on 3 June, 2023",
            "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "I adopted a cat."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red bike"},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice bike."},
            ],
        },
        "qa": [
            {
                "question": "What did Ann adopt?",
                "answer": "a cat",
                "evidence": ["D2:01"],
                "category": 4,
            },
            {
                "question": "Two?",
                "answer": 2,
                "evidence": ["D1:1; D:2:1", "D", "D9:9"],
                "category": 1,
            },
            {"question": "Whose dog?", "adversarial_answer": "Bo's", "evidence": [], "category": 5},
            {"question": " ", "category": 1},
        ],
    }
]
CUES = [
    {
        "relation_type": "causal",
        "cue_dialogue": "A: I sold my scooter.\\nB: Wise.",
        "trigger_query": "A: I walk everywhere now.",
        "time_gap": "about two weeks later",
    },
    {"relation_type": "causal", "cue_dialogue": "?", "trigger_query": "A: x", "time_gap": "later"},
]
MEETING = {
    "topic_list": [{"topic": "Remote control", "relevant_text_span": [["0", "1"]]}],
    "specific_query_list": [
        {
            "query": "Which colour?",
            "answer": "Red.",
            "relevant_text_span": [["1", "2"], ["9", "12"]],
        }
    ],
    "general_query_list": [{"query": "Summarize.", "answer": "A remote."}],
    "meeting_transcripts": [
        {"speaker": "PM", "content": "Let us design a remote."},
        {"speaker": "UI", "content": "Red, please."},
        {"speaker": "PM", "content": "Red it is."},
    ],
}
EPISODE = {
    "episode_id": "office_1",
    "entities": {"principals": [{"principal_id": "pm", "role": "lead", "display_name": "Ann"}]},
    "turns": [
        {"turn_id": "t1", "timestamp": "2026-05-12T07:30", "text": "Budget is 5 (USD).",
         "speaker": {"principal_id": "pm", "role": "lead"}},
        {"turn_id": "t2", "timestamp": "2026-05-12T07:40", "text": "Budget is 7 (USD).",
         "speaker": {"principal_id": "pm", "role": "lead"}},
    ],
}  # fmt: skip
CHECKPOINT = {
    "checkpoint_id": "c1", "episode_id": "office_1", "as_of_turn_id": "t1",
    "asker": {"principal_id": "pm", "role": "lead"}, "query_type": "utility",
    "query_text": "What is the budget?", "expected_action": "answer",
    "judge_spec": {"include": ["5 (USD)"], "not_include": ["7"]}, "leak_targets": ["9."],
}  # fmt: skip
DOMAIN = {
    "launch": [
        {"msg_node": 1, "content": "Friday &amp; no later", "author": "Ann", "role": "lead",
         "timestamp": "2026-01-05T09:00:00", "phase_name": "plan", "topic": "date",
         "reply_to": None, "is_noise": False, "is_decision_point": True},
        {"msg_node": 2, "content": "ok", "author": "Bo", "role": "dev",
         "timestamp": "2026-01-05T09:01:00", "phase_name": "plan", "topic": "date",
         "reply_to": 1, "is_noise": True, "is_decision_point": False},
        {"msg_node": 3, "content": "moved", "author": "Bo", "role": "dev",
         "timestamp": "2026-01-05T09:02:00", "phase_name": "plan", "topic": "date", "reply_to": 77},
    ]
}  # fmt: skip
DAYS = {
    "dialogues": {
        "2025-02-01": {
            "Group 1": [
                {
                    "speaker": "Li",
                    "time": "2025-02-01 09:00:00",
                    "dialogue": "Hi",
                    "message_index": 1,
                },
                {"speaker": "Wu", "time": "9:05", "dialogue": "Plan B", "message_index": 2},
            ],
            "Group 2": None,
        }
    }
}
EVER_QUESTIONS = [
    {
        "id": "q1",
        "Q": "Which plan?",
        "A": "B",
        "options": {"A": "Plan A", "B": "Plan B"},
        "R": [{"date": "2025-02-01", "group": "Group 1", "message_index": "2-3"}],
    }
]
LOG = """\
[23:58] <ann> how do I mount a disk?
=== bo has joined #ubuntu
[23:59] <bo> which kind?
[00:01] <ann> usb
[00:01] <cy> what is for lunch?
[00:02] <bo> it mounts itself
[00:03] <ann> it does not
[00:04] * bo shrugs
"""
LINKS = "0 0 -\n0 2 -\n2 3 -\n4 4 -\n3 5 -\n5 6 -\n6 7 -\n1 6 -\n"


def write_form(form: str, folder: Path) -> Path:
    """A small data set in a published form; returns what `load_dataset` is given."""
    folder.mkdir()

    def dump(name: str, value: Any) -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value))
        return path

    match form:
        case "jsonl":
            message = {"id": "m", "text": "hi", "timestamp": "2026-01-01T00:00:00"}
            dump("messages.jsonl", message)
            dump("questions.jsonl", {"id": "q", "question": "?", "evidence": ["m"]})
        case "locomo":
            return dump("locomo10.json", LOCOMO)
        case "locomo_plus":
            dump("locomo10.json", LOCOMO)
            return dump("locomo_plus.json", CUES)
        case "qmsum":
            dump("Bmr001.json", MEETING)
        case "gatemem":
            dump("episodes.jsonl", EPISODE)
            dump("checkpoints.jsonl", CHECKPOINT)
        case "groupmembench":
            dump("finance.json", DOMAIN)
            dump("questions/temporal.jsonl",
                 {"id": 4, "question": "When?", "answer": "Friday", "asking_user_id": "Bo"})  # fmt: skip
        case "evermembench":
            dump("profiles.json", [{"name": "Li", "title": "engineer"}])
            dump("01/dialogue.json", DAYS)
            dump("01/qa_memory.json", EVER_QUESTIONS)
        case "irc":
            (folder / "2004-11-15_03.ascii.txt").write_text(LOG)
            (folder / "2004-11-15_03.annotation.txt").write_text(LINKS)
        case _:
            raise AssertionError(form)
    return folder


@pytest.fixture
def load(tmp_path):
    return lambda form: load_dataset(write_form(form, tmp_path / "set"))


def evidence(dataset, question_id):
    return [sorted(unit) for unit in dataset.gold[question_id].evidence]


def test_every_loader_is_a_form():
    modules = {m.name for m in pkgutil.iter_modules(datasets.__path__)} - {"builder"}
    assert modules == set(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_the_form_is_told_from_the_files(load, form):
    dataset = load(form)
    assert dataset.messages
    assert dataset.questions
    assert dataset.gold.keys() == {q.id for q in dataset.questions}


def test_what_is_in_no_form_is_refused(tmp_path):
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(ImportFormatError, match="in one of the forms jsonl, gatemem"):
        load_dataset(tmp_path)


def test_locomo_sessions_come_in_order_with_half_minutes_between_turns(load):
    messages = load("locomo").messages
    assert [m.id for m in messages] == ["conv-1/D1:1", "conv-1/D1:2", "conv-1/D2:1"]
    assert messages[1].sent_at == datetime(2023, 5, 8, 13, 56, 30, tzinfo=UTC)
    assert messages[0].text == "Look! [picture: a red bike]"


def test_locomo_evidence_is_read_however_it_is_written(load):
    dataset = load("locomo")
    assert evidence(dataset, "conv-1/q0") == [["conv-1/D2:1"]]
    assert evidence(dataset, "conv-1/q1") == [["conv-1/D1:1"], ["conv-1/D2:1"]]
    assert dataset.skipped == {"evidence that names no turn": 2, "question without text": 1}


def test_a_locomo_lure_is_no_answer(load):
    gold = load("locomo").gold["conv-1/q2"]
    assert (gold.answer, gold.expected_action) == (None, "abstain")


def test_a_cue_lies_its_gap_before_the_question(load):
    dataset = load("locomo_plus")
    (question,) = dataset.questions
    cue = next(m for m in dataset.messages if m.id == "conv-1+0/cue0")
    # The last session is on 3 June, the question a week later, the cue two weeks before it.
    assert question.as_of == datetime(2023, 6, 10, 9, 5, tzinfo=UTC)
    assert question.as_of - cue.sent_at == timedelta(days=14)
    assert (question.text, question.asking_user) == ("I walk everywhere now.", "Ann")
    assert dataset.skipped == {"cue without turns or time gap": 1}


@pytest.mark.parametrize(
    ("text", "days"), [("a year later", 365), ("12 days later", 12), ("around six months on", 180)]
)
def test_gaps_are_read(text, days):
    assert gap_of(text) == timedelta(days=days)


def test_qmsum_spans_hold_both_ends(load):
    dataset = load("qmsum")
    assert evidence(dataset, "Bmr001/s0") == [["Bmr001/1"], ["Bmr001/2"]]
    assert evidence(dataset, "Bmr001/g0") == []
    assert [m.topic for m in dataset.messages] == ["Remote control", "Remote control", None]
    assert dataset.skipped == {"span beyond the meeting": 1}


def test_qmsum_reads_a_meeting_per_line(tmp_path):
    path = tmp_path / "val.jsonl"
    path.write_text(json.dumps(MEETING) + "\n" + json.dumps(MEETING) + "\n")
    assert {m.channel for m in load_dataset(path).messages} == {"val0", "val1"}


def test_gatemem_values_are_taken_as_they_are_written(load):
    gold = load("gatemem").gold["c1"]
    assert gold.must_include == (r"5\ \(USD\)",)
    assert gold.leak_targets == (r"9\.",)


def test_a_gatemem_checkpoint_knows_what_was_said_until_its_turn(load):
    (question,) = load("gatemem").questions
    assert question.as_of == datetime(2026, 5, 12, 7, 30, tzinfo=UTC)
    assert question.asking_user == "pm"


def test_groupmembench_entities_are_decoded_and_marks_stay_out(load):
    dataset = load("groupmembench")
    first, second, third = dataset.messages
    assert (first.text, first.phase, first.topic) == ("Friday & no later", "plan", "date")
    assert (second.reply_to, third.reply_to) == ("launch/1", None)
    assert dataset.skipped == {"reply to no message of its channel": 1}
    assert "decision" not in repr(dataset.messages)


def test_groupmembench_questions_have_the_type_of_their_file(load):
    (question,) = load("groupmembench").questions
    assert (question.kind, question.asking_user, question.channel) == ("temporal", "Bo", None)


def test_evermembench_references_and_roles_are_joined(load):
    dataset = load("evermembench")
    assert [m.role for m in dataset.messages] == ["engineer", None]
    assert dataset.messages[1].sent_at == datetime(2025, 2, 1, 9, 5, tzinfo=UTC)
    assert evidence(dataset, "01/qa_memory/q1") == [["01/2025-02-01/Group 1/2"]]
    assert dataset.questions[0].options == {"A": "Plan A", "B": "Plan B"}
    assert dataset.skipped == {"reference that names no message": 1}


def test_evermembench_invents_no_phase_and_no_parent(load):
    assert all((m.phase, m.reply_to) == (None, None) for m in load("evermembench").messages)


def test_an_irc_thread_is_asked_for_by_its_first_message(load):
    dataset = load("irc")
    (question,) = dataset.questions  # lunch is too short a thread
    assert (question.text, question.asking_user) == ("how do I mount a disk?", "ann")
    found = [one for unit in evidence(dataset, question.id) for one in unit]
    assert found == [f"2004-11-15_03/{line}" for line in (2, 3, 5, 6, 7)]


def test_irc_links_are_gold_and_no_message_has_them(load):
    dataset = load("irc")
    assert all(m.reply_to is None for m in dataset.messages)
    assert dataset.parents["2004-11-15_03/3"] == "2004-11-15_03/2"
    assert dataset.skipped["link to a line that nobody says"] == 1


def test_an_irc_log_goes_past_midnight(load):
    times = [m.sent_at for m in load("irc").messages]
    assert times == sorted(times)
    assert times[-1] == datetime(2004, 11, 16, 0, 4, tzinfo=UTC)


BROKEN = [
    ("locomo", "locomo10.json", '[{"conversation": {}, "qa": []}]', "'sample_id' as text"),
    ("qmsum", "Bmr001.json", '{"meeting_transcripts": 1}', "meeting_transcripts as list"),
    ("gatemem", "episodes.jsonl", '{"episode_id": "e", "turns": 1}', "turns as list of objects"),
    ("groupmembench", "finance.json", '{"a": [{"msg_node": 1}]}', "'content' as text"),
    ("evermembench", "01/dialogue.json", '{"dialogues": 1}', "'dialogues' by date"),
    ("irc", "2004-11-15_03.annotation.txt", "0 x -\n", 'expected "LINE LINE -"'),
]


@pytest.mark.parametrize(("form", "name", "content", "problem"), BROKEN)
def test_a_file_out_of_form_is_told_with_its_name(tmp_path, form, name, content, problem):
    given = write_form(form, tmp_path / "set")
    (tmp_path / "set" / name).write_text(content)
    with pytest.raises(ImportFormatError, match=f"{Path(name).name}.*{problem}"):
        load_dataset(given)
