"""The gate that needs no model."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import Message
from tmem_integrations.stages.candidates import Candidates
from tmem_integrations.stages.evidence import Label, select_evidence

START = datetime(2026, 3, 2, tzinfo=UTC)


def select(relevance: list[float], minutes: list[int], anchors: list[bool], n: int = 36):
    count = len(minutes)
    candidates = Candidates(
        messages=tuple(
            Message(id=f"m{i}", text="x", sent_at=START + timedelta(minutes=minute))
            for i, minute in enumerate(minutes)
        ),
        rows=np.arange(count),
        runs=np.zeros(count, dtype=np.int64),
        term_scores=np.zeros((1, count)),
        is_asked=np.ones(1, dtype=np.bool_),
        is_anchor=np.array(anchors, dtype=np.bool_),
    )
    return select_evidence(candidates, np.array(relevance), EvidenceConfig(max_messages=n))


def test_the_most_relevant_are_kept_and_come_in_order_of_time():
    kept = select([1.0, 3.0, 2.0], [5, 4, 3], [True] * 3, n=2)
    assert [e.message.id for e in kept] == ["m2", "m1"]


def test_what_has_no_relevance_is_no_evidence():
    assert [e.message.id for e in select([0.0, 1.0], [0, 1], [True, True])] == ["m1"]


def test_an_anchor_is_key_and_what_surroundings_brought_is_support():
    kept = select([1.0, 1.0], [0, 1], [True, False])
    assert [e.label for e in kept] == [Label.KEY, Label.SUPPORT]


def test_a_bound_below_one_is_an_error():
    with pytest.raises(ConfigError, match=r"EvidenceConfig.max_messages must be at least 1"):
        EvidenceConfig(max_messages=0)


@pytest.mark.parametrize("value", ["3", 1.5, True])
def test_a_bound_that_is_no_whole_number_is_an_error(value: object):
    with pytest.raises(ConfigError, match="must be a whole number, got"):
        EvidenceConfig(max_messages=value)
