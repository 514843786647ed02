"""What Graphiti asks of a model, an embedder and a reranker.

It takes only subclasses of its own classes. These are made when they are asked for, so that nothing of
Graphiti is imported before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tmem_integrations.evaluation.methods.peers.model import PeerModel
from tmem_integrations.protocols import Embedder


@dataclass(frozen=True, slots=True)
class Clients:
    """One of each.

    Attributes:
        llm: The user's model.
        embedder: The embedding model of the comparison.
        reranker: Graphiti makes one of OpenAI's where it is given none; this one refuses.
    """

    llm: Any
    embedder: Any
    reranker: Any


def make_clients(model: PeerModel, embedder: Embedder) -> Clients:
    """Clients that Graphiti takes."""
    from graphiti_core.cross_encoder.client import CrossEncoderClient
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.llm_client.client import LLMClient
    from graphiti_core.llm_client.config import LLMConfig

    llm = _join(_Model, LLMClient)(LLMConfig(model=model.name, small_model=model.name))
    llm.peer_model = model
    embedding = _join(_Embedding, EmbedderClient)()
    embedding.peer_embedder = embedder
    return Clients(llm, embedding, _join(_NoReranker, CrossEncoderClient)())


def _join(own: type, base: type) -> type[Any]:
    return type(own.__name__, (own, base), {})


class _Model:
    peer_model: PeerModel

    async def _generate_response(
        self, messages: list[Any], *args: object, **options: object
    ) -> dict[str, Any]:
        """An object; Graphiti writes the schema of the answer into what it asks."""
        return await self.peer_model.arecord([message.content for message in messages])


class _Embedding:
    peer_embedder: Embedder

    async def create(self, input_data: str | Iterable[Any]) -> list[float]:
        """One vector, of the first text."""
        texts = [input_data] if isinstance(input_data, str) else [str(text) for text in input_data]
        return (await self.create_batch(texts[:1]))[0]

    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        """A vector a text."""
        vectors: list[list[float]] = (await self.peer_embedder.aembed(input_data_list)).tolist()
        return vectors


class _NoReranker:
    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        """Never called by the search that is measured."""
        raise NotImplementedError("the hybrid search of Graphiti reranks by reciprocal ranks")


def best_edges(limit: int) -> Any:
    """Graphiti's own hybrid search of facts, without its least cosine, which fits the embeddings of one
    company: the bound on their number is the only one."""
    from graphiti_core.search.search_config_recipes import EDGE_HYBRID_SEARCH_RRF

    config = EDGE_HYBRID_SEARCH_RRF.model_copy(deep=True)
    config.limit = limit
    config.edge_config.sim_min_score = -1.0
    return config


async def index_words(driver: Any) -> None:
    """Make the word indices that its search expects; the Kuzu driver makes none."""
    from graphiti_core.graph_queries import get_fulltext_indices

    for query in get_fulltext_indices(driver.provider):
        await driver.execute_query(query)
