"""Messages as plain passages, one document or node each: what any other retriever indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.documents import Document
from llama_index.core.schema import TextNode

from tmem_integrations.messages import Message


def documents_from_messages(messages: Iterable[Message]) -> list[Document]:
    """LangChain documents: text as content, all that is known besides as metadata, JSON values only.

    `messages_from_documents` reads them back.
    """
    return [
        Document(id=message.id, page_content=message.text, metadata=_metadata(message))
        for message in messages
    ]


def nodes_from_messages(messages: Iterable[Message]) -> list[TextNode]:
    """LlamaIndex nodes with the same content; a model or embedder sees their text alone."""
    nodes = []
    for message in messages:
        metadata = _metadata(message)
        keys = list(metadata)
        nodes.append(
            TextNode(
                id_=message.id,
                text=message.text,
                metadata=metadata,
                excluded_embed_metadata_keys=keys,
                excluded_llm_metadata_keys=keys,
            )
        )
    return nodes


def _metadata(message: Message) -> dict[str, Any]:
    record = message.to_dict()
    del record["text"]
    return {"message_id": record.pop("id"), **record}
