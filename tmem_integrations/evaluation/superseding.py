"""Does a forest call out of date what holds, and does it find what replaced what?

To who reads, “updated by [n]” says: do not rely on this. That is right of a message that was replaced.
Said of one that still holds, it takes a right answer away.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tmem_integrations.evaluation.gate_gold import Asked, GateGold
from tmem_integrations.stages.forest import Forest, Relation


@dataclass(frozen=True, slots=True)
class Superseding:
    """What one forest says of the messages that hold, and of the steps of a state.

    Attributes:
        holding: Shown messages that state what holds and nothing stale.
        wrongly: Those of them that the forest shows as updated, by a message that neither follows in
            the chain of that state nor states the same.
        steps: Steps of a chain, from one state to the next, of which both messages are shown.
        linked: How many of them are an UPDATE link from the one to the other.
    """

    holding: int
    wrongly: int
    steps: int
    linked: int


def check_superseding(gold: GateGold, forest: Forest) -> Superseding:
    """Lay a forest beside what was read by hand."""
    ids = [node.message.id for node in forest]
    updates = {
        (ids[node.parent], node.message.id)
        for node in forest
        if node.parent is not None and node.relation is Relation.UPDATE
    }
    stale = frozenset().union(*(one.stale for one in gold.asked))
    holding = (gold.key & set(ids)) - stale
    wrongly = {
        parent
        for parent, child in updates
        for one in gold.asked
        if parent in one.current & holding and child not in _successors(one, parent)
    }
    steps = [step for one in gold.asked for step in pairwise(one.chain) if set(step) <= set(ids)]
    return Superseding(len(holding), len(wrongly), len(steps), sum(s in updates for s in steps))


def _successors(one: Asked, message_id: str) -> Collection[str]:
    """What may be shown as following a message: the rest of its chain, and what states the same."""
    chain = one.chain
    later = chain[chain.index(message_id) + 1 :] if message_id in chain else ()
    return {*later, *one.current}


def superseding_figures(found: Sequence[Superseding]) -> dict[str, float | int | None]:
    """Figures over all questions, as JSON values; a share is None when it is of nothing."""
    holding, steps = sum(one.holding for one in found), sum(one.steps for one in found)
    return {
        "holding": holding,
        "wrongly": sum(one.wrongly for one in found) / holding if holding else None,
        "steps": steps,
        "linked": sum(one.linked for one in found) / steps if steps else None,
    }
