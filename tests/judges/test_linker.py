"""The choice of parents with a model in its seat, its answers sent by hand (TEF §4.3)."""

import json

import pytest
from support.judging import Hand, calls_of, label_of, message

from tmem_integrations.errors import ModelError
from tmem_integrations.judges.linker import ModelLinker
from tmem_integrations.messages import Query
from tmem_integrations.prompts.relations import RelationsPrompt
from tmem_integrations.protocols import Reply
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import ParentChoice, Relation
from tmem_integrations.stages.relations import choose_parents

DOWN = Reply("", error="APIError (500)", failure="permanent")


def evidence_of(*messages):
    return [Evidence(m, Label.KEY, 1.0) for m in messages]


def three():
    return evidence_of(message(1), message(2), message(3))


def choose(hand, evidence, **settings):
    linker = ModelLinker(calls_of(**settings), RelationsPrompt())
    return hand.run(linker(Query(text="When?"), evidence, [own.message for own in evidence]))


def link(child, parent, relation="UPDATE", confidence=0.9):
    """An entry of a reply, by the messages' texts; put to labels by `says`."""
    return {"child": child, "parent": parent, "relation": relation, "confidence": confidence}


def says(*links):
    """Answers with links between messages named by their number, for the children asked about."""

    def answer(prompt):
        chosen = []
        children = prompt[prompt.index("Children and their") :]
        for own in links:
            child, parent = (
                n if n is None else label_of(prompt, f"text{n}.")
                for n in (own["child"], own["parent"])
            )
            if child is not None and f"\n{child}: " in children:
                chosen.append(own | {"child": child, "parent": parent, "relevance": 0.5})
        return json.dumps({"links": chosen})

    return answer


def none(child):
    return link(child, None, "NONE")


def test_each_child_gets_the_parent_that_the_model_says():
    judgement = choose(Hand(says(link(2, 1), link(3, 2, "EXPAND", 0.7))), three())
    assert judgement.verdict == (
        ParentChoice(None, confidence=judgement.verdict[0].confidence),
        ParentChoice(0, Relation.UPDATE, 0.9),
        ParentChoice(1, Relation.EXPAND, 0.7),
    )
    assert judgement.degraded == ()


def test_none_starts_a_new_tree():
    judgement = choose(Hand(says(none(2), none(3))), three())
    assert [choice.parent for choice in judgement.verdict] == [None, None, None]


def test_the_first_message_is_not_asked_about_and_parents_are_earlier():
    hand = Hand(says(none(2), none(3)))
    choose(hand, three())
    asked = hand.prompts[0].split("Children and their eligible parents:\n")[1]
    assert asked.splitlines() == ["m2: m1", "m3: m1 m2"]


def test_a_message_of_another_channel_is_no_parent():
    hand = Hand(says(none(3)))
    choose(hand, evidence_of(message(1, channel="a"), message(2, channel="b"), message(3, channel="b")))  # fmt: skip
    asked = hand.prompts[0].split("Children and their eligible parents:\n")[1]
    assert asked == "m3: m2"
    assert label_of(hand.prompts[0], "text1.") is None


def test_a_lone_message_asks_nothing():
    hand = Hand(says())
    assert len(choose(hand, evidence_of(message(1))).verdict) == 1
    assert hand.asked == []


def test_a_parent_that_is_not_eligible_is_not_taken():
    later = json.dumps({"links": [{"child": "m2", "parent": "m3", "relation": "UPDATE"}]})
    judgement = choose(Hand(lambda _: later), three())
    assert judgement.verdict == choose_parents(three(), [own.message for own in three()])
    assert judgement.n_unjudged == 2


def test_a_child_that_the_model_passed_over_goes_by_rule_and_is_told():
    judgement = choose(Hand(says(link(2, 1))), three())
    rules = choose_parents(three(), [own.message for own in three()])
    assert judgement.verdict[1:] == (ParentChoice(0, Relation.UPDATE, 0.9), rules[2])
    assert judgement.degraded == (
        "1 relation was judged by rule: the model passed over them.",
    )  # fmt: skip


def test_a_model_that_fails_leaves_all_to_the_rules():
    judgement = choose(Hand(lambda _: DOWN), three())
    assert judgement.verdict == choose_parents(three(), [own.message for own in three()])
    assert judgement.degraded == ("2 relations were judged by rule: APIError (500).",)


def test_a_failing_call_raises_where_that_is_the_policy():
    with pytest.raises(ModelError, match=r"APIError \(500\)"):
        choose(Hand(lambda _: DOWN), three(), on_failure="raise")


def test_children_are_asked_about_in_batches_at_once():
    hand = Hand(says(none(2), none(3)))
    choose(hand, three(), batch_size=1)
    assert [len(ask.prompts) for ask in hand.asked] == [2]


def test_the_same_links_are_asked_once():
    hand = Hand(says(link(2, 1), none(3)))
    first = choose(hand, three())
    assert choose(hand, three()).verdict == first.verdict
    assert len(hand.prompts) == 1


def test_a_reply_that_misses_a_child_is_not_remembered():
    hand = Hand(says(link(2, 1)))
    choose(hand, three())
    assert hand.kept == []


def test_other_eligible_parents_are_another_question():
    hand = Hand(says(link(2, 1), none(3)))
    choose(hand, three())
    choose(hand, evidence_of(message(1), message(2), message(3, phase_order=1.0)))
    choose(hand, evidence_of(message(1, phase_order=2.0), message(2), message(3, phase_order=1.0)))
    # m3 may no longer hang from m1, which is of a later phase.
    assert len(hand.prompts) == 2
