"""Seed retrieval."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.config import AnchorConfig
from tmem_integrations.protocols import Matches
from tmem_integrations.stages.anchors import select_anchors


def anchors(scores: list[float], times: list[float], top_k: int) -> list[int]:
    matches = Matches(np.arange(len(scores), dtype=np.int64), np.array(scores))
    return select_anchors(matches, np.array(times), AnchorConfig(top_k=top_k)).rows.tolist()


def test_the_best_matches_come_first():
    assert anchors([1.0, 3.0, 2.0], [0, 1, 2], top_k=2) == [1, 2]


def test_of_equal_scores_the_earlier_message_comes_first():
    assert anchors([1.0, 1.0, 1.0], [5, 3, 4], top_k=3) == [1, 2, 0]


def test_no_match_gives_no_anchor():
    assert anchors([], [], top_k=3) == []


@given(
    st.lists(st.tuples(st.sampled_from((0.0, 1.0, 2.5)), st.integers(0, 3)), max_size=20),
    st.integers(1, 8),
)
def test_the_anchors_are_the_first_of_all_matches_in_order(matches, top_k):
    scores, times = [score for score, _ in matches], [float(time) for _, time in matches]
    order = sorted(range(len(matches)), key=lambda i: (-scores[i], times[i], i))
    assert anchors(scores, times, top_k) == order[:top_k]
