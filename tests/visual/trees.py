"""Answers to draw, made by hand."""

from datetime import UTC, datetime, timedelta, tzinfo

from tmem_integrations.messages import Message, Query
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, Node, Relation
from tmem_integrations.stages.linearization import linearize, split_trees
from tmem_integrations.trace import Lane, Timeline, Trace, Window

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
ROOT, UPDATE, EXPAND = Relation.ROOT, Relation.UPDATE, Relation.EXPAND
Link = tuple[int | None, Relation]


def forest_of(*links: Link, texts: tuple[str, ...] = (), **fields: str | None) -> Forest:
    """Nodes given as (parent, relation), an hour apart, by Ann in ops."""
    grown: list[Node] = []
    for i, (parent, relation) in enumerate(links):
        message = Message(
            id=f"m{i}",
            text=texts[i] if texts else f"text {i}",
            sent_at=START + timedelta(hours=i),
            **({"author": "Ann", "channel": "ops"} | fields),
        )
        depth = 0 if parent is None else grown[parent].depth + 1
        grown.append(Node(message, Label.KEY, 1.0, parent, relation, 1.0, depth))
    return Forest(tuple(grown))


def answer_of(
    forest: Forest,
    *,
    question: str = "When do we ship?",
    anchors: tuple[int, ...] = (0,),
    zone: tzinfo = UTC,
    explanation: str | None = None,
) -> Retrieval:
    """An answer that shows `forest`; `anchors` are nodes of it, best first."""
    text = linearize(forest, zone=zone)
    hours = START.timestamp() + 3600.0 * len(forest)
    lane = Lane("channel", "ops", (1,) * 10, (Window(START.timestamp(), hours, len(anchors)),))
    return Retrieval(
        query=Query(text=question),
        forest=forest,
        text=text,
        tree_texts=split_trees(text),
        n_tokens=len(text.split()),
        dropped=(),
        degraded=(),
        trace=Trace(explanation=explanation, timeline=Timeline(START.timestamp(), hours, (lane,))),
        anchors=tuple(
            Evidence(forest.nodes[i].message, Label.ANCHOR, 1.0) for i in anchors if i < len(forest)
        ),
        zone=zone,
    )
