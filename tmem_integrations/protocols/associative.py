"""What a memory must do that finds messages for the forest by other ways than their words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols.history import AccessPolicy, Vectors
from tmem_integrations.protocols.models import Embedder
from tmem_integrations.protocols.stores import MessageStore


@dataclass(frozen=True, slots=True)
class Reached:
    """A message that an associative memory reached.

    Attributes:
        message_id: The message.
        via: What reached it, such as "horizon".
    """

    message_id: str
    via: str


class Associative(Protocol):
    """Finds messages that share no word with a question. It is told of every write."""

    @property
    def store(self) -> MessageStore:
        """Whose messages it was derived from."""
        ...

    @property
    def embedder(self) -> Embedder:
        """What its vectors are made with."""
        ...

    @property
    def policy(self) -> AccessPolicy | None:
        """Who may read which channel; None when everybody may read all."""
        ...

    @property
    def redact(self) -> Callable[[Message, Query], Message | None] | None:
        """What of a message an asker gets; None for all of it."""
        ...

    def reach(
        self, question: str, scope: Scope, vector: Vectors | None, most: int
    ) -> tuple[Reached, ...]:
        """Messages that `scope` admits, best first.

        Args:
            question: In words; what is reached may be ranked by them, too.
            scope: What it may read.
            vector: (d,) of the question; None without an embedder.
            most: At most this many.
        """
        ...

    def file(self, messages: Sequence[Message]) -> None:
        """Take in new and changed messages that are stored already."""
        ...

    def forget(self, ids: Collection[str]) -> None:
        """Take back all that was derived from messages."""
        ...
