"""A peer's memory, which reads messages one after the other and only grows.

A question with an `as_of` may know no later message. So the memory is read up to that moment, and goes
on from there for the next question. A question that may not know all that the last one could gets a
memory read anew; a data set's questions are asked in the order of their `as_of`, so that this is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tmem_integrations.errors import TmemError
from tmem_integrations.evaluation.methods.base import Passage, Searcher, Selection, Usage
from tmem_integrations.evaluation.methods.ranking import Messages, visible_to
from tmem_integrations.messages import Message, Query


class PeerError(TmemError):
    """A peer's own code failed."""


class PeerMemory(Protocol):
    """The memory of a peer over one history."""

    def add(self, message: Message) -> None:
        """Read the next message."""
        ...

    def search(self, question: str, max_passages: int, max_tokens: int) -> Sequence[Passage]:
        """What the peer would show, the most relevant first."""
        ...

    def take_usage(self) -> Usage:
        """What its model took since this was last asked."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(frozen=True, slots=True)
class PeerMethod:
    """A peer as a method.

    Attributes:
        name: As given on the command line.
        open: Makes an empty memory.
        shows_messages: Whether its passages are the messages themselves.
    """

    name: str
    open: Callable[[], PeerMemory]
    shows_messages: bool = False

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Keep the messages; the peer reads those that a question may know."""
        # Sorting is stable: messages of one instant keep their order of arrival.
        return _PeerSearcher(self, tuple(sorted(messages, key=lambda message: message.sent_at)))


class _PeerSearcher:
    def __init__(self, method: PeerMethod, messages: Messages) -> None:
        self._method = method
        self._messages = messages
        self._memory: PeerMemory | None = None
        self._seen: list[Message] = []

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        visible = visible_to(query, self._messages)
        if not visible:
            return Selection(())
        try:
            memory = self._read(visible)
            found = tuple(memory.search(query.text, max_messages, max_tokens))[:max_messages]
        except TmemError:
            raise
        except Exception as error:  # whatever the code of a peer raises
            raise PeerError(f"{self._method.name}: {type(error).__name__}: {error}") from error
        known = {message.id for message in visible}
        ids = dict.fromkeys(i for passage in found for i in passage.sources if i in known)
        return Selection(
            tuple(ids)[:max_messages],
            passages=None if self._method.shows_messages else found,
            usage=memory.take_usage(),
        )

    def close(self) -> None:
        """Let go of what the peer holds."""
        if self._memory is not None:
            self._memory.close()
        self._memory, self._seen = None, []

    def _read(self, visible: Messages) -> PeerMemory:
        """The memory, when it has read what is visible and nothing else."""
        # Fewer, or others: a filter may let it know what the last question could not, and the reverse.
        if list(visible[: len(self._seen)]) != self._seen:
            self.close()
        if self._memory is None:
            self._memory = self._method.open()
        for message in visible[len(self._seen) :]:
            self._memory.add(message)
            self._seen.append(message)
        return self._memory


def spoken(message: Message, *, dated: bool = True) -> str:
    """A message as peers read it: when, who, what.

    Args:
        message: What was written.
        dated: Whether the time stands before it; a peer that is told the time apart needs none.

    Examples:
        >>> from datetime import UTC, datetime
        >>> sent_at = datetime(2026, 3, 2, 9, 6, tzinfo=UTC)
        >>> spoken(Message(id="m", text="Hi", author="Ann", role="lead", sent_at=sent_at))
        '[2026-03-02 09:06 UTC] Ann (lead): Hi'
    """
    role = f" ({message.role})" if message.role else ""
    said = f"{message.author}{role}: {message.text}" if message.author else message.text
    return f"[{message.sent_at:%Y-%m-%d %H:%M} UTC] {said}" if dated else said
