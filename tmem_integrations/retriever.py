"""`TemporalForestRetriever`: one object that is LangChain's and LlamaIndex's retriever.

A thin shell around `TemporalMemory`: it reads what a framework hands in, asks, and packs the forest
into that framework's documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Any, Self, Unpack

from langchain_core.documents import Document
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import BaseNode, NodeWithScore
from pydantic import Field

from tmem_integrations.access import AccessLike, Redact
from tmem_integrations.anticipation.memory import AnticipatoryMemory
from tmem_integrations.bridges.documents import (
    Piece,
    messages_from_documents,
    pieces_of_forest,
)
from tmem_integrations.bridges.embedders import EmbedderLike, as_embedder
from tmem_integrations.bridges.filters import LIMITS, check_keywords, narrow
from tmem_integrations.bridges.judging_options import (
    JudgingOptions,
    read_config,
    read_prompts,
    replace_prompts,
    write_prompts,
)
from tmem_integrations.bridges.language_models import LanguageModelLike, as_language_model
from tmem_integrations.bridges.memory_retriever import MemoryRetriever
from tmem_integrations.bridges.rerankers import RerankerLike, as_reranker
from tmem_integrations.bridges.stage_events import tell_stage
from tmem_integrations.bridges.stores import opened_store
from tmem_integrations.config import ForestConfig
from tmem_integrations.errors import ConfigError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import FILTERS, Message, Query
from tmem_integrations.models.budget import Estimate
from tmem_integrations.protocols import Associative, Embedder, MessageStore
from tmem_integrations.retrieval import Retrieval

Time = datetime | str | float
Names = str | frozenset[str]


class TemporalForestRetriever(MemoryRetriever):
    """Answers a question with a small forest of original messages (TEF).

    `invoke` and `ainvoke` are LangChain's, `retrieve` and `aretrieve` LlamaIndex's; both give one
    document with the whole forest, always exactly one: that of an empty result says why it is
    empty. `retrieve_forest` gives the forest as an object.

    The filters below hold for every question. `invoke` takes the same ones for one question and
    `scoped` for a view, and both can only narrow what is set already.

    Attributes:
        memory: The history. Copies and views of a retriever share it.
        max_messages: At most this many messages; None leaves it to the memory's config.
        max_tokens: Budget of the whole text; None leaves it to the memory's config, 8192 by default.
        per_tree: One document per tree, none for an empty result.
        asking_user: Who asks; access is decided by it.
        as_of: Only what was said until then.
        channels: Only these channels.
        not_channels: None of these, nor messages whose channel is unknown.
        authors: Only messages of these authors (name or id).
        topics: Only these topics.
        after: Only messages sent at or after this time.
        before: Only messages sent before this time.

    Raises:
        QueryError: If a filter is not of its kind.
        ConfigError: If a limit is not positive.
    """

    memory: TemporalMemory = Field(exclude=True, repr=False)
    max_messages: int | None = None
    max_tokens: int | None = None
    per_tree: bool = False
    asking_user: str | None = None
    as_of: Time | None = None
    channels: Names | None = None
    not_channels: Names | None = None
    authors: Names | None = None
    topics: Names | None = None
    after: Time | None = None
    before: Time | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Now, not at the first question; and here, not in a validator, which would wrap the errors.
        self._scope()
        self.memory.config.limited(max_messages=self.max_messages, max_tokens=self.max_tokens)

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        llm: LanguageModelLike = None,
        embeddings: EmbedderLike = None,
        store: Any = None,
        config: ForestConfig | None = None,
        timezone: str | tzinfo | None = None,
        access: AccessLike = None,
        redact: Redact | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        per_tree: bool = False,
        reranker: RerankerLike = None,
        associative: Associative | bool | None = None,
        **judging: Unpack[JudgingOptions],
    ) -> Self:
        """Build a retriever over messages. Without further arguments: no key, no network.

        Args:
            messages: `Message`s or dicts with the same keys, in order of arrival.
            llm: Chat model of LangChain or LLM of LlamaIndex that judges evidence and relations;
                None goes by rules. With `max_retries=0` failed calls are made again here, within the
                ceilings; else its client does that, uncounted.
            embeddings: See `as_embedder`; None is "static", False keeps no vectors.
            store: A folder, a Chroma client or collection, a `MessageStore`; None stays in memory.
            config: Settings; the paper's when None.
            timezone: Zone of times that carry none, and of the times shown.
            access: Channel to members, or a policy: see `access.as_policy`.
            redact: What of a message an asker gets, where channels cannot tell, such as the secret of
                one role: a function of message and question, see `access.Redact`.
            max_messages: At most this many messages in an answer.
            max_tokens: Budget of the whole text; that of `config` (8192) when None.
            per_tree: One document per tree.
            reranker: A document compressor of LangChain or a node postprocessor of LlamaIndex: of the
                evidence it keeps the `max_messages` best.
            associative: An `AnticipatoryMemory`: where words leave a question open, what it reaches
                becomes anchors too. Its store and embedder are used, and its rules of access where
                `access` is None; messages given here are filed in it. True makes one that files by
                rules, in the same store.
            **judging: How the model judges: `on_model_failure`, `max_concurrency`, `max_llm_calls`,
                `max_llm_tokens`, `deadline`, `gate_prompt`, `relations_prompt`; see `JudgingOptions`.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            ConfigError: If a setting or model cannot be read.
            StoreMismatchError: If the store was built with another embedding model.
        """
        settings = read_config(config, judging)
        settings.limited(max_messages=max_messages, max_tokens=max_tokens)
        prompts, ranker = read_prompts(judging), as_reranker(reranker)
        model = as_language_model(llm, max_concurrency=settings.models.max_concurrency)
        beside = None if isinstance(associative, bool) else associative
        store, embedder = _home(store, embeddings, beside)
        with opened_store(store, embedder) as opened:
            if associative is True:
                beside = _filing_by_rules(opened, embedder, timezone, access, redact)
            memory = TemporalMemory.from_messages(
                messages,
                store=opened if beside is None else beside.store,
                embedder=embedder,
                llm=model,
                config=settings,
                timezone=timezone,
                access=access,
                redact=redact,
                prompts=prompts,
                reranker=ranker,
                associative=beside,
            )
        return cls(
            memory=memory, max_messages=max_messages, max_tokens=max_tokens, per_tree=per_tree
        )

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document | BaseNode | NodeWithScore],
        *,
        metadata_map: Mapping[str, str] | None = None,
        timezone: str | tzinfo | None = None,
        **settings: Any,
    ) -> Self:
        """`from_messages` for LangChain documents or LlamaIndex nodes, one message each.

        Args:
            documents: In order of arrival.
            metadata_map: Field of `Message` to their metadata key: see `messages_from_documents`.
            timezone: Zone of times that carry none.
            **settings: As for `from_messages`.

        Raises:
            MessageError: If a document has no time, naming it.
        """
        messages = messages_from_documents(documents, metadata_map=metadata_map, timezone=timezone)
        return cls.from_messages(messages, timezone=timezone, **settings)

    def scoped(self, **filters: Any) -> Self:
        """A view of the same memory for a user, a time or some channels, for either framework.

        Args:
            **filters: As for `invoke`: `asking_user`, `as_of`, `channels`, …, and the limits.

        Raises:
            QueryError: If a keyword is unknown or a value is not of its kind.
            AccessError: If this view is already another user's.
        """
        limits = {name: filters[name] for name in LIMITS if filters.get(name) is not None}
        query = self._query("", filters)
        own = {name: getattr(query, name) for name in FILTERS}
        return type(self)(**{**self._arguments(), **own, **limits})

    def retrieve_forest(self, question: str, **filters: Any) -> Retrieval:
        """The forest as an object: nodes, texts, what was dropped, and the trace.

        Args:
            question: In words; a period that it names, such as "last week", bounds it.
            **filters: As for `invoke`: `asking_user`, `as_of`, `channels`, …, and the limits.

        Raises:
            QueryError: If a keyword is unknown or a value is not of its kind.
            AccessError: If access control is on and nobody asks, or somebody else than in `scoped`.
        """
        query = self._query(question, filters)
        max_messages, max_tokens = self._limits(filters)
        return self.memory.retrieve(
            query, max_messages=max_messages, max_tokens=max_tokens, on_stage=tell_stage
        )

    async def aretrieve_forest(self, question: str, **filters: Any) -> Retrieval:
        """`retrieve_forest` without blocking the event loop."""
        query = self._query(question, filters)
        max_messages, max_tokens = self._limits(filters)
        return await self.memory.aretrieve(
            query, max_messages=max_messages, max_tokens=max_tokens, on_stage=tell_stage
        )

    def estimate(self, question: str, **filters: Any) -> Estimate:
        """Calls and tokens that a question would cost, without asking the model.

        Args:
            question: In words; a period that it names, such as "last week", bounds it.
            **filters: As for `invoke`.

        Raises:
            QueryError: If a keyword is unknown or a value is not of its kind.
            AccessError: If access control is on and nobody asks, or somebody else than in `scoped`.
        """
        query = self._query(question, filters)
        return self.memory.estimate(query, max_messages=self._limits(filters)[0])

    def _scope(self) -> Query:
        return self.memory.query("", **{name: getattr(self, name) for name in FILTERS})

    def _query(self, question: str, filters: Mapping[str, Any]) -> Query:
        check_keywords(filters)
        own = {name: value for name, value in filters.items() if name in FILTERS}
        return narrow(self._scope(), self.memory.query(question, **own))

    def _limits(self, filters: Mapping[str, Any]) -> list[int | None]:
        """The limits of this question, else of this retriever, in the order of `LIMITS`."""
        given = [filters.get(name) for name in LIMITS]
        own = [getattr(self, name) for name in LIMITS]
        return [one if one is not None else other for one, other in zip(given, own, strict=True)]

    def _find(self, question: str, **filters: Any) -> list[Piece]:
        return self._pieces(self.retrieve_forest(question, **filters), filters)

    async def _afind(self, question: str, **filters: Any) -> list[Piece]:
        return self._pieces(await self.aretrieve_forest(question, **filters), filters)

    # LlamaIndex's `get_prompts` and `update_prompts`

    def _get_prompts(self) -> PromptDictType:
        return dict(write_prompts(self.memory.prompts))

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """Replace what the model is asked, for all copies and views."""
        self.memory.prompts = replace_prompts(self.memory.prompts, prompts)

    def _pieces(self, retrieval: Retrieval, filters: Mapping[str, Any]) -> list[Piece]:
        settings = self.memory.config.limited(max_tokens=self._limits(filters)[1])
        return pieces_of_forest(
            retrieval,
            per_tree=self.per_tree,
            counter=self.memory.counter,
            max_tokens=settings.compression.max_tokens,
        )


def _home(
    store: Any, embeddings: EmbedderLike, associative: Associative | None
) -> tuple[Any, Embedder | None]:
    """Where messages are kept and what makes their vectors: both are an associative memory's, if any."""
    if associative is None:
        return store, as_embedder(embeddings)
    if store is not None or embeddings is not None:
        raise ConfigError(
            "An associative memory brings its store and embedder; leave out store and embeddings."
        )
    return associative.store, associative.embedder


def _filing_by_rules(
    store: MessageStore | None,
    embedder: Embedder | None,
    timezone: str | tzinfo | None,
    access: AccessLike,
    redact: Redact | None,
) -> Associative:
    """A memory that anticipates, with nothing filed yet."""
    history = TemporalMemory.from_messages(
        [], store=store, embedder=embedder, timezone=timezone, access=access, redact=redact
    )
    return AnticipatoryMemory(history)
