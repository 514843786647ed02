"""Utterance: one message as the linker needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tmem_integrations.messages import Message

MAX_CHARACTERS: Final = 2_000
"""How much of a message is read: what it does to another is said early, the rest is pasted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One message as the linker needs it.

    Attributes:
        text: Its first words.
        author: Display name or nick; None if unknown.
        speaker: Who that is, also when renamed; None if unknown.
        position: Its number in the timeline of its partition: gaps count what was left out too.
    """

    text: str
    author: str | None = None
    speaker: str | None = None
    position: int = 0


def to_utterances(messages: Sequence[Message]) -> tuple[Utterance, ...]:
    """Messages in order, as utterances numbered in that order.

    What else a message knows, such as the message it replies to, stays out: the fit must not see
    it.
    """
    return tuple(
        Utterance(
            text=message.text[:MAX_CHARACTERS],
            author=message.author,
            speaker=message.author_id or message.author,
            position=position,
        )
        for position, message in enumerate(messages)
    )
