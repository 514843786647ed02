"""Anchors that share no word with the question: how many, and what they displace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.config import AssociationConfig
from tmem_integrations.errors import ConfigError
from tmem_integrations.stages.associations import count_places, lift_associations

CONFIG = AssociationConfig(words_suffice=0.5, words_fail=0.9, share=0.5)


def lifted(relevance, associated, n):
    rows = np.arange(len(relevance))
    return lift_associations(np.array(relevance), rows, np.array(associated), n).tolist()


def test_where_words_suffice_nothing_is_associated():
    assert count_places(0.5, 36, CONFIG) == 0


def test_places_grow_with_what_words_leave_open():
    assert count_places(0.7, 36, CONFIG) == 36 * 0.5 / 2  # half way up


def test_where_words_fail_there_are_as_many_as_there_may_be():
    assert count_places(1.0, 36, CONFIG) == 36 * 0.5


def test_a_step_instead_of_a_ramp_is_allowed():
    step = AssociationConfig(words_suffice=0.6, words_fail=0.6, share=1.0)
    assert [count_places(share, 10, step) for share in (0.6, 0.61)] == [0, 10]


def test_words_that_fail_before_they_suffice_are_an_error():
    with pytest.raises(ConfigError, match="words_fail must be at least words_suffice"):
        AssociationConfig(words_suffice=0.9, words_fail=0.8)


def test_an_association_displaces_the_least_relevant():
    values = lifted([3.0, 2.0, 1.0, 0.0], [3], 2)
    assert sorted(range(4), key=lambda i: -values[i])[:2] == [0, 3]


def test_the_best_association_comes_first():
    values = lifted([3.0, 0.0, 0.0], [2, 1], 3)
    assert values[2] > values[1] > 0


def test_what_words_found_keeps_its_relevance():
    assert lifted([3.0, 2.0, 0.0], [2], 2)[:2] == [3.0, 2.0]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30),
    st.lists(st.integers(0, 29), unique=True, max_size=10),
    st.integers(1, 30),
)
def test_all_associations_are_among_those_kept(relevance, associated, n):
    associated = [row for row in associated if row < len(relevance)][:n]
    values = np.array(lifted(relevance, associated, n))
    kept = np.argsort(-values, kind="stable")[:n]
    assert set(associated) <= set(kept.tolist())
