"""Questions whose current and stale messages were read by hand.

One question asks for several things. Of each, one message states what is current (or an alternative
that states the same), others state what it replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tmem_integrations.evaluation.datasets.jsonl import read_question
from tmem_integrations.evaluation.questions import Dataset, Gold, Question, Unit
from tmem_integrations.evaluation.records import read_lines, text_of, texts_of
from tmem_integrations.evaluation.validation import check_dataset
from tmem_integrations.messages import Message
from tmem_integrations.times import zone_of


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing a question asks for.

    Attributes:
        current: The message that states what holds, or an alternative; any one is enough.
        stale: Messages that state what no longer holds.
        chain: All that was said of it, first to current.
    """

    current: Unit
    stale: frozenset[str]
    chain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateGold:
    """Hand-read gold of one question.

    Attributes:
        asked: The things it asks for.
        support: Messages that qualify an answer.
    """

    asked: tuple[Asked, ...]
    support: frozenset[str]

    @property
    def key(self) -> frozenset[str]:
        """Every message that states something current."""
        return frozenset().union(*(one.current for one in self.asked))


def read_gate_gold(
    path: Path, messages: Sequence[Message], timezone: str = "UTC"
) -> tuple[Dataset, dict[str, GateGold]]:
    """Read `evidence.jsonl`.

    Args:
        path: Lines with question_id, question, channel, as_of, asking_user, support and groups of
            asked, key, alternatives, stale and chain.
        messages: The histories it asks about.
        timezone: Zone of times that carry none.

    Returns:
        The questions as a data set, and the gold by question id.

    Raises:
        ImportFormatError: At the first line that cannot be read.
    """
    questions: list[Question] = []
    gold: dict[str, GateGold] = {}
    for where, record in read_lines(path):
        record = {"id": record.get("question_id"), **record}
        question = read_question(record, zone_of(timezone), where)
        questions.append(question)
        asked = tuple(_read_asked(group, where) for group in record.get("groups", ()))
        gold[question.id] = GateGold(asked, frozenset(texts_of(record, "support", where)))
    dataset = Dataset(
        name=path.stem,
        messages=tuple(messages),
        questions=tuple(questions),
        gold={i: Gold(evidence=tuple(a.current for a in g.asked)) for i, g in gold.items()},
    )
    return check_dataset(dataset), gold


def _read_asked(group: Mapping[str, Any], where: str) -> Asked:
    key = text_of(group, "key", where)
    return Asked(
        current=frozenset({key, *texts_of(group, "alternatives", where)}),
        stale=frozenset(texts_of(group, "stale", where)),
        chain=texts_of(group, "chain", where),
    )
