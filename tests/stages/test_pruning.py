"""What is given up first, and the forest that is left."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.messages import Message
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, ParentChoice, Relation, grow_forest
from tmem_integrations.stages.pruning import least_useful_first, without

START = datetime(2026, 3, 2, tzinfo=UTC)
KEY, SUPPORT, ANCHOR = Label.KEY, Label.SUPPORT, Label.ANCHOR


def grow(*rows: tuple[Label, float, int | None], relation: Relation = Relation.EXPAND) -> Forest:
    """One message an hour: label, score, position of the parent."""
    evidence = [
        Evidence(Message(id=f"m{i}", text="x", sent_at=START + timedelta(hours=i)), label, score)
        for i, (label, score, _) in enumerate(rows)
    ]
    return grow_forest(evidence, [ParentChoice(parent, relation) for _, _, parent in rows])


def ids(forest: Forest, order) -> list[str]:
    return [forest.nodes[i].message.id for i in order]


@st.composite
def forests(draw) -> Forest:
    n = draw(st.integers(0, 8))
    labels = st.sampled_from(Label)
    rows = [
        (draw(labels), draw(st.floats(-1, 1)), draw(st.none() | st.integers(0, i - 1)) if i else None)
        for i in range(n)
    ]  # fmt: skip
    return grow(*rows, relation=draw(st.sampled_from([Relation.UPDATE, Relation.EXPAND])))


def test_an_anchor_goes_before_a_support_before_a_key():
    forest = grow((KEY, 0, None), (ANCHOR, 9, None), (SUPPORT, 5, None))
    assert ids(forest, least_useful_first(forest)) == ["m1", "m2", "m0"]


def test_of_one_label_the_lower_score_goes_first():
    forest = grow((KEY, 2, None), (KEY, 1, None))
    assert ids(forest, least_useful_first(forest)) == ["m1", "m0"]


def test_a_remark_goes_before_the_key_that_hangs_from_it():
    forest = grow((SUPPORT, 9, None), (ANCHOR, 0, 0), (KEY, 0, 1))
    assert ids(forest, least_useful_first(forest)) == ["m1", "m0", "m2"]


def test_what_replaced_a_key_outlives_it():
    chain = grow((KEY, 1, None), (SUPPORT, 0.7, 0), (SUPPORT, 0.7, 1), relation=Relation.UPDATE)
    assert ids(chain, least_useful_first(chain)) == ["m1", "m0", "m2"]


def test_what_replaced_a_key_is_a_key_and_gains_on_its_own_relevance():
    rows = (KEY, 1, None), (SUPPORT, 0.75, 0), (KEY, 0.75 * 1.2, None)
    forest = grow(*rows, relation=Relation.UPDATE)
    assert ids(forest, least_useful_first(forest)) == ["m0", "m2", "m1"]


def test_an_idle_remark_gains_little_by_the_key_that_it_seems_to_replace():
    rows = (KEY, 1, None), (SUPPORT, 0.1, 0), (KEY, 0.5, None)
    forest = grow(*rows, relation=Relation.UPDATE)
    assert ids(forest, least_useful_first(forest)) == ["m1", "m2", "m0"]


def test_a_replaced_key_goes_before_one_that_holds_unless_it_is_worth_far_more():
    rows = (KEY, 1, None), (KEY, 1, 0)
    near = grow(*rows, (KEY, 1 * 0.9, None), relation=Relation.UPDATE)
    far = grow(*rows, (KEY, 1 * 0.7, None), relation=Relation.UPDATE)
    assert ids(near, least_useful_first(near)) == ["m0", "m2", "m1"]
    assert ids(far, least_useful_first(far)) == ["m2", "m0", "m1"]


@given(forests())
def test_no_old_state_outlives_what_replaced_it_and_is_as_relevant(forest):
    place = {index: at for at, index in enumerate(least_useful_first(forest))}
    for index, node in enumerate(forest):
        if node.relation is Relation.UPDATE and node.score >= forest.nodes[node.parent].score:
            assert place[node.parent] < place[index]


@given(forests())
def test_every_message_is_given_up_once(forest):
    assert sorted(least_useful_first(forest)) == list(range(len(forest)))


@given(forests(), st.data())
def test_whatever_is_dropped_the_rest_is_the_forest_of_the_rest(forest, data):
    dropped = data.draw(st.sets(st.sampled_from(range(len(forest))))) if len(forest) else set()
    rest, kept = without(forest, dropped)
    old = forest.nodes
    assert [n.message.id for n in rest] == [old[i].message.id for i in kept]
    assert set(kept) == set(range(len(forest))) - dropped
    for new, i in zip(rest, kept, strict=True):
        above = old[i].parent
        while above in dropped and old[above].relation is old[i].relation:
            above = old[above].parent
        if above is None or above in dropped:
            assert (new.parent, new.relation, new.depth) == (None, Relation.ROOT, 0)
        else:
            assert kept[new.parent] == above
            assert (new.relation, new.depth) == (old[i].relation, rest.nodes[new.parent].depth + 1)


def test_what_updates_an_update_updates_what_that_updated():
    forest = grow((KEY, 0, None), (KEY, 0, 0), (KEY, 0, 1), relation=Relation.UPDATE)
    rest, _ = without(forest, {1})
    assert [(n.message.id, n.parent, n.relation) for n in rest] == [
        ("m0", None, Relation.ROOT),
        ("m2", 0, Relation.UPDATE),
    ]


def test_what_updates_an_answer_does_not_update_the_question():
    mixed = grow_forest(
        [Evidence(n.message, KEY, 0) for n in grow((KEY, 0, None), (KEY, 0, None), (KEY, 0, None))],
        [ParentChoice(), ParentChoice(0, Relation.EXPAND), ParentChoice(1, Relation.UPDATE)],
    )
    rest, _ = without(mixed, {1})
    assert [n.relation for n in rest] == [Relation.ROOT, Relation.ROOT]


def test_nothing_is_hung_from_a_later_stage():
    stages = (2.0, None, 1.0)
    evidence = [
        Evidence(Message(id=f"m{i}", text="x", sent_at=START + timedelta(hours=i), stage=stage), KEY, 0)
        for i, stage in enumerate(stages)
    ]  # fmt: skip
    choices = [ParentChoice(), ParentChoice(0, Relation.UPDATE), ParentChoice(1, Relation.UPDATE)]
    rest, _ = without(grow_forest(evidence, choices), {1})
    assert [n.parent for n in rest] == [None, None]


@given(forests(), st.data())
def test_the_rest_is_in_preorder_with_trees_by_the_time_of_their_root(forest, data):
    dropped = data.draw(st.sets(st.sampled_from(range(len(forest))))) if len(forest) else set()
    rest, _ = without(forest, dropped)
    for indices in (rest.roots, *map(rest.children, range(len(rest)))):
        times = [rest.nodes[i].message.sent_at for i in indices]
        assert times == sorted(times)
    path: list[int] = []
    for i, node in enumerate(rest):
        path = [*path[: node.depth], i]
        assert node.parent == (path[-2] if node.depth else None)
