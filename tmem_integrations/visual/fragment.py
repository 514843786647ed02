"""A forest as plain HTML without scripts: what notebooks show, and the page where scripts are off."""

from __future__ import annotations

from html import escape

from tmem_integrations.stages.forest import Relation
from tmem_integrations.visual.graph import Graph, GraphNode
from tmem_integrations.visual.states import State

_BADGES = {Relation.ROOT: "◆ start", Relation.UPDATE: "↻ updates", Relation.EXPAND: "+ expands"}
_EDGES = {
    Relation.ROOT: "3px double #8888",
    Relation.UPDATE: "3px solid #c2570c",
    Relation.EXPAND: "2px dotted #2f7fc4",
}
_FADED = frozenset({State.SUPERSEDED, State.UPDATING})
# Deeper chains keep this indentation, so that a thread of hundreds stays readable.
_MAX_INDENT = 8


def html_fragment(graph: Graph) -> str:
    """Write the forest as HTML that can stand in any page; everything from the chat is escaped."""
    n_trees = sum(node.parent is None for node in graph.nodes)
    parts = [f"<p><strong>{escape(graph.question)}</strong>"]
    parts += [f" · {escape(name)} {escape(value)}" for name, value in graph.about]
    n_messages = len(graph.nodes)
    parts.append(
        f" · {n_messages} message{'s' * (n_messages != 1)} in {n_trees} tree{'s' * (n_trees != 1)}"
        f" · {graph.n_tokens} tokens</p>"
    )
    parts += [f"<p><em>{escape(note)}</em></p>" for note in graph.notes]
    parts += map(_row, graph.nodes)
    return f'<div style="max-width:60rem;line-height:1.45">{"".join(parts)}</div>'


def _row(node: GraphNode) -> str:
    said, faded = node.saying, node.state in _FADED
    place = " · ".join(part for part in (said.channel, said.topic) if part is not None)
    head = f"[{node.number}] {_BADGES[node.relation]}"
    head += "" if node.parent is None else f" [{node.parent}]"
    mark = ""
    if node.state is State.CURRENT:
        mark = ' <strong style="color:#15803d">◀ latest</strong>'
    elif faded:
        mark = " <em>superseded</em>"
    style = (
        f"margin:{'.7rem' if node.parent is None else '.2rem'} 0 0 {min(node.depth, _MAX_INDENT) * 1.4:g}rem;"
        f"padding:.1rem .7rem;border-left:{_EDGES[node.relation]};opacity:{0.65 if faded else 1}"
    )
    weight = "600" if node.state is State.CURRENT else "400"
    return (
        f'<div style="{style}" title="{escape(" ".join(node.why))}">'
        f"<small>{head} <strong><bdi>{escape(said.author)}</bdi></strong> {escape(said.time)} "
        f"<bdi>{escape(place)}</bdi> {node.label}{mark}</small>"
        f'<div dir="auto" style="white-space:pre-wrap;overflow-wrap:anywhere;font-weight:{weight}">'
        f"{escape(said.text)}</div></div>"
    )
