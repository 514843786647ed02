"""Episodes: dense runs of anchors."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN

from tmem_integrations.config import EpisodeConfig
from tmem_integrations.errors import ConfigError
from tmem_integrations.stages.episodes import Episodes, find_episodes, pace_episodes, seed_density

HOUR = 3600.0
OPS, DEV = ("channel", "ops"), ("channel", "dev")


def find(hours: list[float], partitions: list[tuple[str, str]] | None = None, **config) -> Episodes:
    rows = np.arange(len(hours), dtype=np.int64)
    settings = EpisodeConfig(**config)
    return find_episodes(rows, np.array(hours) * HOUR, partitions or [OPS] * len(hours), settings)


def test_a_burst_within_seconds_is_not_infinitely_dense():
    assert seed_density(3, 0.0, floor=2.0) == 3 / 2


def test_a_floor_that_is_not_positive_is_an_error():
    with pytest.raises(ConfigError, match="floor must be positive"):
        seed_density(3, 0.0, floor=0.0)


def test_an_episode_is_padded_on_both_sides():
    (episode,) = find([0, 1]).kept
    assert (episode.start, episode.end) == (-12 * HOUR, (1 + 12) * HOUR)


def test_density_must_be_exceeded_strictly():
    # 2 anchors in 8 h are exactly 0.25 an hour.
    assert find([0, 8]).kept == ()
    assert find([0, 8]).n_sparse == 1
    assert len(find([0, 7.9]).kept) == 1


def test_one_lone_anchor_is_no_episode_but_is_reported():
    found = find([5])
    assert (found.kept, found.lone) == ((), (0,))


def test_anchors_of_different_partitions_form_no_episode_together():
    found = find([0, 1], [OPS, DEV])
    assert (found.kept, found.lone) == ((), (0, 1))


def test_overlapping_windows_of_a_partition_are_merged():
    # Runs end at 1 h and start at 20 h; with 12 h of padding their windows meet.
    (episode,) = find([0, 1, 20, 21]).kept
    assert episode.anchors == (0, 1, 2, 3)
    assert (episode.start, episode.end) == (-12 * HOUR, 33 * HOUR)


def test_windows_that_do_not_meet_stay_two():
    assert len(find([0, 1, 30, 31]).kept) == 2


def test_overlapping_windows_of_two_partitions_stay_two():
    assert len(find([0, 1, 0, 1], [OPS, OPS, DEV, DEV]).kept) == 2


def test_many_anchors_in_one_second_are_one_episode():
    assert len(find([0.0] * 36).kept) == 1


def test_anchors_spread_over_years_are_all_lone():
    found = find([i * 24 * 30.0 for i in range(36)])
    assert (len(found.kept), len(found.lone)) == (0, 36)


@given(st.lists(st.tuples(st.floats(0, 1000), st.sampled_from([OPS, DEV])), max_size=40))
def test_every_anchor_is_in_one_episode_or_lone_and_windows_are_disjoint(anchors):
    hours = [hour for hour, _ in anchors]
    found = find(hours, [partition for _, partition in anchors])
    members = [row for episode in found.kept for row in episode.anchors]
    assert sorted([*members, *found.lone]) == list(range(len(anchors)))
    for first, second in zip(found.kept, found.kept[1:], strict=False):
        assert first.partition != second.partition or first.end < second.start


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("radius", timedelta(0)),
        ("density", 0.0),
        ("min_anchors", 0),
        ("span_floor", timedelta(0)),
        ("padding", timedelta(-1)),
    ],
)
def test_a_setting_out_of_range_is_named(setting: str, value: object):
    with pytest.raises(ConfigError, match=f"EpisodeConfig.{setting} must be"):
        EpisodeConfig(**{setting: value})


def test_a_measured_pace_keeps_the_proportions_of_the_paper():
    paced = pace_episodes(EpisodeConfig(), 432.0)
    assert paced == EpisodeConfig()  # 100 messages at 432 s take 12 h


def test_without_a_measured_pace_the_settings_hold():
    config = EpisodeConfig(density=1.0)
    assert pace_episodes(config, None) == config


def test_a_measured_radius_stays_between_a_minute_and_a_month():
    assert pace_episodes(EpisodeConfig(), 0.0).radius == timedelta(minutes=1)
    assert pace_episodes(EpisodeConfig(), 1e9).radius == timedelta(days=30)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=30),
    st.integers(1, 6),
    st.integers(1, 4),
)
def test_clusters_are_those_of_a_general_dbscan(minutes, radius, min_anchors):
    at = np.array(sorted(minutes), dtype=np.float64) * 60
    labels = DBSCAN(eps=radius * 60, min_samples=min_anchors).fit_predict(at.reshape(-1, 1))
    config = EpisodeConfig(
        radius=timedelta(minutes=radius),
        min_anchors=min_anchors,
        density=1e-9,
        padding=timedelta(0),
    )
    found = find_episodes(np.arange(len(at)), at, [("none", "")] * len(at), config)
    expected = [np.flatnonzero(labels == label).tolist() for label in range(labels.max() + 1)]
    # Windows that touch are merged; without padding only clusters that share an instant do.
    kept = sorted(anchor for e in found.kept for anchor in e.anchors)
    assert kept == np.flatnonzero(labels >= 0).tolist()
    assert all(any(set(one) <= set(e.anchors) for e in found.kept) for one in expected)
    assert len(found.kept) == len(merged(expected, at))


def merged(clusters, at):
    """Clusters, those that share an instant as one."""
    joined = []
    for cluster in clusters:
        if joined and at[cluster[0]] <= at[joined[-1][-1]]:
            joined[-1] = joined[-1] + cluster
        else:
            joined.append(cluster)
    return joined
