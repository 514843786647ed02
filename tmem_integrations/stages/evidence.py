"""Evidence: the messages kept for the question, each with a label (TEF §4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tmem_integrations.messages import Message


class Label(StrEnum):
    """Why a message is kept."""

    KEY = "KEY"  # states an answer-bearing fact
    SUPPORT = "SUPPORT"  # a needed scope, condition, exception, owner or deadline
    ANCHOR = "ANCHOR"  # found by seed retrieval, not confirmed by the gate


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message kept for the question.

    Attributes:
        message: The original.
        label: KEY, SUPPORT or ANCHOR.
        score: Relevance that ranked it; larger is better, comparable within one question only.
        reason: Why the gate kept it, in a few words, where the gate says so.
    """

    message: Message
    label: Label
    score: float
    reason: str | None = None
