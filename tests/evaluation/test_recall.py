"""The table of recall, and that gives the figures of a plain count."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.errors import InputError, MissingExtraError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.measures import Share
from tmem_integrations.evaluation.methods import Selection, make_method
from tmem_integrations.evaluation.ranked import ranking_measures
from tmem_integrations.evaluation.recall import measure_recall

SHARED = Path(__file__).parents[3] / "shared" / "data"


class Fixed:
    """Selects the same ids whatever is asked."""

    def __init__(self, *ids: str) -> None:
        self.name, self.ids = "fixed", ids

    def index(self, messages):
        return self

    def select(self, query, max_messages, max_tokens):
        return Selection(self.ids)


def test_each_question_is_scored_at_each_bound(folder):
    one, two = measure_recall(read_jsonl(folder), make_method("recent"), [1, 2])
    # The latest of "release" is r3; of "lunch" as of 11:10, l1.
    assert [o.share for o in one.outcomes] == [Share(0, 2), Share(1, 1)]
    assert [o.share for o in two.outcomes] == [Share(1, 2), Share(1, 1)]
    assert two.to_dict()["macro"] == (1 / 2 + 1) / 2
    assert two.to_dict()["micro"] == (1 + 1) / (2 + 1)
    assert two.to_dict()["complete"] == 1 / 2
    assert two.to_dict()["by_kind"] == {"what": 1.0, "when": 0.5}


@pytest.mark.parametrize("ids", [("r1", "r1"), ("r1", "r2")])
def test_a_method_that_breaks_the_bound_is_refused(folder, ids):
    with pytest.raises(InputError, match="expected at most 1 distinct"):
        measure_recall(read_jsonl(folder), Fixed(*ids), [1])


def test_questions_without_gold_to_find_are_refused(write, folder):
    write("chat/questions.jsonl", [{"id": "q", "question": "?", "answer": "Monday"}])
    with pytest.raises(InputError, match="no question has evidence or required values"):
        measure_recall(read_jsonl(folder), Fixed(), [1])


def test_the_reciprocal_rank_is_that_of_the_first_evidence(folder):
    dataset = read_jsonl(folder)
    (cell,) = measure_recall(dataset, make_method("recent"), [2])
    # r2 stands second behind r3; l1 stands first.
    assert ranking_measures(cell, dataset.gold, ["RR"]) == {"RR": (1 / 2 + 1) / 2}


def test_all_figures_are_json(folder):
    (cell,) = measure_recall(read_jsonl(folder), make_method("forest"), [2])
    assert json.loads(json.dumps(cell.to_dict()))["questions"] == 2


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_dense_finds_as_much_on_gatemem_as_was_counted_by_hand():
    dataset = read_jsonl(SHARED / "gatemem")
    (cell,) = measure_recall(dataset, make_method("dense"), [12])
    assert round(cell.to_dict()["macro"], 3) == 0.804


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not here")
def test_the_forest_finds_what_its_public_face_finds():
    dataset = read_jsonl(SHARED / "irc")
    channel = dataset.questions[0].channel
    questions = tuple(q for q in dataset.questions if q.channel == channel)
    (cell,) = measure_recall(replace(dataset, questions=questions), make_method("forest"), [12])
    messages = [m for m in dataset.messages if m.channel == channel]
    retriever = TemporalForestRetriever.from_messages(
        messages, timezone="UTC", max_messages=12, max_tokens=200_000
    )
    for question, outcome in zip(questions, cell.outcomes, strict=True):
        documents = retriever.invoke(question.text, asking_user=question.asking_user)
        found = [i for d in documents for i in d.metadata["message_ids"]]
        assert sorted(found) == sorted(outcome.selection.ids)


def test_without_the_extra_ranking_measures_tell_how_to_get_it(folder, monkeypatch):
    dataset = read_jsonl(folder)
    (cell,) = measure_recall(dataset, make_method("recent"), [2])
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtraError, match=r'pip install "tmem-integrations\[eval\]"'):
        ranking_measures(cell, dataset.gold)
