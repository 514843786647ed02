"""What is measured: a method indexes a history and selects messages for a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tmem_integrations.messages import Message, Query

if TYPE_CHECKING:
    from tmem_integrations.retrieval import Retrieval


@dataclass(frozen=True, slots=True)
class Usage:
    """What models took.

    Attributes:
        input_tokens: Read by the model, where it says so.
        output_tokens: Written by it.
        calls: How often it was asked.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.calls + other.calls,
        )


@dataclass(frozen=True, slots=True)
class Passage:
    """Text that a method wrote itself and shows instead of messages, such as a fact.

    Attributes:
        text: What is shown.
        sources: Ids of the messages it was made of, where the method keeps them.
    """

    text: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a method selects for one question.

    Attributes:
        ids: Message ids, the most relevant first; each once.
        retrieval: The forest, of methods that make one.
        passages: What is shown instead of the messages, of methods that write their own text.
        usage: What the method's own model took since the last question, where no trace tells it.
    """

    ids: tuple[str, ...]
    retrieval: Retrieval | None = None
    passages: tuple[Passage, ...] | None = None
    usage: Usage = Usage()


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
