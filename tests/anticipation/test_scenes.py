"""Where scenes begin without a model."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.anticipation.scenes import SceneConfig, cut_scenes, scene_of
from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import Message

START = datetime(2026, 3, 2, tzinfo=UTC)


def turns(minutes, authors=None):
    names = authors or ["Ann"] * len(minutes)
    return [
        Message(id=f"m{i}", text="x", author=name, sent_at=START + timedelta(minutes=minute))
        for i, (minute, name) in enumerate(zip(minutes, names, strict=True))
    ]


def alike(*groups):
    """Unit vectors; those of one group are the same."""
    return np.eye(8, dtype=np.float32)[list(groups)]


def test_a_long_pause_ends_a_scene():
    assert cut_scenes(turns([0, 1, 1_000]), alike(0, 0, 0), SceneConfig()) == (2,)


def test_a_shift_of_vocabulary_ends_a_scene():
    vectors = alike(0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    assert cut_scenes(turns(range(10)), vectors, SceneConfig()) == (5,)


def test_a_scene_is_not_cut_before_it_has_its_least_length():
    vectors = alike(0, 0, 1, 1, 1, 1, 1, 1)
    assert 2 not in cut_scenes(turns(range(8)), vectors, SceneConfig(min_turns=4))


def test_no_scene_is_longer_than_allowed():
    config = SceneConfig(max_turns=5, min_turns=2)
    assert cut_scenes(turns(range(12)), alike(*[0] * 12), config) == (5, 10)


def test_turns_of_the_open_scene_begin_none():
    assert cut_scenes(turns([0, 1_000, 1_001]), alike(0, 0, 0), SceneConfig(), first=2) == ()


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_turns_are_not_cut(n):
    assert cut_scenes(turns(range(n)), alike(*[0] * n), SceneConfig()) == ()


def test_a_scene_keeps_its_id_while_it_grows():
    messages = turns(range(3))
    assert scene_of(messages[:1]).id == scene_of(messages).id


def test_a_longest_below_the_least_length_is_an_error():
    with pytest.raises(ConfigError, match="max_turns must be at least min_turns"):
        SceneConfig(min_turns=5, max_turns=4)


@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 7)), max_size=40))
def test_starts_ascend_and_leave_no_scene_empty_or_too_long(parts):
    gaps, groups = zip(*parts, strict=True) if parts else ((), ())
    config = SceneConfig()
    starts = cut_scenes(turns(np.cumsum(gaps).tolist()), alike(*groups), config)
    borders = [0, *starts, len(parts)]
    lengths = np.diff(borders)
    assert all(0 < length <= config.max_turns for length in lengths) or not parts
