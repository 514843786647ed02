"""Forest: evidence joined into trees of what was said first and what changed or explained it (TEF §4.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tmem_integrations.messages import Message
from tmem_integrations.protocols import partition_of
from tmem_integrations.stages.evidence import Evidence, Label


class Relation(StrEnum):
    """How a node relates to its parent."""

    ROOT = "ROOT"  # it has none
    UPDATE = "UPDATE"  # changes, replaces or advances the parent's state
    EXPAND = "EXPAND"  # answers, explains or supports it


@dataclass(frozen=True, slots=True)
class Node:
    """One original message in a forest.

    Attributes:
        message: The original.
        label: Why it is evidence.
        score: Its relevance to the question, comparable within one question only.
        parent: Index of the parent in `Forest.nodes`, smaller than the node's own; None for a root.
        relation: ROOT exactly when `parent` is None.
        confidence: How sure the linker was, 0 to 1; 1 for a root.
        depth: Edges to the root.
        reason: Why the gate kept it, where the gate says so.
    """

    message: Message
    label: Label
    score: float
    parent: int | None
    relation: Relation
    confidence: float
    depth: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees of messages in the order they are shown: trees by the time of their root, each in
    preorder, siblings by time (TEF Eq. 8). A node's number, as shown, is its index plus 1.
    """

    nodes: tuple[Node, ...] = ()

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def children(self, index: int) -> tuple[int, ...]:
        """Indices of the direct children of node `index`, in order."""
        return tuple(i for i, node in enumerate(self.nodes) if node.parent == index)

    @property
    def roots(self) -> tuple[int, ...]:
        """Indices of the roots, in order; one tree each."""
        return tuple(i for i, node in enumerate(self.nodes) if node.parent is None)


@dataclass(frozen=True, slots=True)
class ParentChoice:
    """Which earlier message a message hangs from, as a linker or a model says.

    Attributes:
        parent: Position of the parent among the evidence, or None for a new tree.
        relation: UPDATE or EXPAND; ignored without a parent.
        confidence: 0 to 1.
    """

    parent: int | None = None
    relation: Relation = Relation.EXPAND
    confidence: float = 1.0


def may_precede(earlier: Message, later: Message) -> bool:
    """Whether `earlier`, which comes first in order, may be the parent of `later` (TEF Eq. 4).

    Both must share a partition, and (stage, phase_order, phase_progress) of the earlier must not be
    greater, component by component; a component that is missing or a mere name on either side counts
    as equal.
    """
    if partition_of(earlier) != partition_of(later):
        return False
    for name in ("stage", "phase_order", "phase_progress"):
        before, after = getattr(earlier, name), getattr(later, name)
        if isinstance(before, float) and isinstance(after, float) and before != after:
            return before < after
    return True


def eligible_parents(evidence: Sequence[Evidence]) -> tuple[tuple[int, ...], ...]:
    """For each message, the positions of those that may be its parent.

    Args:
        evidence: In order of (time, arrival).
    """
    return tuple(
        tuple(i for i in range(j) if may_precede(evidence[i].message, evidence[j].message))
        for j in range(len(evidence))
    )


def grow_forest(evidence: Sequence[Evidence], choices: Sequence[ParentChoice]) -> Forest:
    """Join evidence into trees (TEF Eq. 5).

    A choice that is not an eligible earlier message is taken as none, so whatever a model says there
    is no cycle, no second parent and no link back in time.

    Args:
        evidence: In order of (time, arrival).
        choices: One for each.
    """
    parents: list[int | None] = []
    children: dict[int | None, list[int]] = defaultdict(list)
    for j, (own, choice) in enumerate(zip(evidence, choices, strict=True)):
        i = choice.parent
        linked = i is not None and 0 <= i < j and may_precede(evidence[i].message, own.message)
        parents.append(i if linked else None)
        children[parents[-1]].append(j)
    index: dict[int, int] = {}
    nodes: list[Node] = []
    pending = children[None][::-1]
    while pending:  # Preorder without recursion: a chain may be as long as the evidence.
        j = pending.pop()
        index[j] = len(nodes)
        nodes.append(_node(evidence[j], choices[j], parents[j], index, nodes))
        pending.extend(reversed(children[j]))
    return Forest(tuple(nodes))


def _node(
    own: Evidence,
    choice: ParentChoice,
    parent: int | None,
    index: Mapping[int, int],
    nodes: Sequence[Node],
) -> Node:
    if parent is None:
        return Node(own.message, own.label, own.score, None, Relation.ROOT, 1.0, 0, own.reason)
    at = index[parent]
    relation = Relation.UPDATE if choice.relation is Relation.UPDATE else Relation.EXPAND
    confidence = min(max(choice.confidence, 0.0), 1.0)
    depth = nodes[at].depth + 1
    return Node(own.message, own.label, own.score, at, relation, confidence, depth, own.reason)
