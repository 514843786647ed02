"""One class that is LangChain's and LlamaIndex's retriever: what two base classes need to be one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self, overload

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.runnables.config import RunnableConfig, patch_config, set_config_context
from langchain_core.runnables.utils import coro_with_context
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts import BasePromptTemplate as LlamaIndexPrompt
from llama_index.core.schema import NodeWithScore, QueryBundle
from pydantic import ConfigDict, Field, PrivateAttr

from tmem_integrations.bridges.documents import Piece, to_document, to_node

# Fields that are not pickled.
OF_THIS_PROCESS = ("callback_manager", "object_map")


class DualRetriever(LangChainRetriever, LlamaIndexRetriever):
    """A retriever for both frameworks; a subclass finds the pieces of an answer.

    `invoke` and `ainvoke` are LangChain's and take filters as keywords, `retrieve` and `aretrieve`
    are LlamaIndex's and take none. A model asked on the way appears under the retriever's run in
    LangChain's callbacks, and within its span in LlamaIndex's dispatcher.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    # What LlamaIndex's base class keeps; its __init__ does not run under pydantic's.
    callback_manager: CallbackManager = Field(
        default_factory=CallbackManager, exclude=True, repr=False
    )
    object_map: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)
    _verbose: bool = PrivateAttr(default=False)

    @abstractmethod
    def _find(self, question: str, **filters: Any) -> list[Piece]:
        """The pieces of the answer, in reading order."""

    @abstractmethod
    async def _afind(self, question: str, **filters: Any) -> list[Piece]:
        """`_find` without blocking the event loop."""

    # LangChain

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **filters: Any
    ) -> list[Document]:
        filters.pop("verbose", None)  # LangChain's own keyword for `invoke`
        # A model asked on the way inherits this config.
        child = patch_config(None, callbacks=run_manager.get_child())
        with set_config_context(child) as context:
            pieces = context.run(self._find, query, **filters)
        return [to_document(piece) for piece in pieces]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **filters: Any
    ) -> list[Document]:
        filters.pop("verbose", None)
        child = patch_config(None, callbacks=run_manager.get_child())
        with set_config_context(child) as context:
            pieces = await coro_with_context(self._afind(query, **filters), context)
        return [to_document(piece) for piece in pieces]

    # LlamaIndex

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [to_node(piece) for piece in self._find(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [to_node(piece) for piece in await self._afind(query_bundle.query_str)]

    # Both

    @overload  # type: ignore[override]  # bare, the frameworks disagree on what it answers
    def get_prompts(self, config: None = None) -> dict[str, LlamaIndexPrompt]: ...

    @overload
    def get_prompts(self, config: RunnableConfig) -> list[BasePromptTemplate[Any]]: ...

    def get_prompts(
        self, config: RunnableConfig | None = None
    ) -> dict[str, LlamaIndexPrompt] | list[BasePromptTemplate[Any]]:
        """The one name that both frameworks own: bare it is LlamaIndex's, with a config LangChain's."""
        if config is None:
            return LlamaIndexRetriever.get_prompts(self)
        return LangChainRetriever.get_prompts(self, config)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A copy over the same memory: frameworks deep-copy retrievers, a store cannot be."""
        return self.model_copy()
