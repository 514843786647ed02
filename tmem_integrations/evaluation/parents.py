"""Parents in the forest against the reply links that people drew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.measures import Share, bootstrap_interval, micro
from tmem_integrations.evaluation.methods.base import Method
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.recall import Progress, searchers
from tmem_integrations.stages.forest import Forest


@dataclass(frozen=True, slots=True)
class ParentOutcome:
    """One forest.

    Attributes:
        right: Of the nodes whose human parent is in the forest too, how many hang from it; None where
            there is no such node.
        before: The same if each node hung from the one before it in time: what any linker has to beat.
        links: How many links the forest has.
        threaded: How many of them stay within what people linked, directly or not.
    """

    right: Share | None
    before: Share | None
    links: int
    threaded: int


@dataclass(frozen=True, slots=True)
class ParentReport:
    """All forests of a method.

    Attributes:
        method: Name.
        max_messages: N.
        outcomes: One per question.
    """

    method: str
    max_messages: int
    outcomes: tuple[ParentOutcome, ...]

    def to_dict(self) -> dict[str, Any]:
        """Figures as JSON values."""
        right = [o.right for o in self.outcomes if o.right is not None]
        before = [o.before for o in self.outcomes if o.before is not None]
        links = sum(o.links for o in self.outcomes)
        return {
            "method": self.method,
            "at": self.max_messages,
            "questions": len(self.outcomes),
            "linked_by_people": sum(share.wanted for share in right),
            "accuracy": micro(right) if right else None,
            "interval_by_question": list(bootstrap_interval([s.value for s in right]))
            if right
            else None,
            "message_before": micro(before) if before else None,
            "links": links,
            "within_thread": sum(o.threaded for o in self.outcomes) / links if links else None,
        }


def human_parents(dataset: Dataset) -> tuple[Dataset, dict[str, str]]:
    """The data set without any reply link, and the links.

    Raises:
        InputError: If there are none.
    """
    links = {m.id: m.reply_to for m in dataset.messages if m.reply_to is not None}
    found = {**links, **dataset.parents}
    if not found:
        raise InputError(f"{dataset.name}: nobody drew reply links, so parents cannot be checked.")
    blind = tuple(replace(message, reply_to=None) for message in dataset.messages)
    return replace(dataset, messages=blind, parents={}), found


def measure_parents(
    dataset: Dataset, method: Method, max_messages: int, *, progress: Progress = lambda: None
) -> ParentReport:
    """Grow a forest for every question without reply links, and look whom people replied to.

    Args:
        dataset: With reply links, on messages or as gold.
        method: One that grows forests.
        max_messages: N.
        progress: Called after each question.

    Raises:
        InputError: If there are no links, or the method grows no forest.
    """
    blind, parents = human_parents(dataset)
    threads = _threads(parents)
    outcomes = []
    for ask, questions in searchers(blind, method):
        for question in questions:
            retrieval = ask(question, max_messages)[0].retrieval
            if retrieval is None:
                raise InputError(
                    f"{method.name} grows no forest; take forest or an ablation of it."
                )
            outcomes.append(_outcome(retrieval.forest, parents, threads))
            progress()
    return ParentReport(method.name, max_messages, tuple(outcomes))


def _outcome(
    forest: Forest, parents: Mapping[str, str], threads: Mapping[str, str]
) -> ParentOutcome:
    ids = [node.message.id for node in forest]
    chosen = {node.message.id: None if node.parent is None else ids[node.parent] for node in forest}
    in_time = [n.message.id for n in sorted(forest, key=lambda node: node.message.sent_at)]
    previous = dict(zip(in_time[1:], in_time, strict=False))
    judged = [i for i in ids if parents.get(i) in chosen]
    links = [(child, parent) for child, parent in chosen.items() if parent is not None]
    return ParentOutcome(
        right=_share(judged, parents, chosen),
        before=_share(judged, parents, previous),
        links=len(links),
        threaded=sum(threads.get(c, c) == threads.get(p, p) for c, p in links),
    )


def _share(
    judged: list[str], parents: Mapping[str, str], chosen: Mapping[str, str | None]
) -> Share | None:
    if not judged:
        return None
    return Share(sum(chosen.get(i) == parents[i] for i in judged), len(judged))


def _threads(parents: Mapping[str, str]) -> dict[str, str]:
    """Each message to the first message of its thread."""
    found: dict[str, str] = {}
    for message_id in parents:
        path = [message_id]
        while path[-1] in parents and path[-1] not in found and parents[path[-1]] not in path:
            path.append(parents[path[-1]])
        root = found.get(path[-1], path[-1])
        found.update(dict.fromkeys(path, root))
    return found
