"""The choice of relations with a chat model in its seat (TEF §4.3, Eq. 5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tmem_integrations.counting import counted
from tmem_integrations.judges.calls import Batch, Calls, judge
from tmem_integrations.judges.panel import Judgement
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.replies import Reading, read_relations
from tmem_integrations.prompts.relations import (
    RELATION_REPLY_TOKENS,
    RelationChild,
    RelationsPrompt,
    RelationVerdict,
    relations_schema,
)
from tmem_integrations.prompts.transcript import PromptMessage
from tmem_integrations.protocols import Partition, partition_of
from tmem_integrations.requests import Flow
from tmem_integrations.stages.evidence import Evidence
from tmem_integrations.stages.forest import ParentChoice, Relation, eligible_parents
from tmem_integrations.stages.relations import choose_parents


@dataclass(frozen=True, slots=True)
class ModelLinker:
    """A chat model as the linker of one question.

    Attributes:
        calls: How to ask it.
        prompt: What to ask.
    """

    calls: Calls
    prompt: RelationsPrompt

    def __call__(
        self, query: Query, evidence: Sequence[Evidence], surroundings: Sequence[Message]
    ) -> Flow[Judgement[tuple[ParentChoice, ...]]]:
        """Have the model choose the parents; see `panel.Linker`."""
        n_before = len(self.calls.budget.records)
        labels = [f"m{i + 1}" for i in range(len(evidence))]
        position = {label: i for i, label in enumerate(labels)}
        batches = [
            _batch(children, evidence, labels)
            for children in _children(evidence, self.calls.config.batch_size)
        ]

        def render(children: Sequence[RelationChild]) -> str:
            used = {c.label for c in children} | {p for c in children for p in c.parents}
            return self.prompt.render(
                query.text,
                [PromptMessage.of(evidence[i].message, labels[i]) for i in range(len(labels)) if labels[i] in used],
                children,
                asking_user=query.asking_user,
                as_of=query.as_of,
            )  # fmt: skip

        def read(children: Sequence[RelationChild], text: str) -> Reading[RelationVerdict]:
            return read_relations(text, children)

        answers = yield from judge(
            batches, RelationVerdict, self.calls, query,
            version=self.prompt.version, prompt=render, read=read, schema=relations_schema,
            reply_tokens=RELATION_REPLY_TOKENS,
        )  # fmt: skip
        choices = list(choose_parents(evidence, surroundings))
        failures: dict[str, int] = {}
        for answer in answers:
            for verdict in answer.verdicts or ():
                choices[position[verdict.child]] = _choice(verdict, position)
            left = len(answer.items) if answer.verdicts is None else len(answer.missing)
            if left:
                why = answer.failure or "the model passed over them"
                failures[why] = failures.get(why, 0) + left
        degraded = tuple(
            f"{counted(n, 'relation', 'was', 'were')} judged by rule: {why}."
            for why, n in failures.items()
        )
        notes = (self.calls.since(n_before),)
        return Judgement(tuple(choices), sum(failures.values()), degraded, notes)


def _children(evidence: Sequence[Evidence], size: int) -> list[list[int]]:
    """Positions of messages that have an eligible parent, by partition, `size` at a time."""
    parents = eligible_parents(evidence)
    members: dict[Partition, list[int]] = defaultdict(list)
    for i, own in enumerate(evidence):
        if parents[i]:
            members[partition_of(own.message)].append(i)
    return [
        group[start : start + size]
        for group in members.values()
        for start in range(0, len(group), size)
    ]


def _batch(
    children: Sequence[int], evidence: Sequence[Evidence], labels: Sequence[str]
) -> Batch[RelationChild]:
    parents = eligible_parents(evidence)
    items = tuple(RelationChild(labels[i], tuple(labels[p] for p in parents[i])) for i in children)
    shown = sorted({p for i in children for p in parents[i]} | set(children))
    return Batch(items, tuple(evidence[i].message for i in shown))


def _choice(verdict: RelationVerdict, position: dict[str, int]) -> ParentChoice:
    if verdict.parent is None:
        return ParentChoice(confidence=verdict.confidence)
    relation = Relation.UPDATE if verdict.relation == "UPDATE" else Relation.EXPAND
    return ParentChoice(position[verdict.parent], relation, verdict.confidence)
