"""The writer that needs no model: it files what was said under its own words, and imagines nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.scenes import Scene, SceneConfig, cut_scenes
from tmem_integrations.anticipation.topics import Topic, match_topics
from tmem_integrations.anticipation.triggers import ItemTrigger, SceneTrigger
from tmem_integrations.anticipation.wording import keywords, speaks_of_self, statements
from tmem_integrations.anticipation.writer import (
    Description,
    Fact,
    Filing,
    Shelf,
    Stream,
    Trait,
    Transcript,
)
from tmem_integrations.models.embeddings import unit_rows
from tmem_integrations.protocols import Vectors
from tmem_integrations.requests import Embed, Flow

_MAX_SUMMARY = 240
_N_CENTRAL = 3


class RuleWriter:
    """Scenes by pause, speakers and shifts of vocabulary; labels by likeness; items are statements.

    Args:
        scenes: How channels are cut.
        likeness: Least centred cosine between a scene and a label that it joins.
        most_topics: Labels of one scene.
        most_items: Items of one scene.
    """

    name = "rules"
    anticipates = False

    def __init__(
        self,
        scenes: SceneConfig | None = None,
        *,
        likeness: float = 0.35,
        most_topics: int = 3,
        most_items: int = 8,
    ) -> None:
        self.scenes = scenes or SceneConfig()
        self.likeness = likeness
        self.most_topics = most_topics
        self.most_items = most_items

    def begin(self) -> None:
        """Nothing is bounded."""

    def end(self) -> None:
        """Nothing fails."""

    def find_starts(self, streams: Sequence[Stream]) -> Flow[tuple[tuple[int, ...] | None, ...]]:
        """See `scenes.cut_scenes`."""
        yield from ()
        return tuple(
            cut_scenes(s.messages, s.vectors, self.scenes, first=max(1, s.first)) for s in streams
        )

    def describe(self, scenes: Sequence[Transcript]) -> Flow[tuple[Description | None, ...]]:
        """Title: what is said most often; summary: the most central statement; narrative: the next."""
        spoken = [_spoken(scene) for scene in scenes]
        vectors = yield from Embed([text for own in spoken for _, text in own])
        borders = np.cumsum([0, *map(len, spoken)])
        return tuple(
            _description(scene, own, None if vectors is None else vectors[start:end])
            for scene, own, start, end in zip(
                scenes, spoken, borders[:-1], borders[1:], strict=True
            )
        )

    def file(
        self, scenes: Sequence[Scene], topics: Sequence[Topic]
    ) -> Flow[tuple[Filing | None, ...]]:
        """The nearest labels; a scene that is near none opens one, which the next may join."""
        labels = list(topics)
        vectors = yield from Embed([t.summary() for t in labels] + [s.text for s in scenes])
        if vectors is None:
            vectors = np.zeros((len(labels) + len(scenes), 1), np.float32)
        common = vectors.mean(axis=0)
        centred = unit_rows(vectors - common)
        filed: list[Filing | None] = []
        # Labels that this call opens are told apart by title: the memory merges equal ones.
        titles = [""] * len(labels)
        rows = [centred[i] for i in range(len(labels))]
        for scene, own in zip(scenes, centred[len(labels) :], strict=True):
            near = match_topics(
                own, np.array(rows).reshape(len(rows), -1) if rows else own[None][:0],
                likeness=self.likeness, most=self.most_topics,
            )  # fmt: skip
            words = keywords([scene.text], 8)
            joined = tuple(labels[i].id for i in near if i < len(labels))
            opened = next((titles[i] for i in near if i >= len(labels)), "")
            if not joined and not opened:
                opened = scene.title
                rows.append(own)
                titles.append(opened)
            filed.append(Filing(joined, "" if joined else opened, words))
        return tuple(filed)

    def take_facts(self, shelves: Sequence[Shelf]) -> Flow[tuple[tuple[Fact, ...] | None, ...]]:
        """Statements are atomic items; connections are beyond rules."""
        yield from ()
        return tuple(
            tuple(fact for t in shelf.new for fact in _facts(t)[: self.most_items])
            for shelf in shelves
        )

    def file_items(self, items: Sequence[Item]) -> Flow[tuple[ItemTrigger | None, ...]]:
        """Entity: the item's own keywords.

        What is above them, in WordNet say, no wheel carries: the packages that read it fetch it when they run.
        """
        yield from ()
        return tuple(ItemTrigger(" ".join(keywords([i.text], 4)), by_rule=True) for i in items)

    def anticipate(self, scenes: Sequence[Transcript]) -> Flow[tuple[SceneTrigger | None, ...]]:
        """Nothing: rules imagine no situations."""
        yield from ()
        return tuple(SceneTrigger(t.scene.id, t.scene.message_ids) for t in scenes)

    def read_personas(
        self, scenes: Sequence[Transcript]
    ) -> Flow[tuple[tuple[Trait, ...] | None, ...]]:
        """What speakers state about themselves, in their words."""
        yield from ()
        return tuple(
            tuple(
                Trait(m.author or "?", f"said: {sentence}", (m.id,))
                for m in t.messages
                for sentence in statements(m.text)
                if speaks_of_self(sentence)
            )[:4]
            for t in scenes
        )


def _spoken(scene: Transcript) -> list[tuple[str, str]]:
    """Author and text of every statement; of the turns themselves where nothing is stated."""
    found = [(m.author or "?", s) for m in scene.messages for s in statements(m.text)]
    return found or [(m.author or "?", m.text) for m in scene.messages]


def _description(
    scene: Transcript, spoken: Sequence[tuple[str, str]], vectors: Vectors | None
) -> Description:
    title = " ".join(keywords([m.text for m in scene.messages], 4)) or "untitled"
    order = list(range(len(spoken)))
    if vectors is not None:
        order = np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable").tolist()
    central = sorted(order[:_N_CENTRAL])
    lines = [f"{spoken[i][0]}: {spoken[i][1]}" for i in central]
    author, text = spoken[order[0]]
    return Description(title, f"{author}: {text}"[:_MAX_SUMMARY], "\n".join(lines))


def _facts(transcript: Transcript) -> list[Fact]:
    """The statements of a scene, the longest first."""
    found = [
        Fact(f"{m.author or '?'}: {sentence}", "atomic", (transcript.scene.id,), (m.id,))
        for m in transcript.messages
        for sentence in statements(m.text)
    ]
    return sorted(found, key=lambda fact: -len(fact.text))
