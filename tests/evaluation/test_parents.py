"""Parents against human reply links."""

from dataclasses import replace

import pytest
from sample_chat import CHAT, QUESTIONS

from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.measures import Share
from tmem_integrations.evaluation.methods import make_method
from tmem_integrations.evaluation.parents import (
    ParentOutcome,
    ParentReport,
    _outcome,
    human_parents,
    measure_parents,
)
from tmem_integrations.messages import read_messages
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, ParentChoice, grow_forest

MESSAGES = read_messages(CHAT[:3], timezone="UTC")  # r1, r2, r3


def forest(*parents: int | None) -> Forest:
    evidence = [Evidence(message, Label.KEY, 1.0) for message in MESSAGES]
    return grow_forest(evidence, [ParentChoice(parent) for parent in parents])


def outcome(grown, **parents):
    threads = dict.fromkeys(("r1", "r2", "r3"), "r1")
    return _outcome(grown, parents, threads)


def test_a_node_is_right_when_it_hangs_from_whom_it_replies_to():
    assert outcome(forest(None, 0, 1), r2="r1", r3="r1").right == Share(1, 2)


def test_the_message_before_is_what_has_to_be_beaten():
    assert outcome(forest(None, 0, 1), r2="r1", r3="r1").before == Share(1, 2)


def test_only_nodes_whose_parent_is_there_are_judged():
    assert outcome(forest(None, 0, 1), r2="gone").right is None


def test_links_within_a_thread_are_counted():
    found = _outcome(forest(None, 0, 1), {"r2": "r1"}, {"r1": "r1", "r2": "r1"})
    assert (found.links, found.threaded) == (2, 1)


def test_figures_weigh_messages_not_questions():
    outcomes = (
        ParentOutcome(Share(1, 1), Share(0, 1), 1, 1),
        ParentOutcome(Share(0, 3), Share(0, 3), 3, 0),
        ParentOutcome(None, None, 0, 0),
    )
    figures = ParentReport("forest", 9, outcomes).to_dict()
    assert figures["accuracy"] == (1 + 0) / (1 + 3)
    assert figures["within_thread"] == (1 + 0) / (1 + 3)


@pytest.fixture
def linked(write):
    chat = [CHAT[0], CHAT[1] | {"reply_to": "r1"}, *CHAT[2:]]
    write("chat/messages.jsonl", chat)
    return read_jsonl(write("chat/questions.jsonl", QUESTIONS).parent)


def test_nobody_sees_the_links(linked):
    blind, parents = human_parents(linked)
    assert parents == {"r2": "r1"}
    assert all(message.reply_to is None for message in blind.messages)


def test_forests_are_grown_and_judged(linked):
    report = measure_parents(linked, make_method("forest"), 5)
    assert report.to_dict()["linked_by_people"] == 1


def test_a_method_without_forests_is_refused(linked):
    with pytest.raises(InputError, match="recent grows no forest"):
        measure_parents(linked, make_method("recent"), 5)


def test_a_chat_without_links_is_refused(linked):
    blind, _ = human_parents(linked)
    with pytest.raises(InputError, match="nobody drew reply links"):
        human_parents(replace(blind, parents={}))
