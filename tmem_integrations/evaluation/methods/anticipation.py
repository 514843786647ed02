"""`anticipation`, and `forest+anticipation`: the forest with anchors that share no word with the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tmem_integrations.anticipation.memory import AnticipatoryMemory
from tmem_integrations.anticipation.recipes import RecallConfig
from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.evaluation.methods.forest import ForestSearcher
from tmem_integrations.messages import Message, Query


class Filing:
    """Histories filed once, however many methods recall from them.

    Args:
        llm: Chat model of either framework that writes; None writes by rules.
        embeddings: As for `TemporalForestRetriever.from_messages`.
    """

    def __init__(self, llm: Any = None, embeddings: Any = None) -> None:
        self.llm = llm
        self._embeddings = embeddings
        self._filed: dict[tuple[Message, ...], AnticipatoryMemory] = {}

    def memory(self, messages: Sequence[Message]) -> AnticipatoryMemory:
        """The messages, filed."""
        from tmem_integrations.bridges.embedders import as_embedder
        from tmem_integrations.bridges.language_models import as_language_model

        history = tuple(messages)
        if history not in self._filed:
            self._filed[history] = AnticipatoryMemory.from_messages(
                history,
                embedder=as_embedder(self._embeddings),
                llm=as_language_model(self.llm),
                timezone="UTC",
            )
        return self._filed[history]


@dataclass(frozen=True, slots=True)
class AnticipationMethod:
    """A memory that anticipates (AM).

    Attributes:
        name: As given on the command line.
        filing: Files the messages.
        joined: Whether it gives anchors to a forest instead of answering alone.
        config: How it recalls when it answers alone; the package's own way when None.
    """

    name: str
    filing: Filing
    joined: bool = False
    config: RecallConfig | None = None

    def index(self, messages: Sequence[Message]) -> Searcher:
        """File the messages."""
        from tmem_integrations.retriever import TemporalForestRetriever

        memory = self.filing.memory(messages)
        if not self.joined:
            return _Searcher(memory, self.config)
        return ForestSearcher(
            TemporalForestRetriever.from_messages(
                [], associative=memory, llm=self.filing.llm, timezone="UTC"
            )
        )


@dataclass(frozen=True, slots=True)
class _Searcher:
    memory: AnticipatoryMemory
    config: RecallConfig | None

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        """The turns that state the items found, then those of the scenes, best first."""
        found = self.memory.retrieve(query, config=self.config)
        stated = [one for i in found.items for one in i.item.spoken_in]
        turns = [m.id for s in found.scenes for m in s.messages]
        return Selection(tuple(dict.fromkeys([*stated, *turns]))[:max_messages])
