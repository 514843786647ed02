"""`anticipation`, and `forest+anticipation`: the forest with anchors that share no word with the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tmem_integrations.anticipation.memory import AnticipatoryMemory
from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.evaluation.methods.forest import ForestSearcher
from tmem_integrations.messages import Message, Query


@dataclass(frozen=True, slots=True)
class AnticipationMethod:
    """A memory that anticipates (AM).

    Attributes:
        name: As given on the command line.
        joined: Whether it gives anchors to a forest instead of answering alone.
        llm: Chat model of either framework that writes; None writes by rules.
        embeddings: As for `TemporalForestRetriever.from_messages`.
    """

    name: str
    joined: bool
    llm: Any = None
    embeddings: Any = None

    def index(self, messages: Sequence[Message]) -> Searcher:
        """File the messages."""
        from tmem_integrations.bridges.embedders import as_embedder
        from tmem_integrations.bridges.language_models import as_language_model
        from tmem_integrations.retriever import TemporalForestRetriever

        memory = AnticipatoryMemory.from_messages(
            messages,
            embedder=as_embedder(self.embeddings),
            llm=as_language_model(self.llm),
            timezone="UTC",
        )
        if not self.joined:
            return _Searcher(memory)
        return ForestSearcher(
            TemporalForestRetriever.from_messages(
                [], associative=memory, llm=self.llm, timezone="UTC"
            )
        )


@dataclass(frozen=True, slots=True)
class _Searcher:
    memory: AnticipatoryMemory

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        """The turns that state the items found, then those of the scenes, best first."""
        found = self.memory.retrieve(query)
        stated = [one for i in found.items for one in i.item.spoken_in]
        turns = [m.id for s in found.scenes for m in s.messages]
        return Selection(tuple(dict.fromkeys([*stated, *turns]))[:max_messages])
