"""The cascade: topics → scenes → items, each a fusion of words and vectors (AM Alg. 2 and 5).

What a trigger reaches bypasses the topic filter: it is there for questions that share nothing with the
topic. No model is asked.

`PAPER` follows the code that the authors published (github.com/Sherlockwz/T-Mem: `stage5_retrieval_*`,
`stage6_retrieval`, `trigger_recaller`): the cues of scenes, fused, and the triggers of items only admit
to the pool of a layer, where all are ranked by their own words and vectors; the items looked at are
those of the 24 best scenes, of which 5 are shown. Its reranker, which is no part of the paper's recipe
here, is left out, and its cues are fused with the paper's k₀ = 60, not 30. Without a reranker an
admitted scene that shares nothing with the question comes last in its pool; so by default (`CENTRED`) what a
trigger reached is ranked by that trigger, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tmem_integrations.anticipation.index import HalfVectors, Indices, Mask, Tables, Visible
from tmem_integrations.anticipation.recipes import RecallConfig
from tmem_integrations.protocols import Reached, Scores, Vectors
from tmem_integrations.stores.compatibility import require_same_length

# Rows of a table that are compared at a time.
_BLOCK = 4_096
_ITEM_VIEWS = ("entity", "bridge", "joint")
# Of a scene that only a trigger reached, so many turns: those most like the question.
_TURNS_OF_SCENE = 3


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that was found.

    Attributes:
        index: Position in its table.
        score: Fused score, comparable within one layer of one question.
        via: "topic" for what the topic filter let through, else the trigger view that reached it.
    """

    index: int
    score: float
    via: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the cascade found, best first."""

    topics: tuple[Hit, ...] = ()
    scenes: tuple[Hit, ...] = ()
    items: tuple[Hit, ...] = ()


def fuse(rankings: Iterable[Sequence[int]], k: int) -> dict[int, float]:
    r"""Reciprocal rank fusion (Cormack et al. 2009): $\sum_r 1 / (k_0 + r(x))$, ranks from 1.

    Examples:
        >>> fused = fuse([[7, 8], [8]], 60)
        >>> fused[8] == 1 / 62 + 1 / 61, fused[7] == 1 / 61
        (True, True)
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, start=1):
            scores[one] = scores.get(one, 0.0) + 1 / (k + rank)
    return scores


class Cascade:
    """One question on one version of the tables.

    Args:
        tables: What there is.
        visible: What the question may see.
        terms: Of the question.
        vector: (d,) of the question; None without one: then words decide alone.
        config: How layers are fused, and how much is found.
    """

    def __init__(
        self,
        tables: Tables,
        visible: Visible,
        terms: Sequence[str],
        vector: Vectors | None,
        config: RecallConfig,
    ) -> None:
        self._tables = tables
        self._visible = visible
        self._vector = vector
        self._config = config
        slots, scores = tables.lexical.search(terms, visible.lexical)
        self._words: Scores = np.full(tables.lexical.n_slots, np.nan)
        self._words[slots] = scores

    def recall(self) -> Recalled:
        """Topics, then scenes, then items."""
        topics = self._topics()
        tables, config = self._tables, self._config
        in_scenes, in_items = self._visible.scenes.copy(), self._visible.items.copy()
        if config.topic_filter:
            open_ = np.zeros(len(tables.topics), np.bool_)
            open_[[hit.index for hit in topics]] = True
            in_items &= open_[tables.topic_of_item] if len(tables.items) else True
            of_topics = np.zeros(len(tables.scenes), np.bool_)
            for hit in topics:
                of_topics[tables.scenes_of_topic[hit.index]] = True
            in_scenes &= of_topics
        scenes = self._scenes(in_scenes) if config.scene_layer else ()
        if config.scene_layer and config.item_scenes is not None:
            found = {tables.scenes[hit.index].id for hit in scenes[: config.item_scenes]}
            told = [not found.isdisjoint(item.scene_ids) for item in tables.items]
            in_items = self._visible.items & np.array(told, np.bool_)
        return Recalled(topics, scenes[: config.top_scenes], self._items(in_items))

    def reach(self, most: int) -> tuple[Reached, ...]:
        """Turns for a forest: the most similar ones, fused with those of triggered scenes and items.

        Args:
            most: At most this many.
        """
        tables = self._tables
        if self._vector is None:
            return ()
        likeness = _likeness(tables.turn_vectors, self._vector, self._visible.turns, centred=True)
        nearest = _ranking(likeness)[:most]
        via = dict.fromkeys(nearest, "dense")
        triggered: list[int] = []
        for hit in self._triggered_scenes():
            own = np.flatnonzero((tables.turn_scene == hit.index) & np.isfinite(likeness))
            best = own[np.argsort(-likeness[own], kind="stable")][:_TURNS_OF_SCENE].tolist()
            triggered += best
            via.update((turn, hit.via) for turn in best)
        turn_at = {one: i for i, one in enumerate(tables.turn_ids)}
        for hit in self._triggered_items(written=True):
            item = tables.items[hit.index]
            spoken = [turn_at[one] for one in item.spoken_in or item.message_ids]
            best = sorted(spoken, key=lambda turn: -likeness[turn])[:_TURNS_OF_SCENE]
            triggered += best
            via.update((turn, hit.via) for turn in best)
        fused = fuse([nearest, list(dict.fromkeys(triggered))], self._config.rrf_k)
        best_first = sorted(fused, key=lambda turn: -fused[turn])[:most]
        return tuple(Reached(tables.turn_ids[turn], via[turn]) for turn in best_first)

    def _topics(self) -> tuple[Hit, ...]:
        tables, visible = self._tables, self._visible
        vectors = np.where(
            visible.whole_topics[:, None], tables.topic_vectors, tables.title_vectors
        )
        rankings = [
            self._by_words(0, visible.topics),
            self._by_likeness(vectors, visible.topics),
        ]
        return self._best(rankings, self._config.top_topics, {})

    def _scenes(self, allowed: Mask) -> tuple[Hit, ...]:
        """The scenes of the topics, and those that the scene cues reach anywhere: as many as are looked into."""
        config = self._config
        cues = self._scene_cues()
        cued = _order(fuse(cues.values(), config.rrf_k))
        most = max(config.top_scenes, config.item_scenes or 0)
        if config.admits_only:
            pool = allowed.copy()
            pool[cued[: config.top_cued]] = True
            via = {i: _nearest_view(cues, i) for i in cued if not allowed[i]}
            return self._best(self._scene_rankings(pool), most, via)
        own = _order(fuse(self._scene_rankings(allowed), config.rrf_k))
        via = {i: _nearest_view(cues, i) for i in set(cued) - set(own)}
        return self._best([own, cued], most, via)

    def _scene_rankings(self, allowed: Mask) -> list[list[int]]:
        """By their own words and vectors."""
        return [
            self._by_words(len(self._tables.topics), allowed),
            self._by_likeness(self._tables.scene_vectors, allowed),
        ]

    def _scene_cues(self) -> dict[str, list[int]]:
        """Rankings by the dialogue, scene and horizon views."""
        tables, visible, config = self._tables, self._visible, self._config
        cues: dict[str, list[int]] = {}
        if config.scene_triggers:
            cues["dialogue"] = self._by_likeness(tables.dialogue, visible.scenes)
            cues["scene"] = self._by_best(tables.scene_views, tables.scene_view_scene)
        if config.horizon_triggers:
            cues["horizon"] = self._by_best(tables.horizons, tables.horizon_scene)
        depth = max(config.top_scenes * 4, 20)
        return {view: ranking[:depth] for view, ranking in cues.items()}

    def _by_best(self, sentences: HalfVectors, scene: Indices) -> list[int]:
        """Scenes by the best of their sentences."""
        if self._vector is None or not len(sentences):
            return []
        seen = self._visible.scenes[scene]
        likeness = _likeness(sentences, self._vector, seen, centred=self._config.centred)
        return list(dict.fromkeys(scene[_ranking(likeness)].tolist()))

    def _triggered_scenes(self) -> tuple[Hit, ...]:
        """Scenes by what was imagined about them, without their own words."""
        written = {k: v for k, v in self._scene_cues().items() if k != "dialogue"}
        via: dict[int, str] = {}
        for view, ranking in written.items():
            for place, index in enumerate(ranking):
                if index not in via or place < written[via[index]].index(index):
                    via[index] = view
        return self._best(list(written.values()), self._config.top_scenes, via)

    def _items(self, allowed: Mask) -> tuple[Hit, ...]:
        """The items of the topics or scenes, and those that triggers reach anywhere."""
        tables = self._tables
        allowed = allowed & self._usable_items()
        triggered = self._triggered_items()
        via: dict[int, str] = {}
        if self._config.admits_only:
            via = {hit.index: hit.via for hit in triggered if not allowed[hit.index]}
            allowed[list(via)] = True
        start = len(tables.topics) + len(tables.scenes)
        rankings = [
            self._by_words(start, allowed),
            self._by_likeness(tables.item_vectors, allowed),
        ]
        found = self._best(rankings, self._config.top_items, via)
        if self._config.admits_only:
            return found
        known = {hit.index for hit in found}
        return (*found, *(hit for hit in triggered if hit.index not in known))

    def _triggered_items(self, *, written: bool = False) -> tuple[Hit, ...]:
        """Items whose best trigger view is like the question: a missing view is no view.

        Args:
            written: Only by what a model wrote.
        """
        tables, config = self._tables, self._config
        if self._vector is None or not config.item_triggers or not len(tables.items):
            return ()
        usable = self._visible.items & self._usable_items()
        if written:
            by_rule = [i.trigger is None or i.trigger.by_rule for i in tables.items]
            usable = usable & ~np.array(by_rule, np.bool_)
        views = np.stack(
            [
                _likeness(view, self._vector, usable, centred=config.centred)
                for view in tables.item_views
            ]
        )
        known = np.where(np.isnan(views), -np.inf, views)
        best = known.max(axis=0)
        order = np.argsort(-best, kind="stable")[: config.top_triggered]
        return tuple(
            Hit(int(i), float(best[i]), _ITEM_VIEWS[int(known[:, i].argmax())])
            for i in order
            if best[i] >= config.trigger_gate
        )

    def _usable_items(self) -> Mask:
        if self._config.connected_items:
            return np.ones(len(self._tables.items), np.bool_)
        return np.array([item.kind == "atomic" for item in self._tables.items], np.bool_)

    def _by_words(self, start: int, allowed: Mask) -> list[int]:
        """Ranking of one type by BM25; its slots begin at `start`."""
        scores = self._words[start : start + len(allowed)]
        return _ranking(np.where(allowed, scores, np.nan))

    def _by_likeness(self, table: HalfVectors, allowed: Mask) -> list[int]:
        if self._vector is None or not len(table):
            return []
        return _ranking(_likeness(table, self._vector, allowed, centred=self._config.centred))

    def _best(
        self, rankings: Sequence[Sequence[int]], most: int, via: dict[int, str]
    ) -> tuple[Hit, ...]:
        fused = fuse(rankings, self._config.rrf_k)
        return tuple(Hit(i, fused[i], via.get(i, "topic")) for i in _order(fused)[:most])


def _nearest_view(cues: dict[str, list[int]], index: int) -> str:
    """The view in which a scene stands highest."""
    views = [view for view, ranking in cues.items() if index in ranking]
    return min(views, key=lambda view: cues[view].index(index))


def _order(fused: dict[int, float]) -> list[int]:
    return sorted(fused, key=lambda one: (-fused[one], one))


def _ranking(scores: Scores) -> list[int]:
    """Positions of what has a score, best first."""
    order: Indices = np.argsort(-scores, kind="stable")
    return [int(i) for i in order if np.isfinite(scores[i])]


def _likeness(table: HalfVectors, vector: Vectors, allowed: Mask, *, centred: bool) -> Scores:
    """(n,) cosine; NaN where a row is missing or not allowed.

    The mean that is taken out is that of the allowed rows: no score tells of another one.

    Raises:
        StoreMismatchError: If rows and vector have not one length.
    """
    likeness: Scores = np.full(len(table), np.nan)
    rows = np.flatnonzero(allowed & np.isfinite(table[:, 0])) if len(table) else np.empty(0, int)
    if not len(rows):
        return likeness
    require_same_length(table.shape[1], len(vector))
    # In blocks that stay in the processor's cache: half the time of all at once.
    blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    mean = np.zeros(table.shape[1], np.float32)
    if centred and len(rows) > 1:
        mean = sum(table[block].sum(axis=0, dtype=np.float32) for block in blocks) / len(rows)
    target = vector - mean
    length = float(np.linalg.norm(target))
    for block in blocks:
        own = table[block].astype(np.float32) - mean
        likeness[block] = own @ target / np.maximum(np.linalg.norm(own, axis=1) * length, 1e-9)
    return likeness
