"""The user's chat model as peers ask it: messages with roles in, text or a JSON object out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tmem_integrations.errors import ConfigError, ModelError
from tmem_integrations.evaluation.methods.base import Usage
from tmem_integrations.models.json_text import find_value, without_thinking
from tmem_integrations.protocols import Embedder, LanguageModel, Reply

# A reply without JSON is asked for once more.
_TRIES = 2


class PeerModel:
    """Asks, and counts what it takes.

    Args:
        llm: The user's model.
    """

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self._usage = Usage()

    @property
    def name(self) -> str:
        """Of the model."""
        return self._llm.name

    def take_usage(self) -> Usage:
        """What was taken since this was last asked."""
        usage, self._usage = self._usage, Usage()
        return usage

    def text(self, contents: Sequence[str]) -> str:
        """The answer to a conversation.

        Args:
            contents: Of its messages, in order; a peer's roles hold instructions, then data.

        Raises:
            ModelError: If the model fails.
        """
        (reply,) = self._llm.ask([_prompt(contents)])
        return self._read(reply)

    def record(self, contents: Sequence[str]) -> dict[str, Any]:
        """The JSON object in the answer.

        Raises:
            ModelError: If the model fails or answers with none.
        """
        for _ in range(_TRIES):
            value = find_value(self.text(contents))
            if isinstance(value, dict):
                return value
        raise _no_record(self.name)

    async def arecord(self, contents: Sequence[str]) -> dict[str, Any]:
        """`record`, awaited."""
        for _ in range(_TRIES):
            (reply,) = await self._llm.aask([_prompt(contents)])
            value = find_value(self._read(reply))
            if isinstance(value, dict):
                return value
        raise _no_record(self.name)

    def _read(self, reply: Reply) -> str:
        self._usage += Usage(reply.input_tokens or 0, reply.output_tokens or 0, 1)
        if reply.error is not None:
            raise ModelError(f"{self.name}: {reply.error}")
        return without_thinking(reply.text)


def _prompt(contents: Sequence[str]) -> str:
    return "\n\n".join(contents)


def _no_record(name: str) -> ModelError:
    return ModelError(f"{name}: expected a JSON object, {_TRIES} replies held none.")


def required_model(llm: Any, peer: str) -> LanguageModel:
    """The model that writes a peer's memory.

    Args:
        llm: As a caller gives it.
        peer: For the error.

    Raises:
        ConfigError: If none is given.
    """
    from tmem_integrations.bridges.language_models import as_language_model

    model = as_language_model(llm)
    if model is None:
        raise ConfigError(
            f"{peer} writes its memory with a model; give one with --memory-model openai:NAME."
        )
    return model


def required_embedder(embeddings: Any, peer: str) -> Embedder:
    """The embedding model of a peer; None is the static table.

    Raises:
        ConfigError: If vectors are switched off.
    """
    from tmem_integrations.bridges.embedders import as_embedder

    embedder = as_embedder("static" if embeddings is None else embeddings)
    if embedder is None:
        raise ConfigError(f"{peer} needs embeddings, got {embeddings!r}.")
    return embedder
