"""Methods by name, all through one protocol.

bm25, bm25+metadata, dense, rrf, recent, full; forest, global and the forest's ablations; anticipation
alone and joined to the forest; any retriever of LangChain or LlamaIndex by import path (see
`frameworks`); and peers of the paper over their own packages (see `peers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods.base import Method, Searcher, Selection
from tmem_integrations.evaluation.methods.peers import PEERS, UNAVAILABLE, make_peer
from tmem_integrations.suggestions import suggest

__all__ = ["METHODS", "PEERS", "Method", "Searcher", "Selection", "make_method"]


def _ranking(name: str, embeddings: Any) -> Method:
    from tmem_integrations.evaluation.methods import ranking

    def dense() -> ranking.DenseScorer:
        from tmem_integrations.bridges.embedders import as_embedder

        embedder = as_embedder("static" if embeddings is None else embeddings)
        if embedder is None:
            raise ConfigError(f"{name} needs embeddings, got {embeddings!r}.")
        return ranking.DenseScorer(embedder)

    makers: dict[str, Callable[[], ranking.Scorer]] = {
        "bm25": lambda: ranking.Bm25Scorer(metadata=False),
        "bm25+metadata": lambda: ranking.Bm25Scorer(metadata=True),
        "dense": dense,
        "rrf": lambda: ranking.FusionScorer(ranking.Bm25Scorer(metadata=True), dense()),
        "recent": ranking.RecencyScorer,
    }
    return ranking.RankingMethod(name, makers[name])


_RANKING = ("bm25", "bm25+metadata", "dense", "rrf", "recent")
_ABLATIONS = (
    "global", "forest-episodes", "forest-surroundings", "forest-vectors", "forest-metadata",
    "forest-topic", "forest-phase", "forest-topic-phase", "forest-replies",
)  # fmt: skip
_ANTICIPATION = ("anticipation", "forest+anticipation")
METHODS = (*_RANKING, "full", "forest", *_ABLATIONS, *_ANTICIPATION)
"""Names `make_method` knows, beside those of `PEERS`."""


def make_method(name: str, *, llm: Any = None, embeddings: Any = None) -> Method:
    """Make a method by name or import path.

    Args:
        name: One of `METHODS` or `PEERS`, or a path as `frameworks` reads it.
        llm: Chat model for methods that ask one.
        embeddings: For methods that embed; None is the static table in the wordllama wheel.

    Raises:
        ConfigError: If there is no such method.
        MissingExtraError: If it is a peer whose package is not installed.
    """
    if name in _RANKING:
        return _ranking(name, embeddings)
    if name == "full":
        from tmem_integrations.evaluation.methods.whole import FullMethod

        return FullMethod()
    if name == "forest":
        from tmem_integrations.evaluation.methods.forest import ForestMethod

        return ForestMethod(name, llm=llm, embeddings=embeddings)
    if name in _ANTICIPATION:
        from tmem_integrations.evaluation.methods.anticipation import AnticipationMethod, Filing

        return AnticipationMethod(name, Filing(llm, embeddings), joined=name.startswith("forest"))
    if name in _ABLATIONS:
        from tmem_integrations.evaluation.methods.ablations import AblatedForest

        return AblatedForest(name, llm=llm, embeddings=embeddings)
    if name in PEERS or name in UNAVAILABLE:
        return make_peer(name, llm=llm, embeddings=embeddings)
    if ":" in name:
        from tmem_integrations.evaluation.methods.frameworks import FrameworkMethod

        return FrameworkMethod.from_path(name)
    raise ConfigError(f"Unknown method {name!r}; {suggest(name, (*METHODS, *PEERS))}")
