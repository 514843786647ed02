"""Any retriever of LangChain or LlamaIndex, by import path.

`langchain:package.module:factory` and `llama-index:package.module:factory`. The factory is called with
one document (or text node) per message and may be dotted: `langchain_community.retrievers:
BM25Retriever.from_documents`. Message ids are read from the metadata of what it returns:
`message_ids`, `message_id`, else the document's or node's own id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.evaluation.methods.ranking import Messages, visible_to
from tmem_integrations.messages import Message, Query

PREFIXES = ("langchain", "llama-index")


@dataclass(frozen=True, slots=True)
class FrameworkMethod:
    """A retriever of either framework.

    Attributes:
        name: The whole path as given.
        factory: Documents or nodes to a retriever.
        framework: One of `PREFIXES`.
    """

    name: str
    factory: Callable[[list[Any]], Any]
    framework: str

    @classmethod
    def from_path(cls, path: str) -> FrameworkMethod:
        """Find the factory.

        Raises:
            ConfigError: If the path is not of its form, or nothing callable is there.
        """
        framework, _, rest = path.partition(":")
        module, _, attribute = rest.partition(":")
        if framework not in PREFIXES or not module or not attribute:
            raise ConfigError(
                f"A retriever must be langchain:MODULE:FACTORY or llama-index:MODULE:FACTORY, "
                f"got {path!r}."
            )
        from tmem_integrations.bridges.chat_models import load_object

        return cls(path, load_object(module, attribute, path), framework)

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Keep the messages; the retriever is made over those a question may read."""
        return _FrameworkSearcher(self, tuple(messages))


class _FrameworkSearcher:
    def __init__(self, method: FrameworkMethod, messages: Messages) -> None:
        self._method = method
        self._messages = messages
        self._made: tuple[Messages, Any] | None = None

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        visible = visible_to(query, self._messages)
        if not visible:
            return Selection(())
        retriever = self._retriever(visible)
        if self._method.framework == "langchain":
            found = [(d.metadata, d.id) for d in retriever.invoke(query.text)]
        else:
            found = [(n.node.metadata, n.node.node_id) for n in retriever.retrieve(query.text)]
        ids = dict.fromkeys(i for metadata, own in found for i in _ids(metadata, own))
        known = {message.id for message in visible}
        return Selection(tuple(i for i in ids if i in known)[:max_messages])

    def _retriever(self, visible: Messages) -> Any:
        if self._made is None or self._made[0] != visible:
            from tmem_integrations.bridges import passages

            langchain = self._method.framework == "langchain"
            cut = passages.documents_from_messages if langchain else passages.nodes_from_messages
            self._made = (visible, self._method.factory(list(cut(visible))))
        return self._made[1]


def _ids(metadata: Mapping[str, Any], own: str | None) -> Iterator[str]:
    if "message_ids" in metadata:
        yield from metadata["message_ids"]
    elif "message_id" in metadata:
        yield metadata["message_id"]
    elif own is not None:
        yield own
