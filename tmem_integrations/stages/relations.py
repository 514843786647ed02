"""Relations: which earlier message each piece of evidence hangs from, by rules (TEF §4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from tmem_integrations.stages.evidence import Evidence
from tmem_integrations.stages.forest import ParentChoice, Relation


def choose_parents(evidence: Sequence[Evidence]) -> tuple[ParentChoice, ...]:
    """One choice for each message, from reply links."""
    position = {e.message.id: i for i, e in enumerate(evidence)}
    return tuple(
        ParentChoice(position.get(e.message.reply_to or ""), Relation.EXPAND) for e in evidence
    )
