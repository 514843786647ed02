"""Documents of LangChain and nodes of LlamaIndex: to messages on the way in, from a forest out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from langchain_core.documents import Document
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode

from tmem_integrations.errors import MessageError
from tmem_integrations.messages import Message
from tmem_integrations.protocols import TokenCounter
from tmem_integrations.suggestions import suggest

if TYPE_CHECKING:
    from tmem_integrations.retrieval import Retrieval

# Keys tried for a field that `metadata_map` does not name; the others go by their own name.
_USUAL_KEYS: dict[str, tuple[str, ...]] = {
    "id": ("id", "message_id"),
    "sent_at": ("sent_at", "timestamp"),
}
_FIELDS = tuple(f.name for f in fields(Message) if f.name != "text")
# Slack's loaders give POSIX seconds as text.
_SECONDS = re.compile(r"\d{9,10}(\.\d+)?")


def messages_from_documents(
    documents: Iterable[Document | BaseNode | NodeWithScore],
    *,
    metadata_map: Mapping[str, str] | None = None,
    timezone: str | tzinfo | None = None,
) -> list[Message]:
    """Read documents or nodes as messages, one each: text from the content, the rest from metadata.

    The id is that of the metadata (`id` or `message_id`), else the document's or node's own, else
    one derived from text and metadata, the same at every reading.

    Args:
        documents: In order of arrival.
        metadata_map: Field of `Message` to the key it has in their metadata, such as
            {"author": "user", "sent_at": "date"}; a field it leaves out goes by its own name.
        timezone: Zone of times that carry none.

    Raises:
        MessageError: If a document has no time or a value that cannot be read, naming it; or if
            `metadata_map` names no field of `Message`, or a key that no document has.

    Examples:
        >>> when = {"author": "Ann", "date": "2026-03-02T09:00:00Z"}
        >>> documents = [Document("We ship on Friday.", id="m1", metadata=when)]
        >>> messages_from_documents(documents, metadata_map={"sent_at": "date"})[0].author
        'Ann'
    """
    keys = _keys(metadata_map or {})
    opened = [_open(document) for document in documents]
    for field, key in (metadata_map or {}).items():
        if opened and not any(key in metadata for _, _, metadata in opened):
            raise MessageError(
                f"metadata_map says that {field!r} is under {key!r}, but no document has that key; "
                f"the first one has {sorted(opened[0][2])}."
            )
    return [_message(index, *parts, keys, timezone) for index, parts in enumerate(opened)]


def _keys(metadata_map: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    for name in metadata_map:
        if name not in _FIELDS:
            raise MessageError(
                f"metadata_map names {name!r}, which is no field of Message; {suggest(name, _FIELDS)}"
            )
    keys: dict[str, tuple[str, ...]] = {name: (name,) for name in _FIELDS}
    return keys | _USUAL_KEYS | {name: (key,) for name, key in metadata_map.items()}


def _open(document: Document | BaseNode | NodeWithScore) -> tuple[str, str | None, dict[str, Any]]:
    """Text, own id and metadata of a document or node."""
    if isinstance(document, NodeWithScore):
        document = document.node
    if isinstance(document, Document):
        return document.page_content, document.id, document.metadata
    if isinstance(document, BaseNode):
        text = document.get_content(metadata_mode=MetadataMode.NONE)
        return text, document.node_id, document.metadata
    raise MessageError(
        f"Expected a LangChain Document or a LlamaIndex node, got {type(document).__name__}."
    )


def _message(
    index: int,
    text: str,
    own_id: str | None,
    metadata: Mapping[str, Any],
    keys: Mapping[str, Sequence[str]],
    timezone: str | tzinfo | None,
) -> Message:
    found = {
        name: next((metadata[k] for k in names if metadata.get(k) is not None), None)
        for name, names in keys.items()
    }
    found["id"] = found["id"] or own_id or _derived_id(text, metadata)
    sent_at = found.pop("sent_at")
    if sent_at is None:
        raise MessageError(
            f"Document {index} ({found['id']!r}) has no time: expected "
            f"{' or '.join(map(repr, keys['sent_at']))} in its metadata, which has "
            f'{sorted(metadata)}; pass metadata_map={{"sent_at": <its key>}}.'
        )
    if isinstance(sent_at, str) and _SECONDS.fullmatch(sent_at):
        sent_at = float(sent_at)
    return Message.from_dict({**found, "text": text, "sent_at": sent_at}, timezone=timezone)


def _derived_id(text: str, metadata: Mapping[str, Any]) -> str:
    content = json.dumps([text, metadata], sort_keys=True, default=str)
    return f"doc-{hashlib.sha256(content.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer, before it is a document or a node.

    Attributes:
        id: The same for the same content.
        text: What a model reads.
        metadata: JSON values only.
        score: From 0 to 1, 1 for the best piece of the answer.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    score: float


def to_document(piece: Piece) -> Document:
    """A piece for LangChain."""
    return Document(id=piece.id, page_content=piece.text, metadata=piece.metadata)


def to_node(piece: Piece) -> NodeWithScore:
    """A piece for LlamaIndex. Metadata stays out of what models and embedders read."""
    hidden = list(piece.metadata)
    node = TextNode(
        id_=piece.id,
        text=piece.text,
        metadata=piece.metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
    )
    return NodeWithScore(node=node, score=piece.score)


def pieces_of_forest(
    retrieval: Retrieval, *, per_tree: bool, counter: TokenCounter, max_tokens: int
) -> list[Piece]:
    """What a retriever gives for a forest.

    As a whole it is always exactly one piece; that of an empty result says so and why, since a chain
    that reads "no matching messages" answers better than one that reads nothing.

    Args:
        retrieval: The answer to a question.
        per_tree: One piece per tree instead, and none for an empty result. Its score is that of its
            best message, as a share of the best one in the whole answer.
        counter: Counts the tokens of a tree.
        max_tokens: Budget, which holds for the text of an empty result, too.
    """
    whole = retrieval.metadata()
    if not per_tree:
        text = retrieval.text or _empty_text(retrieval, counter, max_tokens)
        return [_piece(text, whole, 1.0 if len(retrieval.forest) else 0.0)]
    nodes = retrieval.forest.nodes
    best = max((node.score for node in nodes), default=0.0)
    borders = [*retrieval.forest.roots, len(nodes)]
    pieces = []
    for text, (start, end) in zip(retrieval.tree_texts, pairwise(borders), strict=True):
        own = {
            "message_ids": whole["message_ids"][start:end],
            "nodes": whole["nodes"][start:end],
            "n_tokens": counter.count(text),
            "trees": 1,
        }
        top = max(node.score for node in nodes[start:end])
        # Scores of a lexical gate can all be zero or negative in a small history.
        pieces.append(_piece(text, whole | own, max(top / best, 0.0) if best > 0 else 1.0))
    return pieces


def _empty_text(retrieval: Retrieval, counter: TokenCounter, max_tokens: int) -> str:
    """That there is nothing and why, as far as the budget allows."""
    why = retrieval.trace.explanation or ""
    # Messages that are too long for the budget do match.
    said = "" if retrieval.dropped else "No matching messages."
    texts = (f"{said} {why}".strip(), said)
    return next((text for text in texts if counter.count(text) <= max_tokens), "")


def _piece(text: str, metadata: dict[str, Any], score: float) -> Piece:
    # By the messages; as a UUID, because some vector stores take no other id.
    own_id = uuid5(NAMESPACE_URL, "tmem:" + json.dumps(metadata["message_ids"]))
    return Piece(str(own_id), text, metadata, score)
