"""What a user would pick instead, measured on the same history and the same questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from rank_bm25 import BM25Okapi

from tmem_integrations.bridges.rivals import TOP_K, Ask, build_ensemble, build_fusion
from tmem_integrations.evaluation.bench import Measured, cost_of, embed_history, spread_of
from tmem_integrations.evaluation.bench_history import ask_about
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Embedder, Vectors

Build = Callable[[Sequence[Message], Vectors, Embedder], Ask]


def build_rank_bm25(messages: Sequence[Message], vectors: Vectors, embedder: Embedder) -> Ask:
    """`rank_bm25.BM25Okapi` over words parted by spaces; no vectors."""
    index = BM25Okapi([message.text.lower().split() for message in messages])

    def ask(question: str) -> list[str]:
        scores = index.get_scores(question.lower().split())
        return [messages[i].id for i in np.argsort(-scores, kind="stable")[:TOP_K].tolist()]

    return ask


RIVALS: dict[str, Build] = {
    "rank_bm25": build_rank_bm25,
    "LangChain EnsembleRetriever": build_ensemble,
    "LlamaIndex QueryFusionRetriever": build_fusion,
}


def measure_rivals(
    messages: Sequence[Message], embedder: Embedder, n_questions: int
) -> Iterator[Measured | str]:
    """Measure each of them.

    Args:
        messages: The history.
        embedder: Makes vectors of messages, which is not counted, and of questions, which is.
        n_questions: How many questions are asked.

    Yields:
        What was measured, or one sentence why it was not.
    """
    vectors = embed_history(messages, embedder)
    questions = ask_about(messages, n_questions)
    for name, build in RIVALS.items():
        try:
            ingest, ask = cost_of(build, messages, vectors, embedder)
        except ImportError as error:
            yield f"{name} is left out: {error}; pip install 'tmem-integrations[bench]'."
            continue
        ask(questions[0])
        costs = [cost_of(ask, question)[0] for question in questions]
        yield Measured(name, len(messages), ingest, spread_of(costs))
