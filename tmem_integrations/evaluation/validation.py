"""Checks on what was loaded, and that no gold comes near a method."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass

from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.questions import Dataset, Gold
from tmem_integrations.messages import Message, Query

GOLD_KEYS = frozenset(
    {
        # ours
        "gold", "answer", "evidence", "must_include", "must_not_include", "leak_targets",
        "expected_action", "key_alternatives", "stale", "chains", "mixed", "hard",
        # those of published data sets
        "A", "R", "adversarial_answer", "gold_answer", "is_decision_point", "is_noise",
        "observation", "event_summary", "relevant_text_span", "rubric", "cue_dialogue",
    }
)  # fmt: skip
"""Keys under which data sets keep what a method may not know."""


class GoldLeakError(InputError):
    """Something that only the scorer may know came near a method."""


def check_blind(value: object, where: str) -> None:
    """Make sure that what a method is given holds nothing but messages and a query.

    Args:
        value: A `Message`, a `Query`, plain data, or nested sequences and mappings of them.
        where: How an error names the place.

    Raises:
        GoldLeakError: If a `Gold`, any other record, or a key of `GOLD_KEYS` is found.
    """
    if isinstance(value, Message | Query):
        return
    if isinstance(value, Gold) or (is_dataclass(value) and not isinstance(value, type)):
        raise GoldLeakError(
            f"{where}: a method may see messages and a query, found a {type(value).__name__}."
        )
    if isinstance(value, Mapping):
        leaked = sorted(GOLD_KEYS & {str(key) for key in value})
        if leaked:
            raise GoldLeakError(f"{where}: found the gold keys {leaked}; leave them to the scorer.")
        for key, inner in value.items():
            check_blind(inner, f"{where}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, inner in enumerate(value):
            check_blind(inner, f"{where}[{index}]")


def leaks_of(prompt: str, gold: Gold, allowed: Iterable[str]) -> tuple[str, ...]:
    """Gold values that stand in a prompt although nothing the prompt may hold says them.

    Args:
        prompt: What is asked of a model before the judge.
        gold: Of the same question.
        allowed: Texts the prompt is made of: question, template, shown messages.

    Examples:
        >>> leaks_of("Q: who? Hint: Ann", Gold(answer="Ann"), ["Q: who?"])
        ('Ann',)
        >>> leaks_of("Q: who? m1: Ann does", Gold(answer="Ann"), ["Q: who?", "Ann does"])
        ()
    """
    said = "\n".join(allowed)
    values = [gold.answer, *gold.must_include, *gold.must_not_include, *gold.leak_targets]
    patterns = [re.escape(values[0]) if values[0] else None, *values[1:]]
    return tuple(
        value
        for value, pattern in zip(values, patterns, strict=True)
        if value and pattern and _holds(pattern, prompt) and not _holds(pattern, said)
    )


def _holds(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def check_dataset(dataset: Dataset) -> Dataset:
    """The data set itself.

    Raises:
        InputError: If something is wrong with it; names the first five problems.
    """
    problems = list(_problems(dataset))
    if problems:
        shown = " ".join(problems[:5])
        raise InputError(f"{dataset.name}: {len(problems)} problems. {shown}")
    return dataset


def _problems(dataset: Dataset) -> Iterator[str]:
    for what, ids in (
        ("Message", [m.id for m in dataset.messages]),
        ("Question", [q.id for q in dataset.questions]),
    ):
        for repeated, times in Counter(ids).items():
            if times > 1:
                yield f"{what} id {repeated!r} occurs {times} times."
    by_id = {m.id: m for m in dataset.messages}
    channels = {m.channel for m in dataset.messages}
    for question in dataset.questions:
        where = f"Question {question.id!r}"
        if question.channel is not None and question.channel not in channels:
            yield f"{where} searches the channel {question.channel!r}, which has no message."
        gold = dataset.gold.get(question.id)
        if gold is None:
            yield f"{where} has no gold."
            continue
        for message_id in sorted(frozenset().union(*gold.evidence)):
            message = by_id.get(message_id)
            if message is None:
                yield f"{where}: evidence {message_id!r} is no message."
            elif question.channel not in (None, message.channel):
                yield f"{where}: evidence {message_id!r} is in another channel."
            elif question.as_of is not None and message.sent_at > question.as_of:
                yield f"{where}: evidence {message_id!r} was sent after the question's as_of."
