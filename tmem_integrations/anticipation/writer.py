"""What a writer answers while messages are filed: one method a step, each over many things at once.

A method is a generator that yields `Ask` requests and is sent replies; one that needs no model yields
nothing. None in the place of an answer means that it was not judged: it is asked again at the next
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tmem_integrations.anticipation.items import Item, ItemKind
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.triggers import ItemTrigger, SceneTrigger
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Vectors
from tmem_integrations.requests import Flow


@dataclass(frozen=True, slots=True)
class Stream:
    """Turns of one channel to be cut.

    Attributes:
        messages: In order of time; those before `first` are of the open scene.
        vectors: (n, d) of their texts.
        first: Position of the first new turn.
    """

    messages: tuple[Message, ...]
    vectors: Vectors
    first: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """A scene with its turns."""

    scene: Scene
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """What was written about a scene."""

    title: str
    summary: str
    narrative: str


@dataclass(frozen=True, slots=True)
class Filing:
    """Where a scene belongs.

    Attributes:
        topic_ids: Labels that are there.
        new_title: Title of a label to open; empty when some fit.
        keywords: What the scene is looked for by.
    """

    topic_ids: tuple[str, ...]
    new_title: str
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A label whose scenes are to be read for facts.

    Attributes:
        topic: The label.
        new: Scenes not read yet.
        known: Scenes read before, for connections.
    """

    topic: Topic
    new: tuple[Transcript, ...]
    known: tuple[Scene, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as found, before it is an `Item`."""

    text: str
    kind: ItemKind
    scene_ids: tuple[str, ...]
    spoken_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trait:
    """A lasting trait as found, before it is a `PersonaFact`."""

    author: str
    text: str
    message_ids: tuple[str, ...]


class Writer(Protocol):
    """Writes what is derived from messages."""

    @property
    def name(self) -> str:
        """Shown in the stats."""
        ...

    @property
    def anticipates(self) -> bool:
        """Whether it imagines situations, or only files under what was said."""
        ...

    def begin(self) -> None:
        """A write begins: what bounds one counts from here."""
        ...

    def end(self) -> None:
        """A write has ended, all of it is saved.

        Raises:
            ModelError: If a model failed and the policy is to raise.
        """
        ...

    def find_starts(self, streams: Sequence[Stream]) -> Flow[tuple[tuple[int, ...] | None, ...]]:
        """For each stream, the positions from `first` on at which scenes begin."""
        ...

    def describe(self, scenes: Sequence[Transcript]) -> Flow[tuple[Description | None, ...]]:
        """What happened in each scene."""
        ...

    def file(
        self, scenes: Sequence[Scene], topics: Sequence[Topic]
    ) -> Flow[tuple[Filing | None, ...]]:
        """Under which labels of one channel each scene belongs."""
        ...

    def take_facts(self, shelves: Sequence[Shelf]) -> Flow[tuple[tuple[Fact, ...] | None, ...]]:
        """The facts in the new scenes of each label."""
        ...

    def file_items(self, items: Sequence[Item]) -> Flow[tuple[ItemTrigger | None, ...]]:
        """Entity and Bridge of each item."""
        ...

    def anticipate(self, scenes: Sequence[Transcript]) -> Flow[tuple[SceneTrigger | None, ...]]:
        """Scene and Horizon of each scene."""
        ...

    def read_personas(
        self, scenes: Sequence[Transcript]
    ) -> Flow[tuple[tuple[Trait, ...] | None, ...]]:
        """The traits each scene shows."""
        ...
