"""Pruning: which messages to give up first when not even one span of each fits, and the forest without them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from heapq import heapify, heappop, heappush

from tmem_integrations.stages.evidence import Label
from tmem_integrations.stages.forest import Forest, Node, Relation

_RANK = {Label.ANCHOR: 0, Label.SUPPORT: 1, Label.KEY: 3}
_OPENING = 2  # A root that is no KEY, above others: after every leaf that is none, before any KEY.
_REPLACED = 0.8  # What a state is worth, once another one replaced it.

_Place = tuple[int, int, float, int]


def least_useful_first(forest: Forest) -> Iterator[int]:
    """All nodes in the order in which they may be given up, so that the rest stays a forest.

    Leaves go first: ANCHOR before SUPPORT before KEY, the lower score first. The latest state of a
    chain of UPDATEs is worth what the best of its chain is worth, for it is the answer. Roots may go
    before what hangs from them where they are no KEY, or where an UPDATE replaced them: an unconfirmed
    opening line, or an old state, must not push out what holds.
    """
    rest = _Rest(forest)
    heap = [rest.place(i) for i in range(len(forest)) if rest.may_go(i)]
    heapify(heap)
    while heap:
        place = heappop(heap)
        index = -place[-1]
        if not rest.may_go(index):
            continue
        if place != rest.place(index):  # Its last update went before it: it holds again.
            heappush(heap, rest.place(index))
            continue
        yield index
        for near in rest.give_up(index):
            if rest.may_go(near):
                heappush(heap, rest.place(near))


class _Rest:
    """What is left of a forest while its nodes are given up one by one."""

    def __init__(self, forest: Forest) -> None:
        self._nodes = forest.nodes
        self._children = _children(forest)
        self._gone: set[int] = set()
        self._worth: list[tuple[int, float]] = []
        for node in forest:
            own = (_RANK[node.label], node.score)
            before = self._worth[node.parent] if node.parent is not None else own
            best = (max(own[0], before[0]), max(own[1], before[1]))
            self._worth.append(best if node.relation is Relation.UPDATE else own)

    def may_go(self, index: int) -> bool:
        """Whether the rest would still be a forest that says what holds."""
        if index in self._gone:
            return False
        parent = self._nodes[index].parent
        is_root = parent is None or parent in self._gone
        is_key = self._nodes[index].label is Label.KEY
        return not self._left(index) or (is_root and (not is_key or self._is_replaced(index)))

    def place(self, index: int) -> _Place:
        """Sorts a node that may go: the smaller first."""
        node = self._nodes[index]
        rank, score = _RANK[node.label], node.score
        if self._is_replaced(index):
            score -= abs(score) * (1 - _REPLACED)
        else:
            rank, score = self._worth[index]
        is_opening = self._left(index) and rank < _RANK[Label.KEY]
        return (_OPENING if is_opening else rank, rank, score, -index)

    def give_up(self, index: int) -> list[int]:
        """Take a node out; returns those whose place that changes."""
        self._gone.add(index)
        parent = self._nodes[index].parent
        return [*self._left(index), *([] if parent is None else [parent])]

    def _left(self, index: int) -> list[int]:
        return [child for child in self._children[index] if child not in self._gone]

    def _is_replaced(self, index: int) -> bool:
        return any(self._nodes[c].relation is Relation.UPDATE for c in self._left(index))


def without(forest: Forest, dropped: Collection[int]) -> tuple[Forest, tuple[int, ...]]:
    """The forest of the other nodes, and for each of its nodes the index it had.

    The children of a dropped node become roots. Trees stay ordered by the time of their root.
    """
    kept = [i for i in range(len(forest)) if i not in dropped]
    root_of: dict[int, int] = {}
    for i in kept:
        parent = forest.nodes[i].parent
        root_of[i] = i if parent is None or parent in dropped else root_of[parent]

    def place(index: int) -> tuple[datetime, int, int]:
        root = root_of[index]
        return forest.nodes[root].message.sent_at, root, index

    order = sorted(kept, key=place)
    nodes: list[Node] = []
    new_index: dict[int, int] = {}
    for i in order:
        new_index[i] = len(nodes)
        node = forest.nodes[i]
        if root_of[i] == i:
            if node.parent is not None:
                node = replace(node, parent=None, relation=Relation.ROOT, confidence=1.0, depth=0)
        elif node.parent is not None:
            parent = new_index[node.parent]
            node = replace(node, parent=parent, depth=nodes[parent].depth + 1)
        nodes.append(node)
    return Forest(tuple(nodes)), tuple(order)


def _children(forest: Forest) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in forest]
    for index, node in enumerate(forest):
        if node.parent is not None:
            children[node.parent].append(index)
    return children
