"""The forest as a Mermaid flowchart, for READMEs, issues and chats that draw them."""

from __future__ import annotations

import re

from tmem_integrations.stages.forest import Relation
from tmem_integrations.visual.graph import Graph, GraphNode
from tmem_integrations.visual.states import State

_MAX_CHARACTERS = 120
# Whatever Mermaid, Markdown or HTML could act upon; its own way of writing a character is #60;.
_UNSAFE = re.compile(r"[^\w\s,?!']")
_LINKS = {Relation.UPDATE: "==>|UPDATE|", Relation.EXPAND: "-.->|EXPAND|"}
_CLASSES = {
    State.SUPERSEDED: ":::superseded",
    State.UPDATING: ":::superseded",
    State.CURRENT: ":::current",
}
_STYLES = (
    "classDef superseded stroke-dasharray:4 3,opacity:0.65",
    "classDef current stroke:#15803d,stroke-width:3px",
)


def mermaid_text(graph: Graph, *, max_characters: int = _MAX_CHARACTERS) -> str:
    """Write a forest as a flowchart: thick arrows update, dotted ones expand.

    Args:
        graph: What to show.
        max_characters: Longer texts are cut.
    """
    lines = ["flowchart TD"]
    lines += [f"    {_node(node, max_characters)}" for node in graph.nodes]
    lines += [
        f"    n{node.parent} {_LINKS[node.relation]} n{node.number}"
        for node in graph.nodes
        if node.parent is not None
    ]
    if not graph.nodes:
        lines.append('    n0["no evidence"]')
    return "\n".join([*lines, *(f"    {style}" for style in _STYLES)]) + "\n"


def _escape_label(text: str) -> str:
    """Write a text so that Mermaid shows it as it is, on one line.

    Examples:
        >>> _escape_label('"<b>"')
        '#34;#60;b#62;#34;'
    """
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", " ".join(text.split()))


def _node(node: GraphNode, max_characters: int) -> str:
    saying = node.saying
    head = f"[{node.number}] {saying.author}, {saying.time}"
    if node.state is State.CURRENT:
        head += " ◀ latest"
    text = " ".join(saying.text.split())
    cut = text if len(text) <= max_characters else f"{text[:max_characters]}…"
    return f'n{node.number}["{_escape_label(head)}<br/>{_escape_label(cut)}"]{_CLASSES.get(node.state, "")}'
