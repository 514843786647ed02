"""Filing messages: from turns to scenes, labels, items, triggers and persona (AM §3).

Every step asks about what has no answer yet, a chunk at a time, and saves each chunk. So a new day of
chat continues open scenes and labels, and whoever was stopped goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.ledger import Ledger, PersonaRead, Turn, fingerprint
from tmem_integrations.anticipation.persona import PersonaFact
from tmem_integrations.anticipation.retiring import mend_scenes, retire_scene
from tmem_integrations.anticipation.scenes import Scene, derived_id, scene_of
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.writer import (
    Fact,
    Filing,
    Shelf,
    Stream,
    Transcript,
    Writer,
)
from tmem_integrations.messages import Message
from tmem_integrations.requests import Embed, Flow

T = TypeVar("T")
Load = Callable[[Sequence[str]], Mapping[str, Message]]
OnStep = Callable[[str, int, int], None]

# Scenes asked about before they are saved: what a kill can lose.
_CHUNK = 64
# Scenes filed in one call, and labels shown with them (AM §3: batched matching).
_FILED_AT_ONCE = 10
_LABELS_SHOWN = 40
_KNOWN_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Desk:
    """What filing works with.

    Attributes:
        ledger: What is derived already.
        writer: Who writes.
        load: Messages by id, as they are now; unknown ids are left out.
        on_step: Told of each saved chunk: step, how many are done, how many there were to do.
    """

    ledger: Ledger
    writer: Writer
    load: Load
    on_step: OnStep | None = None

    def transcript(self, scene: Scene) -> Transcript:
        """A scene with its turns."""
        found = self.load(scene.message_ids)
        return Transcript(scene, tuple(found[one] for one in scene.message_ids if one in found))

    def done(self, step: str, done: int, total: int) -> None:
        """Tell of a saved chunk."""
        if self.on_step is not None:
            self.on_step(step, done, total)


def file_messages(messages: Sequence[Message], desk: Desk) -> Flow[None]:
    """File new and changed messages, then do all that is left to do.

    Args:
        messages: In any order; those filed as they are already are passed over.
        desk: What to work with.
    """
    known = desk.ledger.turns
    changed = [
        m.id for m in messages if m.id in known and known[m.id].fingerprint != fingerprint(m)
    ]
    # Those already taken back by the store among them: they are in scenes that are to be mended.
    desk.ledger.erase(changed, edited=True)
    mend_scenes(desk.ledger, desk.load)
    known = desk.ledger.turns
    yield from _cut([m for m in messages if m.id not in known], desk)
    yield from finish_filing(desk)


def finish_filing(desk: Desk) -> Flow[None]:
    """Do all that is left to do for the scenes that are there."""
    yield from _describe(desk)
    yield from _file(desk)
    yield from _take_facts(desk)
    yield from _file_items(desk)
    yield from _anticipate(desk)
    yield from _read_personas(desk)


def _cut(messages: Sequence[Message], desk: Desk) -> Flow[None]:
    """Cut new turns into scenes, those after the open scene of their channel together with it."""
    streams: list[tuple[Scene | None, list[Message]]] = []
    by_channel: dict[str | None, list[Message]] = {}
    for message in messages:
        by_channel.setdefault(message.channel, []).append(message)
    for channel, own in by_channel.items():
        own.sort(key=lambda m: m.sent_at)
        open_ = _open_scene(desk.ledger, channel)
        border = own[0].sent_at if open_ is None else open_.ended_at
        late = [m for m in own if m.sent_at < border]
        streams += [(None, late)] if late else []
        streams += [(open_, own[len(late) :])] if len(late) < len(own) else []
    prepared = []
    for open_, own in streams:
        before = desk.transcript(open_).messages if open_ is not None else ()
        every = (*before, *own)
        vectors = yield from Embed([m.text for m in every])
        if vectors is None:
            vectors = np.zeros((len(every), 1), np.float32)
        prepared.append(Stream(every, vectors, len(before)))
    answers = yield from desk.writer.find_starts(prepared)
    with desk.ledger.saving():
        for (open_, _), stream, starts in zip(streams, prepared, answers, strict=True):
            if starts is not None:
                _save_scenes(desk, open_, stream, starts)
    desk.done("scenes", len(desk.ledger.scenes), len(desk.ledger.scenes))


def _open_scene(ledger: Ledger, channel: str | None) -> Scene | None:
    own = [scene for scene in ledger.scenes.values() if scene.channel == channel]
    return max(own, key=lambda scene: scene.ended_at, default=None)


def _save_scenes(desk: Desk, open_: Scene | None, stream: Stream, starts: Sequence[int]) -> None:
    """Save the scenes of a stream; one of whose turns a message went or changed meanwhile is left out."""
    ledger = desk.ledger
    if open_ is not None and ledger.scenes.get(open_.id) != open_:
        return
    now = desk.load([m.id for m in stream.messages])
    borders = [0, *(i for i in starts if i >= max(1, stream.first)), len(stream.messages)]
    for start, end in pairwise(borders):
        turns = stream.messages[start:end]
        if any(now.get(m.id) != m for m in turns):
            continue
        scene = scene_of(turns)
        if start == 0 and open_ is not None:
            if scene.message_ids == open_.message_ids:
                continue
            scene = replace(scene, id=open_.id)
            retire_scene(ledger, open_.id)
        ledger.put(scene, *(Turn(m.id, fingerprint(m), scene.id) for m in turns))


def _describe(desk: Desk) -> Flow[None]:
    ledger = desk.ledger
    todo = [scene for scene in ledger.scenes.values() if not scene.is_described]
    for chunk, done in _chunks(todo, _CHUNK):
        answers = yield from desk.writer.describe([desk.transcript(scene) for scene in chunk])
        with ledger.saving():
            for scene, text in zip(chunk, answers, strict=True):
                if text is not None and text.title and ledger.scenes.get(scene.id) == scene:
                    ledger.put(
                        replace(
                            scene, title=text.title, summary=text.summary, narrative=text.narrative
                        )
                    )
        desk.done("descriptions", done, len(todo))


def _file(desk: Desk) -> Flow[None]:
    """File scenes under labels, in order of time within each channel."""
    ledger = desk.ledger
    filed = {scene_id for topic in ledger.topics.values() for scene_id in topic.keywords}
    waiting = [s for s in ledger.scenes.values() if s.is_described and s.id not in filed]
    channels: dict[str | None, list[Scene]] = {}
    for scene in sorted(waiting, key=lambda s: s.started_at):
        channels.setdefault(scene.channel, []).append(scene)
    n_done = 0
    for channel, scenes in channels.items():
        for chunk, _ in _chunks(scenes, _FILED_AT_ONCE):
            own = [t for t in ledger.topics.values() if t.channel == channel]
            shown = yield from _nearest_topics(chunk, own)
            answers = yield from desk.writer.file(chunk, shown)
            with ledger.saving():
                for scene, filing in zip(chunk, answers, strict=True):
                    if filing is not None and ledger.scenes.get(scene.id) == scene:
                        _save_filing(ledger, scene, filing)
            n_done += len(chunk)
            desk.done("labels", n_done, len(waiting))


def _nearest_topics(scenes: Sequence[Scene], topics: Sequence[Topic]) -> Flow[list[Topic]]:
    """The labels most like one of the scenes, where there are too many to show."""
    if len(topics) <= _LABELS_SHOWN:
        return list(topics)
    vectors = yield from Embed([t.summary() for t in topics] + [s.text for s in scenes])
    if vectors is None:
        return list(topics[-_LABELS_SHOWN:])
    likeness = (vectors[: len(topics)] @ vectors[len(topics) :].T).max(axis=1)
    return [
        topics[i] for i in sorted(np.argsort(-likeness, kind="stable")[:_LABELS_SHOWN].tolist())
    ]


def _save_filing(ledger: Ledger, scene: Scene, filing: Filing) -> None:
    found = [ledger.topics[one] for one in filing.topic_ids if one in ledger.topics]
    if not found:
        title = filing.new_title or scene.title
        same = (
            t
            for t in ledger.topics.values()
            if t.channel == scene.channel and t.title.casefold() == title.casefold()
        )
        own_id = derived_id("topic", scene.channel or "", scene.id, title)
        found = [next(same, Topic(own_id, scene.channel, title, scene.id))]
    ledger.put(*(topic.joined(scene.id, filing.keywords) for topic in found))


def _take_facts(desk: Desk) -> Flow[None]:
    ledger = desk.ledger
    todo = [t for t in ledger.topics.values() if set(t.keywords) - t.read]
    for chunk, done in _chunks(todo, _CHUNK):
        shelves = [_shelf(desk, topic) for topic in chunk]
        answers = yield from desk.writer.take_facts(shelves)
        with ledger.saving():
            for shelf, facts in zip(shelves, answers, strict=True):
                if facts is None or not _is_there(ledger, shelf):
                    continue
                ledger.put(*(_item(ledger, shelf.topic, fact) for fact in facts))
                topic = ledger.topics[shelf.topic.id]
                read = {t.scene.id for t in shelf.new}
                ledger.put(replace(topic, read=topic.read | read))
        desk.done("items", done, len(todo))


def _is_there(ledger: Ledger, shelf: Shelf) -> bool:
    """Whether nothing of it went or changed while it was read."""
    scenes = (*(t.scene for t in shelf.new), *shelf.known)
    return ledger.topics.get(shelf.topic.id) == shelf.topic and all(
        ledger.scenes.get(scene.id) == scene for scene in scenes
    )


def _shelf(desk: Desk, topic: Topic) -> Shelf:
    scenes = desk.ledger.scenes
    new = tuple(desk.transcript(scenes[s]) for s in topic.keywords if s not in topic.read)
    known = tuple(scenes[s] for s in topic.keywords if s in topic.read)
    return Shelf(topic, new, known[-_KNOWN_SHOWN:])


def _item(ledger: Ledger, topic: Topic, fact: Fact) -> Item:
    sources = tuple(m for s in fact.scene_ids for m in ledger.scenes[s].message_ids)
    return Item(
        derived_id("item", topic.id, fact.text), topic.id, topic.channel, fact.text, fact.kind,
        fact.scene_ids, sources, fact.spoken_in,
    )  # fmt: skip


def _file_items(desk: Desk) -> Flow[None]:
    ledger = desk.ledger
    todo = [item for item in ledger.items.values() if item.trigger is None]
    for chunk, done in _chunks(todo, _CHUNK * 4):
        answers = yield from desk.writer.file_items(chunk)
        with ledger.saving():
            ledger.put(
                *(
                    replace(item, trigger=trigger)
                    for item, trigger in zip(chunk, answers, strict=True)
                    if trigger is not None and ledger.items.get(item.id) == item
                )
            )
        desk.done("item triggers", done, len(todo))


def _anticipate(desk: Desk) -> Flow[None]:
    ledger = desk.ledger
    todo = [s for s in ledger.scenes.values() if s.id not in ledger.scene_triggers]
    for chunk, done in _chunks(todo, _CHUNK):
        answers = yield from desk.writer.anticipate([desk.transcript(scene) for scene in chunk])
        with ledger.saving():
            ledger.put(
                *(
                    trigger
                    for scene, trigger in zip(chunk, answers, strict=True)
                    if trigger is not None and ledger.scenes.get(scene.id) == scene
                )
            )
        desk.done("scene triggers", done, len(todo))


def _read_personas(desk: Desk) -> Flow[None]:
    ledger = desk.ledger
    todo = [s for s in ledger.scenes.values() if s.id not in ledger.persona_read]
    for chunk, done in _chunks(todo, _CHUNK):
        answers = yield from desk.writer.read_personas([desk.transcript(scene) for scene in chunk])
        with ledger.saving():
            for scene, traits in zip(chunk, answers, strict=True):
                if traits is None or ledger.scenes.get(scene.id) != scene:
                    continue
                for trait in traits:
                    own_id = derived_id("persona", scene.id, trait.author, trait.text)
                    sources = trait.message_ids or scene.message_ids
                    ledger.put(
                        PersonaFact(
                            own_id, trait.author, scene.channel, trait.text, scene.id, sources
                        )
                    )
                ledger.put(PersonaRead(scene.id))
        desk.done("persona", done, len(todo))


def _chunks(things: Sequence[T], size: int) -> Iterator[tuple[Sequence[T], int]]:
    """Chunks, each with how many are done after it."""
    for start in range(0, len(things), size):
        chunk = things[start : start + size]
        yield chunk, start + len(chunk)
