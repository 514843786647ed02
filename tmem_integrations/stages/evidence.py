"""Evidence: the messages kept for the question, each with a label (TEF §4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Scores
from tmem_integrations.stages.candidates import Candidates


class Label(StrEnum):
    """Why a message is kept."""

    KEY = "KEY"  # states an answer-bearing fact
    SUPPORT = "SUPPORT"  # a needed scope, condition, exception, owner or deadline
    ANCHOR = "ANCHOR"  # found by seed retrieval, not confirmed by the gate


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message kept for the question.

    Attributes:
        message: The original.
        label: KEY, SUPPORT or ANCHOR.
        score: Relevance that ranked it; larger is better, comparable within one question only.
        reason: Why the gate kept it, in a few words, where the gate says so.
    """

    message: Message
    label: Label
    score: float
    reason: str | None = None


def select_evidence(
    candidates: Candidates, relevance: Scores, config: EvidenceConfig
) -> tuple[Evidence, ...]:
    """The gate that needs no model: the `max_messages` of highest relevance.

    A message that seed retrieval found is KEY, one that its surroundings brought is SUPPORT.

    Args:
        candidates: From the windows around the anchors.
        relevance: (n,) from `rate_candidates`; what has none is no evidence.
        config: How many to keep.

    Returns:
        Evidence in order of (time, arrival).
    """
    order = np.argsort(-relevance, kind="stable")[: config.max_messages]
    kept = [int(i) for i in order if relevance[i] > 0]
    return tuple(
        Evidence(
            message=candidates.messages[i],
            label=Label.KEY if candidates.is_anchor[i] else Label.SUPPORT,
            score=float(relevance[i]),
        )
        for i in sorted(kept, key=lambda i: (candidates.messages[i].sent_at, i))
    )
