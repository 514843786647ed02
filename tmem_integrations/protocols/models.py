"""What an embedder, a token counter, a language model and a reranker must do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from tmem_integrations.messages import Message
from tmem_integrations.protocols.history import Vectors

# A transient failure may pass; a retried one may too, but the client has tried again already; one of
# the content goes with what was asked; a permanent one stays.
Failure = Literal["transient", "retried", "content", "permanent"]


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """Model name: a store refuses vectors of another one."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32 unit vectors; a text without content gives a zero vector."""
        ...

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same without blocking the event loop."""
        ...


class TokenCounter(Protocol):
    """How many tokens a text costs the reader."""

    def count(self, text: str) -> int:
        """Tokens of `text`; never raises on odd text."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered.

    Attributes:
        text: The answer; empty when the call failed or was refused.
        error: Why there is no usable text, else None.
        failure: What can be done about the error; None when that is unknown.
        retry_after: Seconds the service asks to wait before the next call.
    """

    text: str
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    failure: Failure | None = None
    retry_after: float | None = None


class LanguageModel(Protocol):
    """Prompts to replies. A failed call gives a `Reply` with an error, never an exception."""

    @property
    def name(self) -> str: ...

    def ask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """One reply per prompt, in order, with bounded concurrency.

        Args:
            prompts: What to ask.
            timeout: Seconds after which a call is a reply with an error.
            schema: JSON schema of the answers; a model without structured output ignores it.
        """
        ...

    async def aask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """The same without blocking the event loop."""
        ...


@dataclass(frozen=True, slots=True)
class Ranking:
    """How a reranker orders messages.

    Attributes:
        order: Positions of the messages worth keeping, best first.
        error: Why there is no order, else None.
    """

    order: tuple[int, ...] = ()
    error: str | None = None


class Reranker(Protocol):
    """Orders messages by their worth to a question. A failure gives a `Ranking` with an error."""

    def rerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        """Positions of those worth keeping, best first; what is left out is dropped."""
        ...

    async def arerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        """The same without blocking the event loop."""
        ...
