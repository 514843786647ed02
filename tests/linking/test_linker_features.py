"""Features of pairs and of lists, on messages small enough to compare by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.linking.context import build_context
from tmem_integrations.linking.features import pair_features
from tmem_integrations.linking.listing import candidate_features, opening_features
from tmem_integrations.linking.reading import read_utterance
from tmem_integrations.linking.utterance import Utterance

WORDS = (
    "budget",
    "launch",
    "Maple",
    "june 5",
    "june 6",
    "10:30",
    "42",
    "v1.2",
    "ann:",
    "now",
    "not",
)


def utterances(*said: tuple[str, str] | str) -> list[Utterance]:
    """Texts, or (author, text), one position apart."""
    pairs = [("ann", one) if isinstance(one, str) else one for one in said]
    return [
        Utterance(text=text, author=who, speaker=who, position=i)
        for i, (who, text) in enumerate(pairs)
    ]


def grids(*said: tuple[str, str] | str) -> dict[str, np.ndarray]:
    listed = utterances(*said)
    return pair_features(listed, build_context(listed))


def lists(*said: tuple[str, str] | str) -> dict[str, np.ndarray]:
    listed = utterances(*said)
    return candidate_features(listed, pair_features(listed, build_context(listed)))


def test_the_same_value_is_repeated_and_a_new_one_of_its_kind_added():
    found = grids("review on may 8", "review on may 8, not may 9")
    assert found["value_repeated"][0, 1] == 1
    assert found["value_added"][0, 1] == 1
    assert found["slot_moved"][0, 1] == 1
    assert found["slot_kept"][0, 1] == 0


def test_values_of_no_common_kind_are_unlike():
    assert grids("by may 8", "costs $40")["values_unlike"][0, 1] == 1
    assert grids("by may 8", "by may 9")["values_unlike"][0, 1] == 0


def test_a_changed_value_counts_as_far_as_its_slot_is_the_same():
    found = grids("budget is $40", "budget is $50")
    assert found["slot_changed"][0, 1] == found["slot_cosine"][0, 1] > 0
    assert grids("budget is $40", "budget is $40")["slot_changed"][0, 1] == 0


def test_terms_in_common_are_weighted_by_their_rarity():
    said = ("budget", "budget review", "budget", "budget")
    common, rare = 1.0, math.log(5 / 2) + 1  # ln((N + 1) / (df + 1)) + 1, df = 4 and 1 of N = 4
    found = grids(*said)
    assert found["later_covered"][0, 1] == pytest.approx(common / (common + rare))
    assert found["term_cosine"][0, 1] == pytest.approx(common / math.sqrt(common + rare))


def test_who_speaks_to_whom():
    found = grids(("ann", "where is it?"), ("bo", "ann: there"), ("cy", "hello"))
    assert found["answers_author"][0, 1] == 1
    assert found["addressed_by"][1, 2] == 0
    assert found["turns_elsewhere"][0, 1] == 0
    assert found["addressed_elsewhere"][1, 2] == 1
    assert found["question_answered"][0, 1] == 1


def test_unknown_authors_are_not_one_person():
    nobody = [Utterance(text="a", position=0), Utterance(text="b", position=1)]
    assert pair_features(nobody, build_context(nobody))["same_author"][0, 1] == 0


def test_names_that_begin_alike_are_siblings():
    said = "so Maple, with Maple", "so Maplewood, with Maplewood", "so Birch, with Birch"
    found = grids(*said)["siblings"]
    assert found[0, 1] == 1
    assert found[0, 2] == 0


def test_the_gap_counts_messages_that_are_not_in_the_list():
    two = [Utterance(text="a", position=3), Utterance(text="b", position=7)]
    assert pair_features(two, build_context(two))["near"][0, 1] == 1 / 4


def test_the_rank_counts_only_the_list():
    assert np.exp(lists("a", "b", "c")["rank"][0, 2]) == pytest.approx(2)


def test_the_last_message_of_ones_own_is_marked():
    found = lists(("ann", "a"), ("ann", "b"), ("bo", "c"), ("ann", "d"))
    assert found["last_own"][:3, 3].tolist() == [0, 1, 0]


def test_a_partner_stays_one_when_no_longer_named():
    said = ("ann", "help"), ("bo", "ann: how?"), ("cy", "hi"), ("ann", "like this")
    assert lists(*said)["partner"][:3, 3].tolist() == [0, 1, 0]


def test_one_who_speaks_for_the_first_time_is_seen():
    listed = utterances(("ann", "a"), ("ann", "b"), ("bo", "c"))
    found = opening_features(pair_features(listed, build_context(listed)))
    assert found["spoke_before"].tolist() == [0, 1, 0]


words = st.sampled_from(
    [
        "review",
        "May 8",
        "May 9",
        "ann:",
        "bo,",
        "moved",
        "Maple",
        "in Maplewood",
        "?",
        "",
        "改到",
        "$5",
    ]
)
chats = st.lists(
    st.tuples(st.sampled_from(["ann", "bo", ""]), st.lists(words, max_size=6).map(" ".join)),
    min_size=1,
    max_size=8,
)


@given(chats)
def test_every_feature_is_a_number_for_every_pair(chat):
    listed = [
        Utterance(text=text, author=who or None, speaker=who or None, position=i)
        for i, (who, text) in enumerate(chat)
    ]
    pairs = pair_features(listed, build_context(listed))
    shape = (len(chat), len(chat))
    for name, grid in (pairs | candidate_features(listed, pairs)).items():
        assert grid.shape == shape, name
        assert np.isfinite(grid).all(), name
    for name, row in opening_features(pairs).items():
        assert row.shape == shape[:1], name


@given(chats.filter(lambda chat: len(chat) > 1))
def test_a_pair_looks_the_same_alone_and_in_its_list(chat):
    listed = utterances(*chat)
    context = build_context(listed)
    whole = pair_features(listed, context)
    alone = pair_features([listed[0], listed[-1]], context)
    for name, grid in alone.items():
        assert grid[0, 1] == pytest.approx(whole[name][0, -1]), name


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=6))
def test_all_kinds_of_overlap_are_those_of_the_pairs_alone(texts):
    listed = utterances(*texts)
    context = build_context(listed)
    readings = [read_utterance(one, context) for one in listed]
    found = pair_features(listed, context)
    for i, a in enumerate(readings):
        for j, b in enumerate(readings):
            common, either = len(a.trigrams & b.trigrams), max(len(a.trigrams) * len(b.trigrams), 1)
            assert found["trigram_cosine"][i, j] == pytest.approx(common / math.sqrt(either))
            shared, whole = (sum(map(context.idf, s)) for s in (a.terms & b.terms, b.terms))
            assert found["later_covered"][i, j] == pytest.approx(shared / whole if whole else 0)
            assert found["value_repeated"][i, j] == bool(a.values & b.values)
            kinds = [{kind for kind, _ in own.values} for own in (a, b)]
            repeated = {kind for kind, _ in a.values & b.values}
            assert found["value_swapped"][i, j] == bool((kinds[0] & kinds[1]) - repeated)
            assert found["same_audience"][i, j] == bool(a.addressed & b.addressed)
