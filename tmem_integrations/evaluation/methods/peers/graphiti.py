"""Graphiti (`graphiti-core` 0.31): a model writes a graph of facts that become true and stop being so.

Each message is an episode. A fact keeps the episodes that say it, and when it was superseded. The graph lies
in Kuzu, in process. Its telemetry is switched off, and its cross-encoder, which the search asked here never
calls, is not made.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from tmem_integrations.errors import MissingExtraError
from tmem_integrations.evaluation.methods.base import Passage, Usage
from tmem_integrations.evaluation.methods.peers.graphiti_clients import (
    best_edges,
    index_words,
    make_clients,
)
from tmem_integrations.evaluation.methods.peers.growing import PeerMethod, spoken
from tmem_integrations.evaluation.methods.peers.model import (
    PeerModel,
    required_embedder,
    required_model,
)
from tmem_integrations.evaluation.methods.peers.own_loop import OwnLoop
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Embedder, LanguageModel


def make(llm: Any, embeddings: Any) -> PeerMethod:
    """Graphiti as a method.

    Raises:
        MissingExtraError: If `graphiti-core` or `kuzu` is not installed.
        ConfigError: If no model is given.
    """
    os.environ.setdefault("GRAPHITI_TELEMETRY_ENABLED", "false")
    try:
        import_module("graphiti_core")
        import_module("kuzu")
    except ImportError as error:
        raise MissingExtraError(
            "graphiti-core and kuzu", "graphiti", "The method graphiti"
        ) from error
    model, embedder = required_model(llm, "graphiti"), required_embedder(embeddings, "graphiti")
    return PeerMethod("graphiti", lambda: GraphitiMemory(model, embedder))


class GraphitiMemory:
    """A `graphiti_core.Graphiti` over Kuzu in memory, on an event loop of its own."""

    def __init__(self, llm: LanguageModel, embedder: Embedder) -> None:
        from graphiti_core import Graphiti
        from graphiti_core.driver.kuzu_driver import KuzuDriver

        self._model = PeerModel(llm)
        self._ids: dict[str, str] = {}
        self._loop = OwnLoop()
        with warnings.catch_warnings():
            # The in-process graph it has; its successors are servers.
            warnings.simplefilter("ignore", DeprecationWarning)
            driver = KuzuDriver()
        clients = make_clients(self._model, embedder)
        self._graphiti = Graphiti(
            graph_driver=driver,
            llm_client=clients.llm,
            embedder=clients.embedder,
            cross_encoder=clients.reranker,
        )
        self._loop.run(index_words(driver))

    def add(self, message: Message) -> None:
        """Let the model write the next message into the graph."""
        added = self._loop.run(
            self._graphiti.add_episode(
                name=message.id,
                episode_body=spoken(message, dated=False),
                source_description=f"chat message in {message.channel or 'a group'}",
                reference_time=message.sent_at,
            )
        )
        self._ids[added.episode.uuid] = message.id

    def search(self, question: str, max_passages: int, max_tokens: int) -> Sequence[Passage]:
        """Facts, with when they held."""
        # To the word index of Kuzu these are wild cards: "release?" is found nowhere.
        words = re.sub(r"[?*]", " ", question)
        found = self._loop.run(self._graphiti.search_(words, config=best_edges(max_passages)))
        return [Passage(_dated(edge), tuple(self._sources(edge.episodes))) for edge in found.edges]

    def take_usage(self) -> Usage:
        """What the model took."""
        return self._model.take_usage()

    def close(self) -> None:
        """Let go of the graph."""
        self._loop.run(self._graphiti.close())
        self._loop.close()

    def _sources(self, episodes: Iterable[str]) -> Iterable[str]:
        return (self._ids[uuid] for uuid in episodes if uuid in self._ids)


def _dated(edge: Any) -> str:
    known = [
        f"{word} {moment:%Y-%m-%d %H:%M}"
        for word, moment in (("from", edge.valid_at), ("until", edge.invalid_at))
        if moment is not None
    ]
    return f"{edge.fact} ({', '.join(known)})" if known else str(edge.fact)
