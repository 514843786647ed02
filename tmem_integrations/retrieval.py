"""`Retrieval`: the answer to one question, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from tmem_integrations.hostile import flags_of
from tmem_integrations.messages import Query
from tmem_integrations.stages.evidence import Evidence
from tmem_integrations.stages.forest import Forest
from tmem_integrations.trace import Trace


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answer to one question.

    Attributes:
        query: The question with its filters.
        forest: The forest as shown.
        text: The whole emitted text; empty when there is no evidence.
        tree_texts: One text per tree, in the same order.
        n_tokens: Tokens of `text`.
        dropped: Ids of messages that the budget left no room for.
        degraded: What is less than asked for (cut messages, windows judged by rule), a sentence each.
        trace: What each stage did, and why the result is empty.
        anchors: What seed retrieval found, best first: the flat list that the forest grew from.
        associated: Message id → via what, of those shown that an associative memory reached.
        zone: Zone of the times shown.
    """

    query: Query
    forest: Forest
    text: str
    tree_texts: tuple[str, ...]
    n_tokens: int
    dropped: tuple[str, ...]
    degraded: tuple[str, ...]
    trace: Trace
    anchors: tuple[Evidence, ...] = ()
    associated: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo = UTC

    @property
    def message_ids(self) -> tuple[str, ...]:
        """Ids in the order shown."""
        return tuple(node.message.id for node in self.forest)

    def metadata(self) -> dict[str, Any]:
        """What goes into `Document.metadata`: JSON values only."""
        nodes = [
            {
                "number": index + 1,
                "message_id": node.message.id,
                "parent": None if node.parent is None else node.parent + 1,
                "relation": node.relation.value,
                "depth": node.depth,
                "label": node.label.value,
                "author": node.message.author,
                "sent_at": node.message.sent_at.isoformat(),
                "edited_at": _iso(node.message.edited_at),
                "flags": list(flags_of(node.message.text)),
            }
            for index, node in enumerate(self.forest)
        ]
        return {
            "message_ids": list(self.message_ids),
            "nodes": nodes,
            "n_tokens": self.n_tokens,
            "trees": len(self.forest.roots),
            "dropped": list(self.dropped),
            "degraded": list(self.degraded),
            "llm_calls": self.trace.llm_calls,
            "llm_tokens": dict(self.trace.llm_tokens),
            "explanation": self.trace.explanation,
            "associated": dict(self.associated),
        }

    def to_html(self) -> str:
        """One self-contained page to look into the answer: write it to a file and open it."""
        from tmem_integrations.visual.graph import draw_graph
        from tmem_integrations.visual.html import html_page

        return html_page(draw_graph(self))

    def to_mermaid(self) -> str:
        """The forest as a Mermaid flowchart."""
        from tmem_integrations.visual.graph import draw_graph
        from tmem_integrations.visual.mermaid import mermaid_text

        return mermaid_text(draw_graph(self))

    def _repr_html_(self) -> str:
        """What Jupyter shows."""
        from tmem_integrations.visual.fragment import html_fragment
        from tmem_integrations.visual.graph import draw_graph

        return html_fragment(draw_graph(self))


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()
