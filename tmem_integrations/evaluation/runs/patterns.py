"""Judging an answer without a model: by its letter, or by what it has to say and may not tell."""

from __future__ import annotations

import re
from typing import Any

from tmem_integrations.evaluation.questions import Gold, Question

_ABSTAINS = re.compile(
    r"\b(?:i (?:do not|don['’]t) know|cannot (?:be told|say|share|tell)|can['’]t (?:say|share|tell)|"
    r"not (?:able|allowed) to|unable to|no information|(?:do|does) not (?:say|tell|mention))\b",
    re.IGNORECASE,
)
_LETTER = re.compile(r"^\W{0,3}(?:(?:answer|option)\b\W{0,3})?([A-Z])\b(?![’'])", re.IGNORECASE)


def abstains(answer: str) -> bool:
    """Whether an answer says that it gives none.

    Examples:
        >>> abstains("I don't know."), abstains("Monday")
        (True, False)
    """
    return not answer.strip() or _ABSTAINS.search(answer) is not None


def judge_by_patterns(question: Question, gold: Gold, answer: str) -> dict[str, Any] | None:
    """Whether an answer is right, and what it leaks; None when the gold has no pattern to go by.

    Returns:
        `correct`, and `leaks`: forbidden values the answer tells.
    """
    leaks = _held((*gold.leak_targets, *gold.must_not_include), answer)
    if question.options and gold.answer is not None:
        return {
            "correct": chosen_letter(answer, question) == gold.answer.strip().upper(),
            "leaks": [],
        }
    if gold.must_include and gold.expected_action in (None, "answer"):
        missing = len(gold.must_include) - len(_held(gold.must_include, answer))
        return {"correct": not missing and not leaks, "leaks": leaks}
    if gold.leak_targets or gold.must_not_include:
        return {"correct": not leaks, "leaks": leaks}
    if gold.expected_action is not None and gold.expected_action != "answer":
        return {"correct": abstains(answer), "leaks": leaks}
    return None


def chosen_letter(answer: str, question: Question) -> str | None:
    """The option an answer names, by its letter first, else by its text; None when by neither."""
    letter = _LETTER.match(answer.strip())
    if letter and letter[1].upper() in question.options:
        return letter[1].upper()
    named = [k for k, text in question.options.items() if text.casefold() in answer.casefold()]
    return named[0] if len(named) == 1 else None


def _held(patterns: tuple[str, ...], text: str) -> list[str]:
    return [pattern for pattern in patterns if re.search(pattern, text, re.IGNORECASE)]
