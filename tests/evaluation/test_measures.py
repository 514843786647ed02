"""Shares, means, intervals and tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.evaluation.measures import (
    Share,
    bootstrap_interval,
    evidence_share,
    macro,
    micro,
    paired_test,
    precision,
    scoring_of,
)
from tmem_integrations.evaluation.questions import Gold, Question

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def test_an_alternative_shows_its_unit_once():
    units = [frozenset({"a", "b"}), frozenset({"c"})]
    assert evidence_share(["a", "b"], units) == Share(1, 2)


def test_macro_weighs_questions_and_micro_weighs_units():
    shares = [Share(1, 1), Share(0, 3)]
    assert macro(shares) == (1 + 0) / 2
    assert micro(shares) == (1 + 0) / (1 + 3)


def test_precision_counts_what_is_shown():
    assert precision(["a", "x", "y", "z"], [frozenset({"a", "b"})]) == 1 / 4
    assert precision([], [frozenset({"a"})]) == 0.0


@pytest.mark.parametrize(
    ("kind", "scored"), [("utility", True), (None, True), ("privacy", False), ("safety", False)]
)
def test_required_values_score_questions_that_want_an_answer(kind, scored):
    question = Question(id="q", text="?", kind=kind)
    assert (scoring_of(question, Gold(must_include=("x",))) is not None) == scored


def test_values_are_sought_in_the_shown_texts_only():
    scoring = scoring_of(Question(id="q", text="?"), Gold(must_include=("monday", "friday")))
    assert scoring is not None
    assert scoring(["m1"], ["On Monday."]) == Share(1, 2)


@given(SCORES)
def test_an_interval_holds_the_mean_of_equal_scores_and_stays_in_range(scores):
    low, high = bootstrap_interval(scores, n_resamples=50)
    assert min(scores) - 1e-9 <= low <= high <= max(scores) + 1e-9


def test_an_interval_is_the_same_at_every_run():
    scores = [0.0, 0.5, 1.0, 1.0]
    assert bootstrap_interval(scores) == bootstrap_interval(scores)


def test_a_method_does_not_differ_from_itself():
    assert paired_test([0.0, 1.0, 0.5], [0.0, 1.0, 0.5]) == 1.0


def test_a_method_that_always_wins_differs():
    # All 12 signs equal happens by chance in 2 of 2**12 swaps.
    assert paired_test([1.0] * 12, [0.0] * 12) < 0.01


def test_one_win_in_one_question_shows_nothing():
    assert paired_test([1.0, 0.5], [0.0, 0.5]) > 0.4


def test_a_paired_test_needs_the_same_questions():
    with pytest.raises(ValueError, match="same questions, got 1, 2"):
        paired_test([1.0], [1.0, 0.0])
