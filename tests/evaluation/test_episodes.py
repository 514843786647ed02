"""The theory of the density gate, on numbers that can be checked in the head."""

import math
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.config import PAPER, EpisodeConfig
from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.episodes import (
    Observation,
    best_threshold,
    error_bound,
    error_plot,
    estimate_rates,
)
from tmem_integrations.evaluation.observing import observe_anchors

HOUR = 3600.0
RATES = st.floats(1e-3, 1e3)


def at(*hours):
    return np.array([HOUR * hour for hour in hours])


@given(RATES, st.floats(1.01, 100))
def test_the_best_threshold_lies_between_the_rates(background, times):
    threshold = best_threshold(background, background * times)
    assert background < threshold < background * times


@given(RATES, st.floats(1.1, 100), st.floats(0.01, 10))
def test_at_the_best_threshold_both_errors_are_bounded_alike(background, times, hours):
    episode = background * times
    threshold = best_threshold(background, episode)
    false = error_bound(threshold, background, hours)
    assert false == pytest.approx(error_bound(threshold, episode, hours), rel=1e-6, abs=1e-12)


def test_the_bound_holds_for_poisson_counts():
    from scipy.stats import poisson

    # 8 anchors or more in 4 hours, where 1 an hour is usual.
    assert (
        poisson.sf(7, 4 * 1.0)
        <= error_bound(2.0, 1.0, 4.0)
        == math.exp(-4 * (2 * math.log(2) - 2 + 1))
    )


@pytest.mark.parametrize(("background", "episode"), [(0, 1), (2, 2), (3, 1)])
def test_rates_that_do_not_differ_have_no_threshold(background, episode):
    with pytest.raises(InputError, match="0 < background < episode"):
        best_threshold(background, episode)


def test_rates_are_anchors_per_hour_within_and_outside_evidence():
    # Evidence at 10 h and 11 h, half a span floor of 2 h around it: 9 h to 12 h.
    seen = Observation(at(9.5, 10, 11, 30, 40), at(10, 11), 0.0, 43 * HOUR)
    rates = estimate_rates([seen], EpisodeConfig())
    assert rates.episode == pytest.approx(3 / 3)
    assert rates.background == pytest.approx(2 / (43 - 3))
    assert rates.hours == pytest.approx(3)
    assert rates.gaps == (1.0, 1.0)


def test_evidence_farther_apart_than_epsilon_is_two_stretches():
    seen = Observation(at(10, 30), at(10, 30), 0.0, 40 * HOUR)
    assert estimate_rates([seen], EpisodeConfig()).n_stretches == 2
    wide = EpisodeConfig(radius=timedelta(hours=20))
    assert estimate_rates([seen], wide).n_stretches == 1


def test_without_evidence_there_are_no_rates():
    with pytest.raises(InputError, match="0 stretches of evidence"):
        estimate_rates([Observation(at(1), at(), 0.0, HOUR)], EpisodeConfig())


def test_anchors_of_each_question_are_seen_beside_its_evidence(folder):
    seen = list(observe_anchors(read_jsonl(folder), PAPER))
    assert len(seen) == 2  # one channel for each of the two questions
    assert [len(one.evidence) for one in seen] == [2, 1]
    # "soup" stands in l1; l2 was said after the question's as_of.
    assert len(seen[1].anchors) == 1


def test_the_plot_marks_the_best_threshold():
    seen = Observation(at(9.5, 10, 11, 30, 40), at(10, 11), 0.0, 43 * HOUR)
    svg = error_plot(estimate_rates([seen], EpisodeConfig()), {"paper": 0.25})
    assert svg.startswith("<svg")
    assert "missed episodes" in svg
    assert "paper (0.25)" in svg
