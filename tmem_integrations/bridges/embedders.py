"""Embedding models of LangChain, LlamaIndex and Chroma as an `Embedder`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tmem_integrations.errors import ConfigError, ModelError
from tmem_integrations.messages import clean_text
from tmem_integrations.models.embeddings import MiniLM, StaticEmbedder, has_content, unit_rows
from tmem_integrations.protocols import Embedder, Vectors

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from llama_index.core.base.embeddings.base import BaseEmbedding

# A text, since evaluating it would import both frameworks.
EmbedderLike: TypeAlias = (
    "Embedder | Embeddings | BaseEmbedding | Callable[[list[str]], ArrayLike] "
    "| Literal['static', 'minilm', 'none', False] | None"
)
# Where the model's name stands in LangChain, LlamaIndex and Chroma classes, best first.
_NAME_ATTRIBUTES = ("model_name", "model", "model_id", "repo_id")
# What Chroma calls its own MiniLM.
_CHROMA_MINILM = ("default", "onnx_mini_lm_l6_v2")


@dataclass(frozen=True, slots=True)
class BridgedEmbedder:
    """Someone else's embedding model as an `Embedder`.

    Attributes:
        name: The model's own name, so that a store built through one framework opens with the same
            model through another; the class name where the model has none.
        call: Texts to rows of numbers.
        acall: The same, awaited.
    """

    name: str
    call: Callable[[list[str]], Any]
    acall: Callable[[list[str]], Awaitable[Any]]

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) unit vectors; a blank text gives zeros.

        Raises:
            ModelError: If the model fails or does not answer with one vector per text.
        """
        filled = _filled(texts)
        try:
            rows = self.call(filled)
        except Exception as error:  # whatever the client of some service raises
            raise self._failure(filled, error) from error
        return self._spread(texts, filled, rows)

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """`embed` with the model's own async path."""
        filled = _filled(texts)
        try:
            rows = await self.acall(filled)
        except Exception as error:  # whatever the client of some service raises
            raise self._failure(filled, error) from error
        return self._spread(texts, filled, rows)

    def _failure(self, filled: Sequence[str], error: Exception) -> ModelError:
        return ModelError(
            f"{self.name} could not embed {len(filled)} texts: {type(error).__name__}: {error}"
        )

    def _spread(self, texts: Sequence[str], filled: Sequence[str], rows: ArrayLike) -> Vectors:
        try:
            units = unit_rows(rows)
        except (TypeError, ValueError) as error:
            raise ModelError(f"{self.name} answered with no matrix of numbers: {error}.") from error
        if len(units) != len(filled):
            raise ModelError(f"{self.name} gave {len(units)} vectors for {len(filled)} texts.")
        vectors = np.zeros((len(texts), units.shape[1]), dtype=np.float32)
        places = [i for i, text in enumerate(texts) if has_content(text)]
        vectors[places] = units[: len(places)]
        return vectors


def _filled(texts: Sequence[str]) -> list[str]:
    """The texts that can be embedded; a stand-in when there is none, since it tells the width."""
    return [clean_text(text) for text in texts if has_content(text)] or ["."]


def as_embedder(embeddings: EmbedderLike) -> Embedder | None:
    """Read an embedding model as a caller gives it.

    Args:
        embeddings: "static" or None (offline, 256 d), "minilm" (Chroma's, downloaded once), an
            embedding model of LangChain or LlamaIndex, a Chroma embedding function, an `Embedder`;
            False or "none" for no vectors.

    Raises:
        ConfigError: If it is none of these.

    Examples:
        >>> as_embedder("static").name
        'wordllama-256'
    """
    match embeddings:
        case False | "none":
            return None
        case None | "static":
            return StaticEmbedder()
        case "minilm":
            return MiniLM()
        case str() | type():
            raise _unreadable(embeddings)
        case Embedder():
            return embeddings
        case _:
            return _from_framework(embeddings)


def _from_framework(model: Any) -> Embedder:
    from langchain_core.embeddings import Embeddings

    if isinstance(model, Embeddings):
        return BridgedEmbedder(_name_of(model), model.embed_documents, model.aembed_documents)

    from llama_index.core.base.embeddings.base import BaseEmbedding

    if isinstance(model, BaseEmbedding):
        return _from_llama_index(model)
    if callable(model):
        return _from_chroma(model)
    raise _unreadable(model)


def _from_llama_index(model: BaseEmbedding) -> BridgedEmbedder:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    call: Callable[[list[str]], Any] = model.get_text_embedding_batch
    acall: Callable[[list[str]], Awaitable[Any]] = model.aget_text_embedding_batch
    kind = type(model)
    if (
        kind._aget_text_embedding is BaseEmbedding._aget_text_embedding
        and kind._aget_text_embeddings is BaseEmbedding._aget_text_embeddings
    ):
        acall = _in_thread(call)  # the base class would block the event loop
    return BridgedEmbedder(_name_of(model), call, acall)


def _from_chroma(function: Callable[[list[str]], Any]) -> Embedder:
    name = _name_of(function)
    if name in _CHROMA_MINILM:
        return MiniLM()
    return BridgedEmbedder(name, function, _in_thread(function))


def _in_thread(call: Callable[[list[str]], Any]) -> Callable[[list[str]], Awaitable[Any]]:
    run: Callable[..., Awaitable[Any]] = asyncio.to_thread
    return partial(run, call)  # a partial and no closure, so that it can be pickled


def _name_of(model: Any) -> str:
    """The model's own name, with its dimensions where they were chosen."""
    found = [getattr(model, attribute, None) for attribute in _NAME_ATTRIBUTES]
    names = [name for name in found if isinstance(name, str) and name not in ("", "unknown")]
    own = getattr(model, "name", None)  # a static method of Chroma's functions
    name = names[0] if names else str(own()) if callable(own) else _type_name(model)
    dimensions = getattr(model, "dimensions", None)
    return f"{name}-{dimensions}" if isinstance(dimensions, int) else name


def _type_name(model: Any) -> str:
    return str(getattr(model, "__name__", type(model).__name__))  # a function has its own


def _unreadable(embeddings: object) -> ConfigError:
    return ConfigError(
        'embeddings must be "static", "minilm", "none", a LangChain Embeddings, a LlamaIndex '
        f"BaseEmbedding, a Chroma embedding function or an Embedder, got {embeddings!r:.200}."
    )
