"""How well evidence is selected, on questions whose current and stale messages were read by hand.

A stale message shown without the current one is the worst that can happen to who asks; a current one
shown as out of date is the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tmem_integrations.evaluation.gate_gold import GateGold
from tmem_integrations.evaluation.measures import Share, bootstrap_interval, macro
from tmem_integrations.evaluation.methods.base import Method, Selection
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.recall import Progress, searchers
from tmem_integrations.evaluation.superseding import (
    Superseding,
    check_superseding,
    superseding_figures,
)
from tmem_integrations.stages.evidence import Label

# Beyond any history of the data sets: every candidate is ranked.
_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What a method shows for one question.

    Attributes:
        gold: Of the question.
        shown: Ids, the most relevant first.
        labelled: Ids that the method itself calls KEY; None when it labels nothing.
        superseding: What its links say of what holds; None when it links nothing.
    """

    gold: GateGold
    shown: tuple[str, ...]
    labelled: tuple[str, ...] | None
    superseding: Superseding | None = None

    @property
    def stale_shown(self) -> list[bool]:
        """For each stale message shown, per asked thing, whether the current one is shown too."""
        ids = set(self.shown)
        return [not one.current.isdisjoint(ids) for one in self.gold.asked for _ in one.stale & ids]


@dataclass(frozen=True, slots=True)
class GateReport:
    """Figures of one method at one bound.

    Attributes:
        method: Name.
        max_messages: N.
        outcomes: One per question.
        ranks: For each asked thing, how many candidates it takes, best first, until it is there; None
            where it never comes.
    """

    method: str
    max_messages: int
    outcomes: tuple[GateOutcome, ...]
    ranks: tuple[int | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Figures as JSON values."""
        shown = [_recall(o.gold, o.shown) for o in self.outcomes]
        stale = [ok for o in self.outcomes for ok in o.stale_shown]
        labels = [o.labelled for o in self.outcomes if o.labelled is not None]
        forests = [o.superseding for o in self.outcomes if o.superseding is not None]
        gold = [o.gold for o in self.outcomes]
        return {
            "method": self.method,
            "at": self.max_messages,
            "questions": len(self.outcomes),
            "asked": sum(s.wanted for s in shown),
            "shown": _figures(gold, [o.shown for o in self.outcomes]),
            "labelled": _figures(gold, labels) if len(labels) == len(gold) else None,
            "by_question": {
                "recall": macro(shown),
                "interval": list(bootstrap_interval([s.value for s in shown])),
            },
            "stale_shown": len(stale),
            "stale_alone": 1 - sum(stale) / len(stale) if stale else 0.0,
            "chains": _chains(self.outcomes),
            "superseding": superseding_figures(forests) if len(forests) == len(gold) else None,
            "candidates_for_95": candidates_needed(self.ranks, 0.95),
            "messages": sum(len(o.shown) for o in self.outcomes) / len(self.outcomes),
        }


def _recall(gold: GateGold, ids: Collection[str]) -> Share:
    shown = frozenset(ids)
    found = sum(not one.current.isdisjoint(shown) for one in gold.asked)
    return Share(found, len(gold.asked))


def _figures(gold: Sequence[GateGold], chosen: Sequence[Collection[str]]) -> dict[str, float]:
    """Precision, recall and F1 of KEY over all questions; `evidence` counts SUPPORT as right too."""
    shares = [_recall(own, ids) for own, ids in zip(gold, chosen, strict=True)]
    n_chosen = sum(map(len, chosen))
    right = sum(len(own.key & set(ids)) for own, ids in zip(gold, chosen, strict=True))
    useful = sum(
        len((own.key | own.support) & set(ids)) for own, ids in zip(gold, chosen, strict=True)
    )
    recall = sum(s.found for s in shares) / sum(s.wanted for s in shares)
    precision = right / n_chosen if n_chosen else 0.0
    return {
        "recall": recall,
        "precision": precision,
        "f1": 2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        "evidence": useful / n_chosen if n_chosen else 0.0,
    }


def _chains(outcomes: Sequence[GateOutcome]) -> float:
    """Share of chains of two or more that are shown from first to current."""
    chains = [(one.chain, o.shown) for o in outcomes for one in o.gold.asked if len(one.chain) > 1]
    return sum(set(chain) <= set(ids) for chain, ids in chains) / len(chains) if chains else 0.0


def candidates_needed(ranks: Sequence[int | None], share: float) -> int | None:
    """The number of candidates that holds at least `share` of what is sought; None if none does.

    Examples:
        >>> candidates_needed([1, 4, 9, None], 0.75), candidates_needed([1, 4, 9, None], 0.8)
        (9, None)
    """
    known = sorted(rank for rank in ranks if rank is not None)
    for count, rank in enumerate(known, start=1):
        if count >= share * len(ranks) - 1e-9:
            return rank
    return None


def measure_gate(
    dataset: Dataset,
    gold: Mapping[str, GateGold],
    method: Method,
    at: Sequence[int],
    *,
    progress: Progress = lambda: None,
) -> tuple[GateReport, ...]:
    """Ask every question with each bound, and once with none for the ranks.

    Args:
        dataset: As `gate_gold.read_gate_gold` gives it.
        gold: By question id.
        method: What is measured.
        at: Bounds N.
        progress: Called after each question.
    """
    outcomes: dict[int, list[GateOutcome]] = {n: [] for n in at}
    ranks: list[int | None] = []
    for ask, questions in searchers(dataset, method):
        for question in questions:
            own = gold[question.id]
            ranks.extend(_ranks(own, ask(question, _ALL)[0].ids))
            for n in at:
                outcomes[n].append(_outcome(own, ask(question, n)[0]))
            progress()
    return tuple(
        GateReport(method.name, n, tuple(found), tuple(ranks)) for n, found in outcomes.items()
    )


def _outcome(gold: GateGold, selection: Selection) -> GateOutcome:
    if selection.retrieval is None:
        return GateOutcome(gold, selection.ids, None)
    forest = selection.retrieval.forest
    labelled = tuple(node.message.id for node in forest if node.label is Label.KEY)
    return GateOutcome(gold, selection.ids, labelled, check_superseding(gold, forest))


def _ranks(gold: GateGold, ids: Sequence[str]) -> Iterator[int | None]:
    rank = {message_id: place for place, message_id in enumerate(ids, start=1)}
    for one in gold.asked:
        yield min((rank[i] for i in one.current if i in rank), default=None)
