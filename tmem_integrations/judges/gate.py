"""The evidence gate with a chat model in its seat (TEF §4.2): R' = anchors ∪ KEY ∪ SUPPORT (Eq. 3).

Of all candidates the most relevant are shown, in order of time, a few dozen to a call. What the model
picks is evidence whatever its rank; the anchors it passed over fill the places that are left. What it
could not judge is judged by rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tmem_integrations.config import EvidenceConfig
from tmem_integrations.counting import counted
from tmem_integrations.judges.calls import Answers, Batch, Calls, judge
from tmem_integrations.judges.panel import LABEL_RANK, Judgement
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.replies import Reading, read_gate
from tmem_integrations.prompts.gate import (
    GATE_REPLY_TOKENS,
    GatePrompt,
    GateVerdict,
    gate_schema,
)
from tmem_integrations.prompts.transcript import PromptMessage
from tmem_integrations.protocols import Scores
from tmem_integrations.requests import Flow
from tmem_integrations.stages.candidates import Candidates
from tmem_integrations.stages.evidence import Evidence, Label, select_evidence


@dataclass(frozen=True, slots=True)
class ModelGate:
    """A chat model as the gate of one question.

    Attributes:
        calls: How to ask it.
        prompt: What to ask.
    """

    calls: Calls
    prompt: GatePrompt

    def __call__(
        self, query: Query, candidates: Candidates, relevance: Scores, config: EvidenceConfig
    ) -> Flow[Judgement[tuple[Evidence, ...]]]:
        """Have the model pick the evidence; see `panel.Gate`."""
        n_before = len(self.calls.budget.records)
        shown = _most_relevant(relevance, self.calls.config.gate_candidates)
        batches = _batches(candidates, relevance, shown, self.calls.config.batch_size)

        def render(messages: Sequence[Message]) -> str:
            return self.prompt.render(
                query.text,
                [PromptMessage.of(m, label) for label, m in _labelled(messages)],
                asking_user=query.asking_user,
                as_of=query.as_of,
            )

        def read(messages: Sequence[Message], text: str) -> Reading[GateVerdict]:
            return read_gate(text, [label for label, _ in _labelled(messages)])

        answers = yield from judge(
            batches, GateVerdict, self.calls, query,
            version=self.prompt.version, prompt=render, read=read, schema=gate_schema,
            reply_tokens=GATE_REPLY_TOKENS,
        )  # fmt: skip
        judged = _judgement(answers, candidates, relevance, config)
        return replace(judged, notes=(*judged.notes, self.calls.since(n_before)))


def _labelled(messages: Sequence[Message]) -> list[tuple[str, Message]]:
    return [(f"c{i + 1}", message) for i, message in enumerate(messages)]


def _most_relevant(relevance: Scores, n: int) -> list[int]:
    order = np.argsort(-relevance, kind="stable")[:n]
    return sorted(int(i) for i in order if relevance[i] > 0)


def _batches(
    candidates: Candidates, relevance: Scores, shown: Sequence[int], size: int
) -> list[Batch[Message]]:
    """Neighbours of a run stay together; the batch with the most relevant message is asked first.

    Within a batch messages are in order of time, whatever run they come from: what is current is read
    from that order.
    """
    n_batches = -(-len(shown) // size)
    parts = list(np.array_split(np.array(shown, dtype=np.int64), n_batches or 1))
    parts.sort(key=lambda part: -float(relevance[part].max(initial=0.0)))
    messages = [
        tuple(sorted((candidates.messages[i] for i in part.tolist()), key=lambda m: m.sent_at))
        for part in parts
    ]
    return [Batch(items, items) for items in messages if items]


def _judgement(
    answers: Sequence[Answers[Message, GateVerdict]],
    candidates: Candidates,
    relevance: Scores,
    config: EvidenceConfig,
) -> Judgement[tuple[Evidence, ...]]:
    at = {message.id: i for i, message in enumerate(candidates.messages)}
    by_rule = {e.message.id: e.label for e in select_evidence(candidates, relevance, config)}
    labels: dict[int, tuple[Label, str | None]] = {
        i: (Label.ANCHOR, None)
        for i in range(len(candidates))
        if candidates.is_anchor[i] and relevance[i] > 0
    }
    failures: dict[str, int] = {}
    for answer in answers:
        if answer.verdicts is None:
            failures[answer.failure or ""] = failures.get(answer.failure or "", 0) + len(
                answer.items
            )
            for message in answer.items:
                if message.id in by_rule:
                    labels[at[message.id]] = (by_rule[message.id], None)
            continue
        messages = dict(_labelled(answer.items))
        for verdict in answer.verdicts:
            index = at[messages[verdict.label].id]
            labels[index] = (Label(verdict.kind), verdict.reason or None)
    order = sorted(labels, key=lambda i: (LABEL_RANK[labels[i][0]], -relevance[i], i))
    kept = order[: config.max_messages]
    evidence = tuple(
        Evidence(candidates.messages[i], labels[i][0], float(relevance[i]), labels[i][1])
        for i in sorted(kept, key=lambda i: (candidates.messages[i].sent_at, i))
    )
    n_unjudged = sum(failures.values())
    degraded = tuple(
        f"{counted(n, 'candidate message', 'was', 'were')} judged by rule: {why}."
        for why, n in failures.items()
    )
    picked = sum(label is not Label.ANCHOR for label, _ in labels.values())
    shown = sum(len(answer.items) for answer in answers)
    return Judgement(evidence, n_unjudged, degraded, (("shown", shown), ("picked", picked)))
