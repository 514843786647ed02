"""Whatever a model answers: evidence comes from the candidates, links go back in time, nothing breaks."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.judging import Hand, calls_of, candidates_of, message

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.judges.gate import ModelGate
from tmem_integrations.judges.linker import ModelLinker
from tmem_integrations.messages import Query
from tmem_integrations.prompts.gate import GatePrompt
from tmem_integrations.prompts.relations import RelationsPrompt
from tmem_integrations.protocols import Reply
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import grow_forest

QUERY = Query(text="When?")
LABELS = st.sampled_from(["c1", "c2", "c9", "m1", "m2", "m3", "m4", "m9", 3, None, "", "me"])
WORDS = st.sampled_from(["KEY", "SUPPORT", "UPDATE", "EXPAND", "NONE", "no", "ja", None, 7])
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "id": LABELS,
        "label": WORDS,
        "child": LABELS,
        "parent": LABELS,
        "relation": WORDS,
        "confidence": st.one_of(st.floats(), WORDS),
    },
)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(ENTRIES, max_size=5).map(lambda found: json.dumps({"selected": found})),
    st.lists(ENTRIES, max_size=5).map(lambda found: json.dumps({"links": found})[:-3]),
)
FAILURES = st.sampled_from(["transient", "retried", "content", "permanent", None])
REPLIES = st.lists(
    st.one_of(TEXTS.map(Reply), FAILURES.map(lambda f: Reply("", error="x", failure=f))),
    min_size=1,
    max_size=6,
)


def hand_of(replies):
    """Answers with the replies in turn, over and over."""
    asked = []

    def answer(prompt):
        asked.append(prompt)
        return replies[(len(asked) - 1) % len(replies)]

    return Hand(answer)


@given(REPLIES, st.integers(1, 6), st.integers(0, 8))
def test_evidence_is_of_the_candidates_within_the_bound_and_in_order(replies, bound, max_calls):
    messages = [message(i) for i in range(5)]
    gate = ModelGate(calls_of(batch_size=3, max_llm_calls=max_calls), GatePrompt())
    flow = gate(QUERY, candidates_of(messages, [1]), np.ones(5), EvidenceConfig(max_messages=bound))
    hand = hand_of(replies)
    found = [own.message for own in hand.run(flow).verdict]
    assert len(hand.prompts) <= max_calls
    assert len(found) <= bound
    assert found == sorted(set(found), key=lambda m: m.sent_at)
    assert set(found) <= set(messages)


@given(REPLIES)
def test_a_forest_holds_each_message_once_below_an_earlier_one(replies):
    evidence = [Evidence(message(i), Label.KEY, 1.0) for i in range(4)]
    linker = ModelLinker(calls_of(batch_size=2), RelationsPrompt())
    flow = linker(QUERY, evidence, [own.message for own in evidence])
    forest = grow_forest(evidence, hand_of(replies).run(flow).verdict)
    assert sorted(node.message.id for node in forest) == [f"m{i}" for i in range(4)]
    for node in forest:
        parent = None if node.parent is None else forest.nodes[node.parent]
        assert parent is None or parent.message.sent_at < node.message.sent_at
