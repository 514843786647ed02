"""A reranker behind the gate: it bounds the final evidence to the few best (TEF App. E.2).

A cross-encoder that reads question and message together is dearer than words and cheaper than a chat
model. So the gate hands it more than is to be shown, and it keeps the best of that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.counting import counted
from tmem_integrations.errors import ModelError
from tmem_integrations.judges.panel import LABEL_RANK, Gate, Judgement
from tmem_integrations.messages import Query
from tmem_integrations.protocols import Ranking, Scores
from tmem_integrations.requests import Flow, Rerank
from tmem_integrations.stages.candidates import Candidates
from tmem_integrations.stages.evidence import Evidence


@dataclass(frozen=True, slots=True)
class RerankedGate:
    """A gate whose evidence a reranker bounds.

    Attributes:
        gate: Whose evidence it is.
        pool: How many messages the reranker chooses from, at least those to be kept.
        may_fail: Whether the gate's own order decides when the reranker fails; else a `ModelError`.
    """

    gate: Gate
    pool: int
    may_fail: bool = True

    def __call__(
        self, query: Query, candidates: Candidates, relevance: Scores, config: EvidenceConfig
    ) -> Flow[Judgement[tuple[Evidence, ...]]]:
        """Have the reranker choose among what the gate keeps; see `panel.Gate`."""
        wider = replace(config, max_messages=max(self.pool, config.max_messages))
        judged = yield from self.gate(query, candidates, relevance, wider)
        evidence = judged.verdict
        if not evidence:
            return judged
        ranking = yield from Rerank(query.text, [own.message for own in evidence])
        if ranking is None:
            ranking = Ranking(error="there is none")
        if ranking.error is not None and not self.may_fail:
            raise ModelError(
                f"The reranker did not order {counted(len(evidence), 'message')}: {ranking.error}. "
                'ModelConfig(on_failure="degrade") goes by the gate\'s own order.'
            )
        order = _own_order(evidence) if ranking.error is not None else _valid(ranking, evidence)
        kept = tuple(evidence[i] for i in sorted(order[: config.max_messages]))
        why = (f"The reranker was left out: {ranking.error}.",) if ranking.error else ()
        return replace(
            judged,
            verdict=kept,
            degraded=(*judged.degraded, *why),
            notes=(*judged.notes, ("reranked", len(evidence))),
        )


def _valid(ranking: Ranking, evidence: tuple[Evidence, ...]) -> list[int]:
    """Positions that exist, each once."""
    return [i for i in dict.fromkeys(ranking.order) if 0 <= i < len(evidence)]


def _own_order(evidence: tuple[Evidence, ...]) -> list[int]:
    """By label, then by score, as the gate bounds them itself."""
    return sorted(
        range(len(evidence)), key=lambda i: (LABEL_RANK[evidence[i].label], -evidence[i].score, i)
    )
