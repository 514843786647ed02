"""The forest with one part taken away, to see what that part is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tmem_integrations.config import PAPER, EpisodeConfig, ForestConfig
from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.evaluation.methods.forest import ForestMethod
from tmem_integrations.messages import Message, Query

_NEVER = 1_000_000
# One window over all that can be said of a topic.
_WHOLE = EpisodeConfig(
    radius=timedelta(days=36_500), padding=timedelta(days=36_500), density=1e-12, min_anchors=1
)
_WHOLE_REACH = 2_000


def _global(config: ForestConfig) -> ForestConfig:
    reach = replace(config.relevance, reach=_WHOLE_REACH)
    return replace(config, episodes=_WHOLE, relevance=reach, scale=None)


def _bare_anchors(config: ForestConfig) -> ForestConfig:
    lone = replace(config.episodes, min_anchors=_NEVER)
    return replace(config, episodes=lone, relevance=replace(config.relevance, reach=0), scale=None)


def _own_words(config: ForestConfig) -> ForestConfig:
    return replace(config, relevance=replace(config.relevance, decay=1e3, link=0.0))


def _no_vectors(config: ForestConfig) -> ForestConfig:
    return replace(config, relevance=replace(config.relevance, similarity=0.0))


@dataclass(frozen=True, slots=True)
class Ablation:
    """What is taken away.

    Attributes:
        meaning: In one sentence.
        change: The settings without it.
        without: Fields of a message that nobody sees.
        without_asker: Whether nobody sees who asks.
    """

    meaning: str
    change: Callable[[ForestConfig], ForestConfig] = lambda config: config
    without: tuple[str, ...] = ()
    without_asker: bool = False


ABLATIONS: Mapping[str, Ablation] = {
    "global": Ablation("the same gate over the whole topic instead of windows", _global),
    "forest-episodes": Ablation("anchors alone, without what lies around them", _bare_anchors),
    "forest-surroundings": Ablation("relevance does not spread between messages", _own_words),
    "forest-vectors": Ablation("words alone, without embeddings", _no_vectors),
    "forest-metadata": Ablation(
        "texts alone, without author, role, topic, phase and asker",
        without=("author", "author_id", "role", "topic", "phase"),
        without_asker=True,
    ),
    "forest-topic": Ablation("no topics: the channel is the partition", without=("topic",)),
    "forest-phase": Ablation(
        "no phases", without=("phase", "stage", "phase_order", "phase_progress")
    ),
    "forest-topic-phase": Ablation(
        "neither topics nor phases",
        without=("topic", "phase", "stage", "phase_order", "phase_progress"),
    ),
    "forest-replies": Ablation(
        "no reply links: where people drew them from the reading, they are gold",
        without=("reply_to",),
    ),
}
"""By name."""


@dataclass(frozen=True, slots=True)
class AblatedForest:
    """The forest under an ablation.

    Attributes:
        name: Key of `ABLATIONS`.
        base: Settings before the change.
        llm: As for `ForestMethod`.
        embeddings: As for `ForestMethod`.
    """

    name: str
    base: ForestConfig = PAPER
    llm: Any = None
    embeddings: Any = None

    @property
    def config(self) -> ForestConfig:
        """Settings under the ablation."""
        return ABLATIONS[self.name].change(self.base)

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Build the retriever over what is left of the messages."""
        ablation = ABLATIONS[self.name]
        nothing: dict[str, Any] = dict.fromkeys(ablation.without)
        stripped = [replace(message, **nothing) for message in messages] if nothing else messages
        method = ForestMethod(self.name, self.config, self.llm, self.embeddings)
        return _AblatedSearcher(method.index(stripped), ablation.without_asker)


@dataclass(frozen=True, slots=True)
class _AblatedSearcher:
    inner: Searcher
    without_asker: bool

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        asked = replace(query, asking_user=None) if self.without_asker else query
        return self.inner.select(asked, max_messages, max_tokens)
