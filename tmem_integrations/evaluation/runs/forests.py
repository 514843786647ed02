"""Forests as plain records, and the structures that are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tmem_integrations.messages import Message
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, ParentChoice, Relation, grow_forest

NodeRecord = dict[str, Any]


def forest_records(forest: Forest) -> list[NodeRecord]:
    """One record per node, in the order shown; parents by message id."""
    return [
        {
            "id": node.message.id,
            "parent": None if node.parent is None else forest.nodes[node.parent].message.id,
            "relation": node.relation.value,
            "label": node.label.value,
            "score": node.score,
            "confidence": node.confidence,
        }
        for node in forest
    ]


def flat_records(ids: Sequence[str]) -> list[NodeRecord]:
    """Messages that a method selected without structure; the first is the most relevant."""
    return [
        {
            "id": message_id,
            "parent": None,
            "relation": "ROOT",
            "label": "ANCHOR",
            "score": 1 / rank,
            "confidence": 1.0,
        }
        for rank, message_id in enumerate(ids, start=1)
    ]


def restructure(records: Sequence[NodeRecord], structure: str) -> list[NodeRecord]:
    """Take away what a structure does not have.

    Args:
        records: Nodes.
        structure: "forest" keeps all; "untyped" calls every link EXPAND; "flat" cuts every link.
    """
    if structure == "flat":
        return [{**node, "parent": None, "relation": "ROOT"} for node in records]
    if structure == "untyped":
        return [
            {**node, "relation": "ROOT" if node["parent"] is None else "EXPAND"} for node in records
        ]
    return [dict(node) for node in records]


def grow(records: Sequence[NodeRecord], messages: Mapping[str, Message]) -> Forest:
    """The forest of some records, grown by the same rules as any."""
    in_order = sorted(records, key=lambda node: messages[node["id"]].sent_at)
    place = {node["id"]: index for index, node in enumerate(in_order)}
    evidence = [
        Evidence(messages[node["id"]], Label(node["label"]), node["score"]) for node in in_order
    ]
    choices = [
        ParentChoice(
            None if node["parent"] is None else place.get(node["parent"]),
            Relation(node["relation"]) if node["relation"] != "ROOT" else Relation.EXPAND,
            node["confidence"],
        )
        for node in in_order
    ]
    return grow_forest(evidence, choices)
