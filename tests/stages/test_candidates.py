"""Windows around anchors, joined to runs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.protocols import Neighbours, Window
from tmem_integrations.stages.candidates import join_runs, windows_of
from tmem_integrations.stages.episodes import Episode, Episodes

OPS, DEV = ("channel", "ops"), ("channel", "dev")


def rows(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def joined(parts: list[np.ndarray], anchors: list[int], reach: int) -> list[list[int]]:
    owners = [OPS] * len(parts)
    return [run.tolist() for run in join_runs(owners, parts, rows(*anchors), reach)]


def test_an_episode_opens_a_window_in_time_and_a_lone_anchor_its_neighbourhood():
    episodes = Episodes((Episode(OPS, (1, 2), 0.0, 9.0),), lone=(7,), n_sparse=0)
    owners, parts = windows_of(episodes, {1: OPS, 2: OPS, 7: DEV}, reach=3)
    assert owners == (OPS, DEV)
    assert parts == (Window(OPS, 0.0, 9.0), Neighbours(7, 3, 3))


def test_of_a_window_only_what_is_within_reach_of_an_anchor_is_kept():
    assert joined([rows(*range(10))], anchors=[2, 8], reach=1) == [[1, 2, 3], [7, 8, 9]]


def test_parts_that_share_rows_become_one_run():
    assert joined([rows(1, 2, 3), rows(3, 4, 5)], anchors=[2, 4], reach=1) == [[1, 2, 3, 4, 5]]


def test_parts_that_share_no_row_stay_apart():
    assert joined([rows(1, 2), rows(5, 6)], anchors=[1, 5], reach=1) == [[1, 2], [5, 6]]


def test_a_part_within_another_adds_nothing():
    assert joined([rows(1, 2, 3, 4), rows(2, 3)], anchors=[2], reach=9) == [[1, 2, 3, 4]]


def test_a_part_without_an_anchor_is_left_out():
    assert joined([rows(1, 2)], anchors=[9], reach=2) == []


def test_rows_need_not_rise_with_time():
    # Row 9 was stored late but sent between 4 and 5.
    assert joined([rows(4, 9), rows(9, 5)], anchors=[9], reach=1) == [[4, 9, 5]]


@given(st.permutations(range(12)), st.lists(st.integers(0, 11), min_size=1), st.integers(0, 5))
def test_runs_are_stretches_of_the_partition_and_share_no_row(order, anchors, reach):
    sequence = rows(*order)
    at = {row: i for i, row in enumerate(order)}
    parts = [sequence[max(0, at[a] - reach) : at[a] + reach + 1] for a in anchors]
    runs = joined(parts, anchors, reach)
    seen = [row for run in runs for row in run]
    assert len(seen) == len(set(seen))
    assert set(anchors) <= set(seen)
    for run in runs:
        start = at[run[0]]
        assert run == order[start : start + len(run)]
