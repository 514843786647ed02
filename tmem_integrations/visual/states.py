"""States: which messages of a forest still hold. Every drawing marks them alike."""

from __future__ import annotations

from enum import StrEnum

from tmem_integrations.stages.forest import Forest, Relation


class State(StrEnum):
    """What became of what a message says."""

    PLAIN = "plain"  # nothing in the forest updates it and it updates nothing
    SUPERSEDED = "superseded"  # another message of the forest updates it
    UPDATING = "updating"  # it updates its parent, but a later update of the tree came after it
    CURRENT = "current"  # the latest update of its tree


def states_of(forest: Forest) -> tuple[State, ...]:
    """One state per node. A tree has at most one current node, and none without an update."""
    states = [State.PLAIN] * len(forest)
    latest: dict[int, int] = {}
    trees: list[int] = []
    for index, node in enumerate(forest):
        trees.append(index if node.parent is None else trees[node.parent])
        if node.parent is None or node.relation is not Relation.UPDATE:
            continue
        states[node.parent] = State.SUPERSEDED
        states[index] = State.UPDATING
        before = latest.get(trees[index])
        if before is None or forest.nodes[before].message.sent_at <= node.message.sent_at:
            latest[trees[index]] = index
    for index in latest.values():
        if states[index] is State.UPDATING:
            states[index] = State.CURRENT
    return tuple(states)
