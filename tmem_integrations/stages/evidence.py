"""Evidence: the messages kept for the question, each with a label (TEF §4.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Scores


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


@dataclass(frozen=True, slots=True)
class Candidates:
    """Messages of one window, in (time, arrival) order.

    Attributes:
        messages: The n messages.
        lexical: (n,) lexical scores, 0 where no term is shared.
        is_anchor: (n,) whether seed retrieval found it.
    """

    messages: tuple[Message, ...]
    lexical: Scores
    is_anchor: NDArray[np.bool_]


def diffuse(scores: Scores, width: float) -> Scores:
    r"""Spread relevance over a conversation, which people do not repeat in every message.

    $$ \tilde s_i = \sum_j s_j \exp(-|i-j|/w) $$

    Args:
        scores: (n,) scores of consecutive messages of one channel.
        width: w, in messages.

    Returns:
        (n,) diffused scores.

    Examples:
        >>> diffuse(np.array([0.0, 1.0, 0.0]), 1.0).round(2).tolist()
        [0.37, 1.0, 0.37]
    """
    decay = float(np.exp(-1.0 / width))
    forward = lfilter([1.0], [1.0, -decay], scores)
    backward = lfilter([1.0], [1.0, -decay], scores[::-1])[::-1]
    spread: Scores = forward + backward - scores
    return spread


def rank_candidates(candidates: Candidates, config: EvidenceConfig) -> Scores:
    """(n,) relevance of each candidate: its own words and those of its neighbours."""
    relevance = np.zeros(len(candidates.messages))
    channels: dict[str | None, list[int]] = defaultdict(list)
    for index, message in enumerate(candidates.messages):
        channels[message.channel].append(index)
    for members in channels.values():
        # Squared: one message that says it all outweighs a run of half matches.
        relevance[members] = diffuse(candidates.lexical[members] ** 2, config.diffusion_width)
    return relevance


def select_evidence(windows: Sequence[Candidates], config: EvidenceConfig) -> tuple[Evidence, ...]:
    """The gate that needs no model: the best `max_messages` by diffused relevance.

    A message that seed retrieval found is KEY, one that its neighbours brought is SUPPORT.

    Args:
        windows: Disjoint; those of one partition in order of time.
        config: How many to keep.

    Returns:
        Evidence in order of (time, arrival).
    """
    pool = [
        (float(relevance[i]), w, int(i))
        for w, window in enumerate(windows)
        for relevance in [rank_candidates(window, config)]
        for i in np.argsort(-relevance, kind="stable")[: config.max_candidates]
        if relevance[i] > 0
    ]
    best = sorted(pool, key=lambda c: (-c[0], c[1], c[2]))[: config.max_messages]
    in_order = sorted(best, key=lambda c: (windows[c[1]].messages[c[2]].sent_at, c[1], c[2]))
    return tuple(
        Evidence(
            message=windows[w].messages[i],
            label=Label.KEY if windows[w].is_anchor[i] else Label.SUPPORT,
            score=score,
        )
        for score, w, i in in_order
    )
