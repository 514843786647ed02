"""A forest by construction."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.messages import Message
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import (
    Forest,
    ParentChoice,
    Relation,
    eligible_parents,
    grow_forest,
    may_precede,
)

START = datetime(2026, 3, 2, tzinfo=UTC)


def evidence(minute: int, **fields) -> Evidence:
    sent_at = START + timedelta(minutes=minute)
    message = Message(id=f"m{minute}", text="x", sent_at=sent_at, **fields)
    return Evidence(message, Label.KEY, 1.0)


def grow(parents: list[int | None]) -> Forest:
    choices = [ParentChoice(parent, Relation.UPDATE, 0.9) for parent in parents]
    return grow_forest([evidence(i) for i in range(len(parents))], choices)


def ids(forest: Forest) -> list[str]:
    return [node.message.id for node in forest]


def test_trees_come_by_the_time_of_their_root_and_each_in_preorder():
    # m0 ← m2 ← m3, m1 ← m4
    assert ids(grow([None, None, 0, 2, 1])) == ["m0", "m2", "m3", "m1", "m4"]


def test_siblings_come_by_time():
    assert ids(grow([None, 0, 0, 1])) == ["m0", "m1", "m3", "m2"]


def test_depth_counts_edges_to_the_root():
    assert [node.depth for node in grow([None, 0, 1])] == [0, 1, 2]


def test_a_root_has_relation_root_and_a_child_has_not():
    forest = grow([None, 0])
    assert [node.relation for node in forest] == [Relation.ROOT, Relation.UPDATE]


def test_a_later_message_or_itself_cannot_be_the_parent():
    assert grow([1, None]).roots == (0, 1)
    assert grow([0, 1]).roots == (0, 1)


def test_a_position_that_does_not_exist_is_no_parent():
    assert grow([None, -1]).roots == (0, 1)
    assert grow([None, 99]).roots == (0, 1)


def test_a_child_without_relation_is_an_expansion():
    forest = grow_forest(
        [evidence(0), evidence(1)], [ParentChoice(), ParentChoice(0, Relation.ROOT)]
    )
    assert forest.nodes[1].relation is Relation.EXPAND


def test_messages_of_two_partitions_are_not_joined():
    choices = [ParentChoice(), ParentChoice(0)]
    assert grow_forest([evidence(0, channel="a"), evidence(1, channel="b")], choices).roots == (
        0,
        1,
    )


def test_a_phase_that_runs_backwards_makes_no_parent():
    plan, build = {"stage": 1, "phase_order": 9}, {"stage": 2, "phase_order": 1}
    assert may_precede(evidence(0, **plan).message, evidence(1, **build).message)
    assert not may_precede(evidence(0, **build).message, evidence(1, **plan).message)


def test_a_missing_or_named_phase_component_counts_as_equal():
    early, late = evidence(0, stage=2, phase_order=1), evidence(1, phase_order=1)
    assert may_precede(early.message, late.message)
    named = evidence(1, stage="build", phase_order=0)
    assert not may_precede(early.message, named.message)  # decided by phase_order, 1 > 0


def test_equal_times_are_ordered_by_arrival():
    first, second = evidence(0), evidence(0)
    assert eligible_parents([first, second]) == ((), (0,))


def test_a_chain_of_thousands_does_not_exhaust_the_stack():
    n = 5_000
    assert grow([None, *range(n - 1)]).nodes[-1].depth == n - 1


@given(st.lists(st.one_of(st.none(), st.integers(-5, 40)), max_size=30))
def test_whatever_is_chosen_the_result_is_a_forest_of_all_evidence(parents):
    forest = grow(parents)
    assert sorted(ids(forest)) == sorted(f"m{i}" for i in range(len(parents)))
    for index, node in enumerate(forest):
        assert node.parent is None or node.parent < index
        if node.parent is not None:
            parent = forest.nodes[node.parent]
            assert parent.message.sent_at < node.message.sent_at
            assert node.depth == parent.depth + 1
