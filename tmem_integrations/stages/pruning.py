"""Pruning: which messages to give up first when not even one span of each fits, and the forest without them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from heapq import heapify, heappop, heappush

from tmem_integrations.stages.evidence import Label
from tmem_integrations.stages.forest import Forest, Node, Relation

_RANK = {Label.ANCHOR: 0, Label.SUPPORT: 1, Label.KEY: 2}


def least_useful_first(forest: Forest) -> Iterator[int]:
    """All nodes in the order in which they may be given up, so that the rest stays a forest.

    Leaves go first: ANCHOR before SUPPORT before KEY, the lower score first. Only when each leaf is a
    KEY do roots that are none go, and their children become roots: an unconfirmed opening line must
    not push out the KEY that hangs from it.
    """
    children = _children(forest)
    n_left = [len(c) for c in children]
    gone: set[int] = set()

    def priority(index: int) -> tuple[int, float, int]:
        node = forest.nodes[index]
        return _RANK[node.label], node.score, -index

    def is_key(index: int) -> bool:
        return forest.nodes[index].label is Label.KEY

    leaves = [priority(i) for i in range(len(forest)) if not n_left[i]]
    roots = [priority(i) for i in forest.roots if not is_key(i)]
    heapify(leaves)
    heapify(roots)
    while leaves:
        only_keys = leaves[0][0] == _RANK[Label.KEY]
        index = -heappop(roots if only_keys and roots else leaves)[2]
        if index in gone:
            continue
        gone.add(index)
        yield index
        parent = forest.nodes[index].parent
        if parent is not None and parent not in gone:
            n_left[parent] -= 1
            if not n_left[parent]:
                heappush(leaves, priority(parent))
        for child in children[index]:
            if child not in gone and not is_key(child):
                heappush(roots, priority(child))


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
