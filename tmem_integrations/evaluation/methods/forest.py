"""`forest`: the package's own retriever, asked through its public face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tmem_integrations.config import PAPER, ForestConfig
from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.messages import Message, Query


@dataclass(frozen=True, slots=True)
class ForestMethod:
    """Temporal evidence forest (TEF).

    Attributes:
        name: As given on the command line.
        config: Settings of all stages.
        llm: Chat model of either framework; None goes by rules.
        embeddings: As for `TemporalForestRetriever.from_messages`.
    """

    name: str = "forest"
    config: ForestConfig = PAPER
    llm: Any = None
    embeddings: Any = None

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Build the retriever."""
        from tmem_integrations.retriever import TemporalForestRetriever

        retriever = TemporalForestRetriever.from_messages(
            messages,
            config=self.config,
            llm=self.llm,
            embeddings=self.embeddings,
            timezone="UTC",
        )
        return ForestSearcher(retriever)


@dataclass(frozen=True, slots=True)
class ForestSearcher:
    """A forest retriever, asked through its public face."""

    retriever: Any

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        """The messages of the forest, the most relevant first."""
        retrieval = self.retriever.retrieve_forest(
            query.text,
            asking_user=query.asking_user,
            as_of=query.as_of,
            max_messages=max_messages,
            max_tokens=max_tokens,
        )
        best_first = sorted(retrieval.forest, key=lambda node: -node.score)
        return Selection(tuple(node.message.id for node in best_first), retrieval)
