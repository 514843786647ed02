"""The panel: who sits in the two seats, and the rules that sit there without a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.budget import Budget
from tmem_integrations.protocols import Scores
from tmem_integrations.requests import Flow
from tmem_integrations.stages.candidates import Candidates
from tmem_integrations.stages.evidence import Evidence, Label, select_evidence
from tmem_integrations.stages.forest import ParentChoice
from tmem_integrations.stages.relations import choose_parents

T = TypeVar("T")
LABEL_RANK = {Label.KEY: 0, Label.SUPPORT: 1, Label.ANCHOR: 2}
"""Which evidence stays when there is too much: the smaller first."""


@dataclass(frozen=True, slots=True)
class Judgement(Generic[T]):
    """What a seat decided.

    Attributes:
        verdict: The decision.
        n_unjudged: How many messages a model should have judged and rules did.
        degraded: Why, one sentence for each reason.
        notes: For the trace: JSON values only.
    """

    verdict: T
    n_unjudged: int = 0
    degraded: tuple[str, ...] = ()
    notes: tuple[tuple[str, Any], ...] = ()


class Gate(Protocol):
    """Decides which candidates are evidence."""

    def __call__(
        self, query: Query, candidates: Candidates, relevance: Scores, config: EvidenceConfig
    ) -> Flow[Judgement[tuple[Evidence, ...]]]:
        """Evidence in order of (time, arrival), at most `config.max_messages`."""
        ...


class Linker(Protocol):
    """Decides which earlier message each piece of evidence hangs from."""

    def __call__(
        self, query: Query, evidence: Sequence[Evidence], surroundings: Sequence[Message]
    ) -> Flow[Judgement[tuple[ParentChoice, ...]]]:
        """One choice for each piece of evidence."""
        ...


@dataclass(frozen=True, slots=True)
class Panel:
    """Who judges one question.

    Attributes:
        gate: Which candidates are evidence.
        linker: Which earlier message each hangs from.
        budget: The account of the model's calls; None where rules judge.
    """

    gate: Gate
    linker: Linker
    budget: Budget | None = None


def gate_by_rules(
    query: Query, candidates: Candidates, relevance: Scores, config: EvidenceConfig
) -> Flow[Judgement[tuple[Evidence, ...]]]:
    """The most relevant candidates: see `select_evidence`."""
    yield from ()
    return Judgement(select_evidence(candidates, relevance, config))


def link_by_rules(
    query: Query, evidence: Sequence[Evidence], surroundings: Sequence[Message]
) -> Flow[Judgement[tuple[ParentChoice, ...]]]:
    """Reply links and the fitted linker: see `choose_parents`."""
    yield from ()
    return Judgement(choose_parents(evidence, surroundings))


RULES = Panel(gate_by_rules, link_by_rules)
