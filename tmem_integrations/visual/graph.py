"""The graph: what every drawing of an answer shows, worked out once.

Numbers, states, reasons and times are settled here, so that the page, the diagram and the notebook say
the same. Chat text is data: what a screen would act upon or hide is shown by its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import tzinfo
from typing import Any, Protocol

from tmem_integrations.messages import Message, Query
from tmem_integrations.protocols import partition_of
from tmem_integrations.stages.evidence import Evidence
from tmem_integrations.stages.forest import Forest, Relation
from tmem_integrations.trace import Trace
from tmem_integrations.visual.reasons import Surroundings, why_kept, why_linked
from tmem_integrations.visual.states import State, states_of
from tmem_integrations.visual.terminal import safe_text, show_time

_HEADER = re.compile(r" *\[(\d+)\] ")


class Answer(Protocol):
    """What can be drawn, such as a `Retrieval`."""

    @property
    def query(self) -> Query: ...
    @property
    def forest(self) -> Forest: ...
    @property
    def text(self) -> str: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def dropped(self) -> tuple[str, ...]: ...
    @property
    def degraded(self) -> tuple[str, ...]: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def anchors(self) -> tuple[Evidence, ...]: ...
    @property
    def associated(self) -> Mapping[str, str]: ...
    @property
    def zone(self) -> tzinfo: ...


@dataclass(frozen=True, slots=True)
class Saying:
    """A message as it is drawn; all texts are safe to show.

    Attributes:
        at: POSIX seconds.
        time: Day and time in the zone of the answer.
        author: Name, else id, else "unknown".
        link: Where the source shows it; only http and https.
        lane: Index of its lane on the timeline; None when it has none.
    """

    message_id: str
    text: str
    at: float
    time: str
    author: str
    role: str | None
    channel: str | None
    topic: str | None
    link: str | None
    lane: int | None


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the forest.

    Attributes:
        number: As shown, from 1.
        parent: Number of the parent; None for a root.
        state: What became of what it says.
        updated_by: Numbers of those that update it.
        rank: Place among the anchors, from 1; None when seed retrieval did not find it.
        why: Why it is evidence, and why it hangs where it hangs; a sentence each.
    """

    number: int
    parent: int | None
    relation: Relation
    depth: int
    label: str
    state: State
    updated_by: tuple[int, ...]
    confidence: float
    rank: int | None
    why: tuple[str, ...]
    saying: Saying


@dataclass(frozen=True, slots=True)
class FlatHit:
    """An anchor: a line of the flat list.

    Attributes:
        rank: From 1, best first.
        number: Of the node it became; None when it is not in the forest.
    """

    rank: int
    score: float
    number: int | None
    saying: Saying


@dataclass(frozen=True, slots=True)
class TextPart:
    """Consecutive lines of the text that the model gets: those of a node, or None for the legend."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Graph:
    """An answer, ready to be drawn.

    Attributes:
        question: What was asked.
        about: Who asked, as of when, and the filters: label and value each.
        notes: Why the answer is empty or less than asked for; a sentence each.
        max_tokens: Budget of the text; None when it is not known.
        zone: IANA name or offset of the times shown.
        trace: As `Trace.to_dict` gives it.
    """

    question: str
    about: tuple[tuple[str, str], ...]
    nodes: tuple[GraphNode, ...]
    flat: tuple[FlatHit, ...]
    text: tuple[TextPart, ...]
    n_tokens: int
    max_tokens: int | None
    notes: tuple[str, ...]
    zone: str
    trace: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return asdict(self)


def draw_graph(answer: Answer) -> Graph:
    """Work out what every drawing of an answer shows."""
    trace = answer.trace
    ranks = {hit.message.id: rank for rank, hit in enumerate(answer.anchors, 1)}
    numbers = {node.message.id: number for number, node in enumerate(answer.forest, 1)}
    draw = _Pen(
        answer.zone, {(lane.kind, lane.name): i for i, lane in enumerate(trace.timeline.lanes)}
    )
    budget = next(
        (s.notes.get("max_tokens") for s in trace.stages if s.stage == "compression"), None
    )
    notes = (trace.explanation, *answer.degraded)
    return Graph(
        question=safe_text(answer.query.text),
        about=tuple(_about(answer.query, answer.zone)),
        nodes=tuple(_nodes(answer, ranks, draw)),
        flat=tuple(
            FlatHit(rank, hit.score, numbers.get(hit.message.id), draw.saying(hit.message))
            for rank, hit in enumerate(answer.anchors, 1)
        ),
        text=tuple(split_text(answer.text)),
        n_tokens=answer.n_tokens,
        max_tokens=budget if isinstance(budget, int) else None,
        notes=tuple(safe_text(note) for note in notes if note is not None),
        zone=_zone_name(answer.zone),
        trace=_safe(trace.to_dict()),
    )


def split_text(text: str) -> Iterator[TextPart]:
    """Part the linearized text by node; a blank line goes with what stands before it."""
    number: int | None = None
    lines: list[str] = []
    for line in text.split("\n") if text else ():
        found = _HEADER.match(line)
        if found is not None and lines:
            yield TextPart(number, safe_text("\n".join(lines)))
            lines = []
        number = int(found[1]) if found is not None else number
        lines.append(line)
    if lines:
        yield TextPart(number, safe_text("\n".join(lines)))


class _Pen:
    """Draws messages in one zone and on one timeline."""

    def __init__(self, zone: tzinfo, lanes: dict[tuple[str, str], int]) -> None:
        self._zone = zone
        self._lanes = lanes

    def saying(self, message: Message) -> Saying:
        link = message.permalink or ""
        return Saying(
            message_id=safe_text(message.id),
            text=safe_text(message.text),
            at=message.sent_at.timestamp(),
            time=show_time(message.sent_at, self._zone),
            author=safe_text(message.author or message.author_id or "unknown"),
            role=_safe(message.role),
            channel=_safe(message.channel),
            topic=_safe(message.topic),
            link=safe_text(link) if link.startswith(("https://", "http://")) else None,
            lane=self._lanes.get(partition_of(message)),
        )


def _nodes(answer: Answer, ranks: dict[str, int], draw: _Pen) -> Iterator[GraphNode]:
    forest, states = answer.forest, states_of(answer.forest)
    around = Surroundings(answer.anchors, forest, answer.associated)
    for index, node in enumerate(forest):
        updates = tuple(
            i + 1 for i in forest.children(index) if forest.nodes[i].relation is Relation.UPDATE
        )
        yield GraphNode(
            number=index + 1,
            parent=None if node.parent is None else node.parent + 1,
            relation=node.relation,
            depth=node.depth,
            label=node.label.value,
            state=states[index],
            updated_by=updates,
            confidence=node.confidence,
            rank=ranks.get(node.message.id),
            why=tuple(
                map(safe_text, (*why_kept(node, around), *why_linked(node, states[index], updates)))
            ),
            saying=draw.saying(node.message),
        )


def _about(query: Query, zone: tzinfo) -> Iterator[tuple[str, str]]:
    if query.asking_user is not None:
        yield "asked by", safe_text(query.asking_user)
    for label, time in (("as of", query.as_of), ("after", query.after), ("before", query.before)):
        if time is not None:
            yield label, show_time(time, zone)
    names: Sequence[tuple[str, frozenset[str] | None]] = (
        ("in", query.channels),
        ("not in", query.not_channels),
        ("by", query.authors),
        ("about", query.topics),
    )
    for label, values in names:
        if values is not None:
            yield label, safe_text(", ".join(sorted(values)))


def _zone_name(zone: tzinfo) -> str:
    return str(getattr(zone, "key", None) or zone.tzname(None) or "UTC")


def _safe(value: Any) -> Any:
    """All texts in JSON values made safe to show."""
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, dict):
        return {safe_text(str(key)): _safe(item) for key, item in value.items()}
    return [_safe(item) for item in value] if isinstance(value, list | tuple) else value
