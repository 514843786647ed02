"""Baselines that score every visible message and keep the best."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import snowballstemmer
from rank_bm25 import BM25Okapi
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols import Embedder, Scores, Vectors

Messages = tuple[Message, ...]


class Scorer(Protocol):
    """Scores for the messages a question may read, which come in order of arrival."""

    def score(self, query: Query, visible: Messages) -> Scores:
        """(n,) scores, larger is better."""
        ...


@dataclass(frozen=True, slots=True)
class RankingMethod:
    """The best messages by one score.

    Attributes:
        name: As given on the command line.
        make_scorer: Called once per history, so that a scorer may keep what it computed.
    """

    name: str
    make_scorer: Callable[[], Scorer]

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Keep the messages; they are scored when a question says which of them are visible."""
        return _RankingSearcher(tuple(messages), self.make_scorer())


@dataclass(frozen=True, slots=True)
class _RankingSearcher:
    messages: Messages
    scorer: Scorer

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        visible = visible_to(query, self.messages)
        if not visible:
            return Selection(())
        order = np.argsort(-self.scorer.score(query, visible), kind="stable")[:max_messages]
        return Selection(tuple(visible[i].id for i in order))


def visible_to(query: Query, messages: Messages) -> Messages:
    """Those of `messages` that the question may read."""
    scope = Scope(query)
    return tuple(message for message in messages if scope.admits(message))


class Bm25Scorer:
    """BM25Okapi of `rank_bm25`, fitted on what is visible.

    Words are cut as common retrievers do it: lower case, English stop words out, Snowball stems.

    Args:
        metadata: Index channel, phase, topic, author and role with the text, and search the asker's
            name with the question (TEF §4.2); otherwise text and question alone.
    """

    def __init__(self, *, metadata: bool) -> None:
        self._metadata = metadata
        self._fitted: tuple[Messages, BM25Okapi] | None = None

    def score(self, query: Query, visible: Messages) -> Scores:
        """(n,) BM25 scores."""
        asker = query.asking_user if self._metadata else None
        words = stemmed_words(f"{asker or ''} {query.text}")
        return np.asarray(self._model(visible).get_scores(words), dtype=np.float64)

    def _model(self, visible: Messages) -> BM25Okapi:
        if self._fitted is None or self._fitted[0] != visible:
            texts = [_with_metadata(m) if self._metadata else m.text for m in visible]
            # rank_bm25 divides by the mean length, which is zero when no message holds a word.
            words = [stemmed_words(text) or [""] for text in texts]
            self._fitted = (visible, BM25Okapi(words))
        return self._fitted[1]


class DenseScorer:
    """Cosine of the question and "author: text" of a message.

    Args:
        embedder: Its vectors have length 1.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    def score(self, query: Query, visible: Messages) -> Scores:
        """(n,) cosines."""
        fresh = [m for m in visible if m.id not in self._vectors]
        if fresh:
            rows = self._embedder.embed([_spoken(m) for m in fresh])
            self._vectors.update((m.id, row) for m, row in zip(fresh, rows, strict=True))
        asked = self._embedder.embed([query.text])[0]
        rows = np.stack([self._vectors[m.id] for m in visible])
        cosines: Scores = rows.astype(np.float64) @ asked.astype(np.float64)
        return cosines


def _with_metadata(message: Message) -> str:
    # Not what the package indexes: a baseline does not change with what it is compared to.
    parts = (
        message.text, message.channel, message.phase, message.topic, message.author, message.role,
    )  # fmt: skip
    return " ".join(part for part in parts if part)


def _spoken(message: Message) -> str:
    return f"{message.author}: {message.text}" if message.author else message.text


class FusionScorer:
    r"""Reciprocal rank fusion (Cormack et al., SIGIR 2009).

    $$ \sum_r 1 / (k_0 + \mathrm{rank}_r) $$

    Args:
        scorers: Each ranks all visible messages.
        rrf_k: k₀.
    """

    def __init__(self, *scorers: Scorer, rrf_k: int = 60) -> None:
        self._scorers = scorers
        self._rrf_k = rrf_k

    def score(self, query: Query, visible: Messages) -> Scores:
        """(n,) fused scores."""
        fused = np.zeros(len(visible))
        for scorer in self._scorers:
            order = np.argsort(-scorer.score(query, visible), kind="stable")
            fused[order] += 1 / (self._rrf_k + 1 + np.arange(len(visible)))
        return fused


class RecencyScorer:
    """The latest message first; of the same second, the later arrival."""

    def score(self, query: Query, visible: Messages) -> Scores:
        """(n,) places in order of time."""
        places = np.zeros(len(visible))
        order = sorted(range(len(visible)), key=lambda i: visible[i].sent_at)
        places[order] = np.arange(len(visible))
        return places


_WORD = re.compile(r"\w+")


def stemmed_words(text: str) -> list[str]:
    """Words of a text as common BM25 retrievers index them.

    Examples:
        >>> stemmed_words("The releases of Friday!")
        ['releas', 'friday']
    """
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    stem: str = snowballstemmer.stemmer("english").stemWord(word)
    return stem
