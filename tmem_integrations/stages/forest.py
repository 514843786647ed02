"""Forest: evidence joined into trees of what was said first and what changed or explained it (TEF §4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tmem_integrations.messages import Message
from tmem_integrations.stages.evidence import Label


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
    """

    message: Message
    label: Label
    score: float
    parent: int | None
    relation: Relation
    confidence: float
    depth: int


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
