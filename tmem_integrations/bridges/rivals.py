"""What people build for this today with each framework: a hybrid of BM25 and vectors, fused by rank.

Each takes messages with vectors that are made already and gives back a way to ask: a question to the ids
of messages, best first. Only the benchmark uses them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from tmem_integrations.messages import Message
from tmem_integrations.protocols import Embedder, Vectors

Ask = Callable[[str], list[str]]
# As many as a question to a `TemporalMemory` seeds with.
TOP_K = 36
_BATCH = 2_000


def build_ensemble(messages: Sequence[Message], vectors: Vectors, embedder: Embedder) -> Ask:
    """LangChain: `EnsembleRetriever` over `BM25Retriever` and a default `Chroma`, in memory.

    Args:
        messages: What is searched.
        vectors: (n, d) of their texts.
        embedder: Makes those of questions.

    Raises:
        ImportError: If langchain-classic, langchain-community or langchain-chroma is missing.
    """
    from langchain_chroma import Chroma
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings

    with warnings.catch_warnings():
        # It says that it is no longer cared for; it is still what people have.
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.retrievers import BM25Retriever

    class Ready(Embeddings):
        """Vectors that are there already, handed out in the order of the texts."""

        def __init__(self) -> None:
            self._rows = iter(vectors.tolist())

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [next(self._rows) for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            row: list[float] = embedder.embed([text])[0].tolist()
            return row

    documents = [Document(page_content=m.text, metadata={"id": m.id}) for m in messages]
    store = Chroma(collection_name=f"rival-{id(documents)}", embedding_function=Ready())
    for start in range(0, len(documents), _BATCH):
        part = documents[start : start + _BATCH]
        store.add_documents(part, ids=[document.metadata["id"] for document in part])
    words = BM25Retriever.from_documents(documents)
    words.k = TOP_K
    retriever = EnsembleRetriever(
        retrievers=[words, store.as_retriever(search_kwargs={"k": TOP_K})], weights=[0.5, 0.5]
    )
    return lambda question: [d.metadata["id"] for d in retriever.invoke(question)][:TOP_K]


def build_fusion(messages: Sequence[Message], vectors: Vectors, embedder: Embedder) -> Ask:
    """LlamaIndex: `QueryFusionRetriever` over `BM25Retriever` and a default vector index, in memory.

    Args:
        messages: What is searched.
        vectors: (n, d) of their texts.
        embedder: Makes those of questions.

    Raises:
        ImportError: If llama-index-retrievers-bm25 is missing.
    """
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    class Questions(BaseEmbedding):
        """Embeds questions; texts have their vectors already."""

        def _get_text_embedding(self, text: str) -> list[float]:
            row: list[float] = embedder.embed([text])[0].tolist()
            return row

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    nodes = [
        TextNode(id_=message.id, text=message.text, embedding=row.tolist())
        for message, row in zip(messages, vectors, strict=True)
    ]
    index = VectorStoreIndex(nodes, embed_model=Questions())
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=TOP_K)
    retriever = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=TOP_K), words],
        llm=MockLLM(),
        mode=FUSION_MODES.RECIPROCAL_RANK,
        similarity_top_k=TOP_K,
        # One query: without a model nothing rewrites it.
        num_queries=1,
        use_async=False,
    )
    return lambda question: [found.node.node_id for found in retriever.retrieve(question)]
