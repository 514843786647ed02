"""Evidence against what was read by hand."""

import pytest
from sample_chat import CHAT

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.gate import (
    GateOutcome,
    GateReport,
    candidates_needed,
    measure_gate,
)
from tmem_integrations.evaluation.gate_gold import Asked, GateGold, read_gate_gold
from tmem_integrations.evaluation.methods import make_method
from tmem_integrations.messages import read_messages

DATE = Asked(current=frozenset({"r2", "r2b"}), stale=frozenset({"r1", "r0"}), chain=("r1", "r2"))
OWNER = Asked(current=frozenset({"o1"}), stale=frozenset())
LINE = {
    "question_id": "q1",
    "question": "When is the release?",
    "channel": "release",
    "asking_user": "Ann",
    "support": ["r3"],
    "groups": [
        {"asked": "date", "key": "r2", "alternatives": [], "stale": ["r1"], "chain": ["r1", "r2"]}
    ],
}


def figures(*shown, labelled=None, ranks=(1,)):
    outcome = GateOutcome(GateGold((DATE, OWNER), frozenset({"s1"})), shown, labelled)
    return GateReport("any", 9, (outcome,), tuple(ranks)).to_dict()


def test_an_alternative_is_as_good_as_the_key():
    assert figures("r2b")["shown"]["recall"] == 1 / 2


def test_precision_counts_messages_and_support_is_evidence_too():
    shown = figures("r2", "r2b", "s1", "x")["shown"]
    assert shown["precision"] == 2 / 4
    assert shown["evidence"] == 3 / 4
    assert shown["f1"] == 2 * (1 / 2) * (1 / 2) / (1 / 2 + 1 / 2)


def test_a_stale_message_beside_what_replaced_it_is_fine():
    assert figures("r1", "r0", "r2")["stale_alone"] == 0.0


def test_a_stale_message_alone_is_counted_once_each():
    found = figures("r1", "r0", "o1")
    assert (found["stale_shown"], found["stale_alone"]) == (2, 2 / 2)


def test_a_chain_counts_when_it_is_whole():
    assert figures("r1", "r2")["chains"] == 1.0
    assert figures("r2")["chains"] == 0.0


def test_labels_are_scored_apart_from_what_is_shown():
    found = figures("r2", "x", "o1", labelled=("r2", "x"))
    assert found["labelled"]["precision"] == 1 / 2
    assert found["shown"]["precision"] == 2 / 3
    assert figures("r2")["labelled"] is None


def test_a_key_that_never_comes_is_never_held():
    assert candidates_needed([1, None], 0.95) is None
    assert candidates_needed([5] * 19 + [None], 0.95) == 5


@pytest.fixture
def gold_file(write):
    return lambda **change: write("evidence.jsonl", [LINE | change])


def test_every_figure_comes_from_the_file(gold_file):
    dataset, gold = read_gate_gold(gold_file(), read_messages(CHAT, timezone="UTC"))
    (report,) = measure_gate(dataset, gold, make_method("recent"), [2])
    # r3 is the latest, r2 the next, r1 the last.
    assert report.outcomes[0].shown == ("r3", "r2")
    assert report.ranks == (2,)
    assert report.to_dict()["stale_shown"] == 0


def test_the_forest_labels_what_it_shows(gold_file):
    dataset, gold = read_gate_gold(gold_file(), read_messages(CHAT, timezone="UTC"))
    (report,) = measure_gate(dataset, gold, make_method("forest"), [5])
    assert report.outcomes[0].labelled is not None
    assert set(report.outcomes[0].labelled) <= set(report.outcomes[0].shown)


def test_a_group_without_key_is_told_with_its_line(gold_file):
    with pytest.raises(ImportFormatError, match="line 1: expected 'key' as text"):
        read_gate_gold(gold_file(groups=[{"asked": "date"}]), [])


def test_only_a_forest_says_what_is_superseded(gold_file):
    dataset, gold = read_gate_gold(gold_file(), read_messages(CHAT, timezone="UTC"))
    figures = [
        measure_gate(dataset, gold, make_method(name), [5])[0].to_dict()["superseding"]
        for name in ("recent", "forest")
    ]
    # r1 was the date, r2 is: the forest shows the one as updated by the other.
    assert figures == [None, {"holding": 1, "wrongly": 0.0, "steps": 1, "linked": 1.0}]
