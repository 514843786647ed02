"""Mem0 (`mem0ai` 2.2): a model takes facts out of each message; search mixes vectors, words and entities.

Each message is added on its own, with its id in the metadata of the facts taken from it. Mem0 itself adds
the ten messages before to what its model reads. Its telemetry is switched off. Words count in its search
where `fastembed` is installed beside it, which downloads a file; without it vectors and entities do.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from tmem_integrations.errors import MissingExtraError
from tmem_integrations.evaluation.methods.base import Passage, Usage
from tmem_integrations.evaluation.methods.peers.growing import PeerMethod, spoken
from tmem_integrations.evaluation.methods.peers.model import (
    PeerModel,
    required_embedder,
    required_model,
)
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Embedder, LanguageModel

_SCOPE = "chat"
# Mem0 tells its model that all was said today.
_INSTRUCTIONS = (
    "Messages of a group chat. The time in brackets is when a message was sent: that is its observation "
    "date. Name the author of what is said."
)


def make(llm: Any, embeddings: Any) -> PeerMethod:
    """Mem0 as a method.

    Raises:
        MissingExtraError: If `mem0ai` is not installed.
        ConfigError: If no model is given.
    """
    _import_mem0()
    model, embedder = required_model(llm, "mem0"), required_embedder(embeddings, "mem0")
    return PeerMethod("mem0", lambda: Mem0Memory(model, embedder))


def _import_mem0() -> Any:
    # Read when the module is first imported: what it would report, and where it keeps its settings.
    os.environ.setdefault("MEM0_TELEMETRY", "False")
    os.environ.setdefault("MEM0_DIR", os.path.join(tempfile.gettempdir(), "mem0"))
    try:
        import mem0
    except ImportError as error:
        raise MissingExtraError("mem0ai", "mem0", "The method mem0") from error
    return mem0


class Mem0Memory:
    """A `mem0.Memory`, all of it in memory."""

    def __init__(self, llm: LanguageModel, embedder: Embedder) -> None:
        from qdrant_client import QdrantClient

        self._model = PeerModel(llm)
        store = {
            "client": QdrantClient(":memory:"),
            "collection_name": _SCOPE,
            "embedding_model_dims": embedder.embed(["dimensions"]).shape[1],
        }
        # Both clients are made without a call, and replaced below.
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        self._memory = _import_mem0().Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": ":memory:",
                "custom_instructions": _INSTRUCTIONS,
            }
        )
        self._memory.llm = _Llm(self._model)
        self._memory.embedding_model = _Embedder(embedder)

    def add(self, message: Message) -> None:
        """Let the model take facts out of the next message."""
        self._memory.add(
            [{"role": "user", "content": spoken(message)}],
            run_id=_SCOPE,
            metadata={"message_id": message.id, "created_at": message.sent_at.isoformat()},
        )

    def search(self, question: str, max_passages: int, max_tokens: int) -> Sequence[Passage]:
        """Facts; the bound on their number is the only one, so no score is too low."""
        found = self._memory.search(
            question, top_k=max_passages, filters={"run_id": _SCOPE}, threshold=0.0
        )
        return [
            Passage(_dated(fact), (fact["metadata"]["message_id"],)) for fact in found["results"]
        ]

    def take_usage(self) -> Usage:
        """What the model took."""
        return self._model.take_usage()

    def close(self) -> None:
        """Let go of its data base."""
        self._memory.close()


def _dated(fact: Mapping[str, Any]) -> str:
    return f"[{fact['created_at'][:10]}] {fact['memory']}"


class _Llm:
    """What Mem0 asks of a model."""

    def __init__(self, model: PeerModel) -> None:
        self._model = model

    def generate_response(self, messages: Sequence[Mapping[str, str]], **options: object) -> str:
        """A JSON object as text; Mem0 would take a reply without one as nothing to remember."""
        return json.dumps(self._model.record([message["content"] for message in messages]))


class _Embedder:
    """What Mem0 asks of an embedding model."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """A vector a text."""
        vectors: list[list[float]] = self._embedder.embed(list(texts)).tolist()
        return vectors
