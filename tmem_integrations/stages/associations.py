"""Associations: anchors that share no word with the question, from a memory that anticipates (AM).

This is what a lexical seed lacks: no anchor in the right episode, and the episode is never looked at. But
words that do hit are the better evidence, so associations get room only as far as words leave the
question open, and none where they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tmem_integrations.config import AssociationConfig
from tmem_integrations.protocols import Rows, Scores


@dataclass(frozen=True, slots=True)
class Associations:
    """Messages that are anchors whatever their words: a memory reached them, or they stand for a period.

    Attributes:
        rows: (k,) handles, best first.
        via: Message id → what reached it, such as "horizon"; empty for a period.
    """

    rows: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    via: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


def count_places(unexplained: float, max_messages: int, config: AssociationConfig) -> int:
    """How many messages may be evidence by association.

    Args:
        unexplained: Share of the question that no message puts into its words, 0 to 1.
        max_messages: How many messages are evidence at most.
        config: From which share on, and how many.

    Examples:
        >>> [count_places(share, 36, AssociationConfig()) for share in (0.5, 0.8, 0.85, 0.95)]
        [0, 0, 12, 24]
    """
    span = config.words_fail - config.words_suffice
    ramp = (unexplained - config.words_suffice) / span if span > 0 else np.inf
    open_ = float(np.clip(ramp, 0, 1)) if unexplained > config.words_suffice else 0.0
    return round(open_ * config.share * max_messages)


def lift_associations(relevance: Scores, rows: Rows, associated: Rows, max_messages: int) -> Scores:
    """Raise associated candidates over those that would take their places.

    Args:
        relevance: (n,) of the candidates, not negative.
        rows: (n,) handles of the candidates.
        associated: (k,) handles, best first: as many as there are places.
        max_messages: How many candidates are kept.

    Returns:
        (n,) relevance in which the associated ones are among the `max_messages` largest; the others
        keep theirs.
    """
    lifted = relevance.astype(np.float64)
    is_associated = np.isin(rows, associated)
    rest = np.sort(lifted[~is_associated])[::-1]
    kept = max(0, max_messages - int(is_associated.sum()))
    # Just above the best of the rest that has to go.
    bar = float(rest[kept]) if kept < len(rest) else 0.0
    step = max(float(lifted.max(initial=0.0)), 1.0) * 1e-6
    order = {row: place for place, row in enumerate(associated[::-1].tolist(), start=1)}
    for i in np.flatnonzero(is_associated):
        lifted[i] = max(lifted[i], bar + step * order[int(rows[i])])
    return lifted
