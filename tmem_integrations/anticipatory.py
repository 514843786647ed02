"""`AnticipatoryRetriever`: a memory that anticipates, as LangChain's and LlamaIndex's retriever."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any, Self, Unpack
from uuid import NAMESPACE_URL, uuid5

from pydantic import Field

from tmem_integrations.access import AccessLike, Redact
from tmem_integrations.anticipation.ingest import OnStep
from tmem_integrations.anticipation.memory import AnticipatoryMemory
from tmem_integrations.anticipation.recipes import RecallConfig
from tmem_integrations.anticipation.recollection import Recollection
from tmem_integrations.bridges.documents import Piece
from tmem_integrations.bridges.embedders import EmbedderLike, as_embedder
from tmem_integrations.bridges.filters import check_keywords, narrow
from tmem_integrations.bridges.judging_options import ModelOptions, read_models
from tmem_integrations.bridges.language_models import LanguageModelLike, as_language_model
from tmem_integrations.bridges.memory_retriever import MemoryRetriever
from tmem_integrations.bridges.stores import opened_store
from tmem_integrations.errors import QueryError
from tmem_integrations.messages import Message, Query


class AnticipatoryRetriever(MemoryRetriever):
    """Answers with scenes, facts and personas that were filed under what they may matter to (AM).

    `invoke` and `ainvoke` are LangChain's, `retrieve` and `aretrieve` LlamaIndex's. Both give one
    document; that of an empty result says why it is empty.

    Attributes:
        memory: What was filed. Copies and views of a retriever share it.
        per_scene: One document per scene instead, without facts and personas; none for an empty result.
        scope: Filters of every question; `scoped` makes a view with narrower ones.
        config: How questions are recalled; the memory's when None.
    """

    memory: AnticipatoryMemory = Field(exclude=True, repr=False)
    per_scene: bool = False
    scope: Query = Field(default_factory=lambda: Query(text=""), exclude=True, repr=False)
    config: RecallConfig | None = Field(default=None, exclude=True, repr=False)

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        llm: LanguageModelLike = None,
        embeddings: EmbedderLike = None,
        store: Any = None,
        config: RecallConfig | None = None,
        timezone: str | tzinfo | None = None,
        access: AccessLike = None,
        per_scene: bool = False,
        on_step: OnStep | None = None,
        redact: Redact | None = None,
        **writing: Unpack[ModelOptions],
    ) -> Self:
        """Store messages and file them. Without further arguments: no key, no network.

        Args:
            messages: `Message`s or dicts with the same keys, in order of arrival.
            llm: Chat model of LangChain or LLM of LlamaIndex that writes; None writes by rules, which
                imagine nothing. `AnticipatoryMemory.estimate` says before what it costs.
            embeddings: See `as_embedder`; None is "static".
            store: A folder, a Chroma client or collection, a `MessageStore`; None stays in memory. In a
                folder, what is derived lies in a file beside the messages.
            config: How questions are recalled: `CENTRED` when None; `PAPER` has the paper's values.
            timezone: Zone of times that carry none.
            access: Channel to members, or a policy: see `access.as_policy`.
            per_scene: One document per scene.
            on_step: Told of each saved chunk while filing: step, done, total.
            redact: What of a message an asker gets, where channels cannot tell, such as the secret of one
                role: see `access.Redact`. What was derived from such a message is not shown to them.
            **writing: What bounds the calls of one write: `on_model_failure`, `max_concurrency`,
                `max_llm_calls`, `max_llm_tokens`, `deadline`; see `ModelOptions`. What a ceiling or, with
                "degrade", a failure leaves is written by the next write, `add_messages([])` goes on, and
                `memory.stats()` tells; "raise" raises once the rest is saved.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            ConfigError: If a setting or model cannot be read.
            ModelError: If the model failed and the policy is to raise.
            StoreMismatchError: If the store was built with another embedding model.
        """
        models = read_models(writing)
        embedder = as_embedder(embeddings)
        with opened_store(store, embedder) as opened:
            memory = AnticipatoryMemory.from_messages(
                messages,
                store=opened,
                embedder=embedder,
                llm=as_language_model(llm, max_concurrency=models.max_concurrency),
                models=models,
                redact=redact,
                config=config,
                timezone=timezone,
                access=access,
                on_step=on_step,
            )
        return cls(memory=memory, per_scene=per_scene)

    def scoped(self, **filters: Any) -> Self:
        """A view of the same memory for a user, a time or some channels.

        Raises:
            QueryError: If a keyword is unknown or a value is not of its kind.
            AccessError: If this view is already another user's.
        """
        query, config = self._question("", filters)
        return self.model_copy(update={"scope": query, "config": config})

    def recall(self, question: str, **filters: Any) -> Recollection:
        """The answer as an object.

        Args:
            question: In words, as its asker would put it.
            **filters: As for `invoke`: `asking_user`, `as_of`, `channels`, …, and `max_tokens`.

        Raises:
            QueryError: If a keyword is unknown or a value is not of its kind.
            AccessError: If access control is on and nobody asks, or somebody else than in `scoped`.
        """
        query, config = self._question(question, filters)
        return self.memory.retrieve(query, config=config)

    async def arecall(self, question: str, **filters: Any) -> Recollection:
        """`recall` without blocking the event loop."""
        query, config = self._question(question, filters)
        return await self.memory.aretrieve(query, config=config)

    def _question(
        self, question: str, filters: Mapping[str, Any]
    ) -> tuple[Query, RecallConfig | None]:
        check_keywords(filters)
        own = dict(filters)
        if own.pop("max_messages", None) is not None:
            raise QueryError("Scenes are shown whole: bound an answer by max_tokens.")
        max_tokens = own.pop("max_tokens", None)
        config = self.config
        if max_tokens is not None:
            config = replace(config or self.memory.config, max_tokens=max_tokens)
        return narrow(self.scope, self.memory.query(question, **own)), config

    def _find(self, question: str, **filters: Any) -> list[Piece]:
        return self._pieces(self.recall(question, **filters))

    async def _afind(self, question: str, **filters: Any) -> list[Piece]:
        return self._pieces(await self.arecall(question, **filters))

    def _pieces(self, found: Recollection) -> list[Piece]:
        whole = found.metadata()
        if not self.per_scene:
            empty = f"No matching memories. {found.explanation or ''}".rstrip()
            return [_piece(found.text or empty, whole, 1.0 if found.text else 0.0)]
        return [
            _piece(
                text,
                {
                    "message_ids": [m.id for m in scene.messages],
                    "scenes": [whole["scenes"][rank]],
                    "n_tokens": self.memory.history.counter.count(text),
                },
                1 / (1 + rank),
            )
            for rank, (text, scene) in enumerate(zip(found.scene_texts, found.scenes, strict=True))
        ]


def _piece(text: str, metadata: dict[str, Any], score: float) -> Piece:
    key = json.dumps([metadata["message_ids"], metadata.get("items")])
    return Piece(str(uuid5(NAMESPACE_URL, f"tmem:scenes:{key}")), text, metadata, score)
