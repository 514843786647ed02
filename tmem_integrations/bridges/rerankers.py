"""Document compressors of LangChain and node postprocessors of LlamaIndex as a `Reranker`.

Both are shown one document per message, with author, time and channel beside the text, and are taken
at their order: what they leave out is dropped, what they change in a text is ignored, since only
originals are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables.config import ensure_config
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import Message
from tmem_integrations.models.failures import describe_error
from tmem_integrations.protocols import Ranking, Reranker

RerankerLike = BaseDocumentCompressor | BaseNodePostprocessor | Reranker | None

# How a document is found again; whatever a reranker makes of it, it keeps the metadata.
_POSITION = "tmem_position"


def as_reranker(reranker: RerankerLike) -> Reranker | None:
    """Read a reranker as a caller gives it.

    Args:
        reranker: A document compressor of LangChain, a node postprocessor of LlamaIndex, a `Reranker`,
            or None.

    Raises:
        ConfigError: If it is none of these.
    """
    if reranker is None:
        return None
    if isinstance(reranker, BaseDocumentCompressor):
        return _Compressor(reranker)
    if isinstance(reranker, BaseNodePostprocessor):
        return _Postprocessor(reranker)
    if (
        not isinstance(reranker, type)
        and hasattr(reranker, "rerank")
        and hasattr(reranker, "arerank")
    ):
        return reranker
    raise ConfigError(
        "reranker must be a LangChain document compressor, a LlamaIndex node postprocessor, a Reranker "
        f"or None, got {reranker!r:.200}."
    )


@dataclass(frozen=True, slots=True)
class _Compressor:
    """LangChain's."""

    compressor: BaseDocumentCompressor

    def rerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        callbacks = ensure_config().get("callbacks")
        try:
            kept = self.compressor.compress_documents(_documents(messages), question, callbacks)
        except Exception as error:  # whatever the client of some service raises
            return Ranking(error=describe_error(error))
        return _ranking(document.metadata for document in kept)

    async def arerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        callbacks = ensure_config().get("callbacks")
        try:
            kept = await self.compressor.acompress_documents(
                _documents(messages), question, callbacks
            )
        except Exception as error:  # whatever the client of some service raises
            return Ranking(error=describe_error(error))
        return _ranking(document.metadata for document in kept)


@dataclass(frozen=True, slots=True)
class _Postprocessor:
    """LlamaIndex's."""

    postprocessor: BaseNodePostprocessor

    def rerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        try:
            kept = self.postprocessor.postprocess_nodes(_nodes(messages), QueryBundle(question))
        except Exception as error:  # whatever the client of some service raises
            return Ranking(error=describe_error(error))
        return _ranking(scored.node.metadata for scored in kept)

    async def arerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        try:
            kept = await self.postprocessor.apostprocess_nodes(
                _nodes(messages), QueryBundle(question)
            )
        except Exception as error:  # whatever the client of some service raises
            return Ranking(error=describe_error(error))
        return _ranking(scored.node.metadata for scored in kept)


def _metadata(position: int, message: Message) -> dict[str, Any]:
    known = {
        "author": message.author,
        "sent_at": message.sent_at.isoformat(),
        "channel": message.channel,
    }
    return {name: value for name, value in known.items() if value is not None} | {
        _POSITION: position
    }


def _documents(messages: Sequence[Message]) -> list[Document]:
    return [Document(m.text, metadata=_metadata(i, m)) for i, m in enumerate(messages)]


def _nodes(messages: Sequence[Message]) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=str(i),
                text=m.text,
                metadata=_metadata(i, m),
                excluded_llm_metadata_keys=[_POSITION],
                excluded_embed_metadata_keys=[_POSITION],
            ),
            # Some postprocessors cut by score: here nothing has been decided yet.
            score=1.0,
        )
        for i, m in enumerate(messages)
    ]


def _ranking(kept: Iterable[dict[str, Any]]) -> Ranking:
    positions = (metadata.get(_POSITION) for metadata in kept)
    return Ranking(tuple(i for i in positions if isinstance(i, int)))
