"""What is measured: a method indexes a history and selects messages for a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tmem_integrations.messages import Message, Query

if TYPE_CHECKING:
    from tmem_integrations.retrieval import Retrieval


@dataclass(frozen=True, slots=True)
class Selection:
    """What a method selects for one question.

    Attributes:
        ids: Message ids, the most relevant first; each once.
        retrieval: The forest, of methods that make one.
    """

    ids: tuple[str, ...]
    retrieval: Retrieval | None = None


class Searcher(Protocol):
    """A method over one history."""

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        """Select at most `max_messages` messages that `query` may read.

        Args:
            query: The question; its filters and `as_of` hold.
            max_messages: Bound on the number of messages.
            max_tokens: Budget of the text, for methods that make one.
        """
        ...


class Method(Protocol):
    """A way of finding messages. It sees messages and queries, never gold."""

    @property
    def name(self) -> str:
        """As given on the command line."""
        ...

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Read a history."""
        ...
