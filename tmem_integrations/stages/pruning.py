"""Pruning: which messages to give up first when not even one span of each fits, and the forest without them.

The paper gives up leaves only. In a deep tree that keeps a dozen idle remarks for the one message that
hangs from them; here the least useful message goes wherever it stands, and what hung from it hangs
from what stood above where that is still true.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

from tmem_integrations.stages.evidence import Label
from tmem_integrations.stages.forest import Forest, Node, Relation, may_precede

_RANK = {Label.ANCHOR: 0, Label.SUPPORT: 1, Label.KEY: 2}
_REPLACED = 0.8  # What a state is worth, once another one replaced it.
# A link may be wrong, and an idle remark that seems to update the answer must not outlive it: by its place in
# a chain a message gains this share of its own relevance at the most. Chosen on GateMem at 200 to 512 tokens.
_GAIN = 0.3


def least_useful_first(forest: Forest) -> list[int]:
    """All nodes in the order in which they may be given up.

    ANCHOR goes before SUPPORT before KEY, of one label the lower score. The latest state of a chain of
    UPDATEs has the label of the best of its chain, for it is the answer, and is worth more than its own
    score, as far as what it updates was; those before it are worth less.
    """
    replaced = {node.parent for node in forest if node.relation is Relation.UPDATE}
    best: list[tuple[int, float]] = []
    places: list[tuple[int, float, bool, int]] = []
    for index, node in enumerate(forest):
        rank, score = _RANK[node.label], node.score
        most = score + abs(score) * _GAIN
        if node.relation is Relation.UPDATE and node.parent is not None:
            rank, score = max(rank, best[node.parent][0]), max(score, best[node.parent][1])
        best.append((rank, score))
        worth = min(score, most)
        if index in replaced:
            places.append((rank, worth - abs(worth) * (1 - _REPLACED), False, index))
        else:
            places.append((rank, worth, True, -index))
    return sorted(range(len(forest)), key=places.__getitem__)


def without(forest: Forest, dropped: Collection[int]) -> tuple[Forest, tuple[int, ...]]:
    """The forest of the other nodes, and for each of its nodes the index it had.

    What updates an update of something updates that, too, and likewise what expands; other children of
    a dropped node become roots. Trees stay ordered by the time of their root, siblings by theirs.
    """
    placed = {i: _rehang(forest, i, dropped) for i in range(len(forest)) if i not in dropped}
    children: dict[int | None, list[int]] = defaultdict(list)
    for i in sorted(placed, key=lambda i: (forest.nodes[i].message.sent_at, i)):
        children[placed[i].parent].append(i)
    new_index: dict[int, int] = {}
    nodes: list[Node] = []
    pending = children[None][::-1]
    while pending:
        i = pending.pop()
        new_index[i] = len(nodes)
        node = placed[i]
        if node.parent is not None:
            parent = new_index[node.parent]
            node = replace(node, parent=parent, depth=nodes[parent].depth + 1)
        nodes.append(node)
        pending.extend(reversed(children[i]))
    return Forest(tuple(nodes)), tuple(new_index)


def _rehang(forest: Forest, index: int, dropped: Collection[int]) -> Node:
    """The node under the nearest kept one above it, by its old index, or as a root."""
    node = forest.nodes[index]
    parent, confidence = node.parent, node.confidence
    while parent is not None and parent in dropped:
        above = forest.nodes[parent]
        parent = above.parent if above.relation is node.relation else None
        confidence *= above.confidence
    if parent is not None and may_precede(forest.nodes[parent].message, node.message):
        return replace(node, parent=parent, confidence=confidence)
    return replace(node, parent=None, relation=Relation.ROOT, confidence=1.0, depth=0)
