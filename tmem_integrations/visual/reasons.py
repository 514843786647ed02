"""Reasons: why a message is in the forest and hangs where it hangs, in sentences for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tmem_integrations.protocols import Partition, partition_of
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, Node, Relation
from tmem_integrations.visual.states import State


@dataclass(frozen=True, slots=True)
class _Match:
    """An anchor: place among the anchors, POSIX seconds, number in the forest where it is there."""

    rank: int
    at: float
    number: int | None


class Surroundings:
    """The anchors around the messages of a forest.

    Args:
        anchors: Best first.
        forest: As shown.
        associated: Message id → via what an associative memory reached it.
    """

    def __init__(
        self, anchors: Sequence[Evidence], forest: Forest, associated: Mapping[str, str]
    ) -> None:
        self.associated = associated
        numbers = {node.message.id: number for number, node in enumerate(forest, 1)}
        self.n_anchors = len(anchors)
        self.ranks = {hit.message.id: rank for rank, hit in enumerate(anchors, 1)}
        self._matches: dict[Partition, list[_Match]] = defaultdict(list)
        for rank, hit in enumerate(anchors, 1):
            match = _Match(rank, hit.message.sent_at.timestamp(), numbers.get(hit.message.id))
            self._matches[partition_of(hit.message)].append(match)

    def nearest(self, node: Node) -> _Match | None:
        """The anchor of its partition that is closest in time."""
        at = node.message.sent_at.timestamp()
        matches = self._matches.get(partition_of(node.message), ())
        return min(matches, key=lambda match: abs(match.at - at), default=None)


def why_kept(node: Node, around: Surroundings) -> Iterator[str]:
    """Why it is evidence."""
    if node.reason:
        yield f"Kept by the model: {node.reason}"
    via = around.associated.get(node.message.id)
    if via is not None:
        yield f"Filed under what the question is about: reached by its {via}."
    rank = around.ranks.get(node.message.id)
    if rank is not None:
        yield f"Shares words with the question: match {rank} of {around.n_anchors}."
    elif via is None and (match := around.nearest(node)) is not None:
        yield f"Found by what was said around it: {_distance(node, match)}."
    if node.label is Label.ANCHOR:
        yield "The gate did not confirm it."


def why_linked(node: Node, state: State, updated_by: Sequence[int]) -> Iterator[str]:
    """Why it hangs where it hangs, and whether it still holds."""
    if node.parent is None:
        yield "Starts a tree: no earlier message was found that it changes or explains."
    else:
        what = "Changes" if node.relation is Relation.UPDATE else "Answers or explains"
        yield f"{what} [{node.parent + 1}]; the link is {node.confidence:.0%} sure."
    if updated_by:
        yield f"Superseded by {', '.join(f'[{number}]' for number in updated_by)}."
    elif state is State.CURRENT:
        yield "The latest update of its tree: as far as the forest knows, this holds."
    elif state is State.UPDATING:
        yield "A later update of the same tree came after it."


def _distance(node: Node, match: _Match) -> str:
    seconds = node.message.sent_at.timestamp() - match.at
    what = f"match {match.rank}" if match.number is None else f"[{match.number}]"
    if seconds == 0:
        return f"at the same time as {what}"
    return f"{_show_span(abs(seconds))} {'after' if seconds > 0 else 'before'} {what}"


def _show_span(seconds: float) -> str:
    """A length of time in its largest unit.

    Examples:
        >>> _show_span(50.0), _show_span(5400.0), _show_span(200_000.0)
        ('50 s', '2 h', '2 days')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * 86_400:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} days"
