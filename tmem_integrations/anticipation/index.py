"""The index: derived records laid out for search, and which of them a question may see (AM §4).

One BM25 corpus over topics, scenes and items; a dense table for each type; item triggers in three views,
scene triggers in three views. A view that was not written is NaN. Vectors are held at half precision,
which changes a cosine by less than a thousandth.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.ledger import Ledger
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.triggers import ItemTrigger, SceneTrigger
from tmem_integrations.messages import Scope
from tmem_integrations.models.embeddings import unit_rows
from tmem_integrations.protocols import Embedder, MessageStore, Vectors
from tmem_integrations.stores.lexical import LexicalIndex
from tmem_integrations.text import split_terms

Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]
HalfVectors = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class Tables:
    """All that a question reads, of one version of the ledger. n scenes, t topics, i items, m turns.

    Attributes:
        topics: Labels.
        scenes: Scenes.
        items: Items.
        lexical: BM25 over topics, scenes, items: their slots follow each other in this order.
        topic_vectors: (t, d) of their summaries.
        title_vectors: (t, d) of their titles alone.
        scene_vectors: (n, d) of what was written about them.
        item_vectors: (i, d) of their texts.
        item_views: concept, bridge and joint, (i, d) each.
        dialogue: (n, d) mean of the vectors of their turns: an embedder would cut the whole dialogue.
        scene_views: (s, d) of all sentences on situation, object, event and emotion.
        scene_view_scene: (s,) position of the scene of each.
        horizons: (h, d) of all horizons.
        horizon_scene: (h,) position of the scene of each.
        turn_ids: Messages.
        turn_vectors: (m, d) of their texts.
        turn_scene: (m,) position of the scene of each.
        scenes_of_topic: Positions of the scenes of each topic.
        topic_of_item: (i,) position of the topic of each item.
    """

    topics: tuple[Topic, ...]
    scenes: tuple[Scene, ...]
    items: tuple[Item, ...]
    lexical: LexicalIndex
    topic_vectors: HalfVectors
    title_vectors: HalfVectors
    scene_vectors: HalfVectors
    item_vectors: HalfVectors
    item_views: tuple[HalfVectors, HalfVectors, HalfVectors]
    dialogue: HalfVectors
    scene_views: HalfVectors
    scene_view_scene: Indices
    horizons: HalfVectors
    horizon_scene: Indices
    turn_ids: tuple[str, ...]
    turn_vectors: HalfVectors
    turn_scene: Indices
    scenes_of_topic: tuple[Indices, ...]
    topic_of_item: Indices


@dataclass(frozen=True, slots=True)
class Visible:
    """Which records a question may see: those all of whose source messages it may.

    Attributes:
        scenes: (n,).
        items: (i,).
        turns: (m,).
        topics: (t,) those whose title has a visible source.
        whole_topics: (t,) those of which every scene is visible; of the others only the title counts.
    """

    scenes: Mask
    items: Mask
    turns: Mask
    topics: Mask
    whole_topics: Mask

    @property
    def lexical(self) -> Mask:
        """Over the slots of `Tables.lexical`."""
        return np.concatenate([self.whole_topics, self.scenes, self.items])


class Index:
    """The tables of a ledger, built anew when it has changed.

    Args:
        store: Whose messages were filed.
        embedder: Makes the vectors.
        ledger: What was derived.
    """

    def __init__(self, store: MessageStore, embedder: Embedder, ledger: Ledger) -> None:
        self._store = store
        self._embedder = embedder
        self._ledger = ledger
        self._lock = threading.Lock()
        self._tables: Tables | None = None
        self._version = -1

    def tables(self) -> Tables:
        """The tables as of now."""
        with self._lock:
            self._ledger.refresh()
            if self._tables is None or self._version != self._ledger.version:
                self._tables = self._build()
            return self._tables

    def visible(self, tables: Tables, scope: Scope) -> Visible:
        """What `scope` admits of the tables."""
        admitted = self._admitted(scope)
        scenes = _mask(tables.scenes, lambda scene: admitted.issuperset(scene.message_ids))
        items = _mask(tables.items, lambda item: admitted.issuperset(item.message_ids))
        at = {scene.id: i for i, scene in enumerate(tables.scenes)}
        return Visible(
            scenes=scenes,
            items=items,
            turns=_mask(tables.turn_ids, admitted.__contains__),
            topics=_mask(tables.topics, lambda t: t.founder in at and bool(scenes[at[t.founder]])),
            whole_topics=np.array(
                [bool(scenes[own].all()) for own in tables.scenes_of_topic], bool
            ),
        )

    def _admitted(self, scope: Scope) -> set[str]:
        """Ids of the messages whose text of today the scope admits: that is what was filed."""
        ids = self._store.ids(scope)
        if scope.query.as_of is None:
            return set(ids)
        view, now = self._store.view(scope), self._store.get(ids)
        then = view.load(view.rows_of(ids))
        return {m.id for m in then if m is not None and now.get(m.id) == m}

    def _build(self) -> Tables:
        ledger = self._ledger
        with ledger.reading():
            self._version = ledger.version
            scenes = tuple(ledger.scenes.values())
            topics = tuple(ledger.topics.values())
            items = tuple(ledger.items.values())
            triggers = [ledger.scene_triggers.get(s.id) or SceneTrigger(s.id, ()) for s in scenes]
        founders = {topic.id: topic.founder for topic in topics}
        views = [(item.trigger or ItemTrigger()).views for item in items]
        scene_views = [(i, text) for i, own in enumerate(triggers) for text in own.scene_views]
        horizons = [(i, text) for i, own in enumerate(triggers) for text in own.horizons]
        texts = {
            "topics": [topic.summary() for topic in topics],
            "titles": [f"{topic.title} {topic.title}" for topic in topics],
            "scenes": [scene.text for scene in scenes],
            "items": [item.text for item in items],
            "concepts": [view[0] for view in views],
            "bridges": [view[1] for view in views],
            "joints": [view[2] for view in views],
            "scene_views": [text for _, text in scene_views],
            "horizons": [text for _, text in horizons],
        }
        of_items = [(*item.scene_ids, founders[item.topic_id]) for item in items]
        of_scenes = [(scene.id,) for scene in scenes]
        made_of: dict[str, Sequence[tuple[str, ...]]] = {
            "topics": [topic.scene_ids for topic in topics],
            "titles": [(topic.founder,) for topic in topics],
            "scenes": of_scenes,
            "items": of_items, "concepts": of_items, "bridges": of_items, "joints": of_items,
            "scene_views": [of_scenes[i] for i, _ in scene_views],
            "horizons": [of_scenes[i] for i, _ in horizons],
        }  # fmt: skip
        made = self._vectors(texts, made_of)
        rows = {name: _stack(own, made) for name, own in texts.items()}
        turns = [(one, i) for i, scene in enumerate(scenes) for one in scene.message_ids]
        turn_scene = np.array([i for _, i in turns], dtype=np.int64)
        turn_vectors = self._turn_vectors([one for one, _ in turns])
        at = {scene.id: i for i, scene in enumerate(scenes)}
        topic_at = {topic.id: i for i, topic in enumerate(topics)}
        return Tables(
            topics, scenes, items, _lexical([*texts["topics"], *texts["scenes"], *texts["items"]]),
            rows["topics"], rows["titles"], rows["scenes"], rows["items"],
            (rows["concepts"], rows["bridges"], rows["joints"]),
            _means(turn_vectors, turn_scene, len(scenes)),
            rows["scene_views"], np.array([i for i, _ in scene_views], dtype=np.int64),
            rows["horizons"], np.array([i for i, _ in horizons], dtype=np.int64),
            tuple(one for one, _ in turns), turn_vectors, turn_scene,
            tuple(
                np.array([at[s] for s in topic.keywords if s in at], np.int64) for topic in topics
            ),
            np.array([topic_at[item.topic_id] for item in items], dtype=np.int64),
        )  # fmt: skip

    def _vectors(
        self, texts: Mapping[str, Sequence[str]], made_of: Mapping[str, Sequence[tuple[str, ...]]]
    ) -> dict[str, Vectors]:
        """Vectors of texts; those of the last version are not made again."""
        sources: dict[str, set[str]] = {}
        for name, own in texts.items():
            for text, scene_ids in zip(own, made_of[name], strict=True):
                if text.strip():
                    sources.setdefault(text, set()).update(scene_ids)
        wanted = list(sources)
        model = self._embedder.name
        known = self._ledger.vectors(model, wanted)
        new = [text for text in wanted if text not in known]
        if new:
            known.update(zip(new, self._embedder.embed(new), strict=True))
        self._ledger.keep_vectors(model, known, sources)
        return known

    def _turn_vectors(self, ids: Sequence[str]) -> HalfVectors:
        """(m, d) as the store keeps them; made where it keeps none."""
        view = self._store.view(Scope())
        rows = view.rows_of(ids)
        messages = view.load(rows)
        kept = view.vectors(rows)
        if kept is None or not np.any(kept):
            kept = self._embedder.embed([m.text if m else "" for m in messages])
        found = {m.id: kept[i] for i, m in enumerate(messages) if m is not None}
        dimension = kept.shape[1] if len(kept) else 1
        table = np.zeros((len(ids), dimension), np.float16)
        for place, one in enumerate(ids):
            if one in found:
                table[place] = found[one]
        return table


def _mask(things: Sequence[object], admits: Callable[..., bool]) -> Mask:
    return np.array([admits(thing) for thing in things], dtype=np.bool_)


def _stack(texts: Sequence[str], vectors: dict[str, Vectors]) -> HalfVectors:
    """(n, d) rows; NaN where a text is blank."""
    dimension = len(next(iter(vectors.values()), np.zeros(1)))
    blank = np.full(dimension, np.nan, np.float16)
    rows = [vectors.get(text, blank) if text.strip() else blank for text in texts]
    return np.array(rows, np.float16).reshape(-1, dimension)


def _means(vectors: HalfVectors, owners: Indices, n: int) -> HalfVectors:
    sums = np.zeros((n, vectors.shape[1]), np.float32)
    np.add.at(sums, owners, vectors)
    return unit_rows(sums).astype(np.float16)


def _lexical(texts: Sequence[str]) -> LexicalIndex:
    index = LexicalIndex()
    index.add(range(len(texts)), [split_terms(text, single_characters=True) for text in texts])
    return index
