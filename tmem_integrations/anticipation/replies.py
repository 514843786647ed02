"""Replies of a writing model as checked records: what cannot be meant is dropped, never guessed.

None means that a text is no answer; an empty list is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tmem_integrations.anticipation.items import ItemKind
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.anticipation.triggers import ItemTrigger, SceneTrigger
from tmem_integrations.anticipation.writer import (
    Description,
    Fact,
    Filing,
    Shelf,
    Trait,
    Transcript,
)
from tmem_integrations.messages import clean_text
from tmem_integrations.models.json_text import find_records
from tmem_integrations.models.labels import Labels
from tmem_integrations.models.words import plain

_MAX_TEXT, _MAX_NARRATIVE, _MAX_TITLE = 600, 4_000, 120
_MAX_KEYWORDS, _MAX_HORIZONS, _MAX_FACTS, _MAX_TRAITS = 8, 6, 40, 12


def read_boundaries(text: str, n: int) -> tuple[int, ...] | None:
    """Positions among the `n` new messages at which scenes begin.

    Examples:
        >>> read_boundaries('{"starts": [{"id": "m3"}, {"id": "m9"}]}', 4)
        (2,)
        >>> read_boundaries('{"starts": []}', 4), read_boundaries("Sure!", 4)
        ((), None)
    """
    found = find_records(text, containers=("starts",), keys=("id",))
    if found is None:
        return None
    at = _Positions("m", n)
    named = [one.get("id") if isinstance(one, dict) else one for one in found]
    if found and not any(named):
        return None
    return tuple(sorted({i for one in named if (i := at(one)) is not None}))


def read_description(text: str) -> Description | None:
    """Title, summary and narrative; a scene without a title is not described."""
    for fields in _records(text, "scenes", ("title", "summary")) or ():
        title = _text(fields.get("title"), _MAX_TITLE)
        if title:
            narrative = _text(fields.get("narrative"), _MAX_NARRATIVE)
            return Description(title, _text(fields.get("summary")), narrative)
    return None


def read_filings(text: str, n: int, topic_ids: Sequence[str]) -> dict[int, Filing] | None:
    """Position of a scene among the `n` shown → where it belongs."""
    records = _records(text, "filed", ("scene",))
    if records is None:
        return None
    scene_at, topic_at = _Positions("s", n), _Positions("t", len(topic_ids))
    filings: dict[int, Filing] = {}
    for fields in records:
        scene = scene_at(fields.get("scene"))
        named = [topic_at(one) for one in _list(fields.get("labels"))]
        found = tuple(dict.fromkeys(topic_ids[i] for i in named if i is not None))
        title = "" if found else _text(fields.get("new"), _MAX_TITLE)
        if scene is not None and (found or title):
            filings[scene] = Filing(found, title, _texts(fields.get("keywords"), _MAX_KEYWORDS))
    return filings or (None if records else {})


def read_facts(text: str, shelf: Shelf) -> tuple[Fact, ...] | None:
    """Facts with their scenes: an atomic one has one new scene, a connected one several."""
    records = _records(text, "items", ("text",))
    if records is None:
        return None
    shown = {f"n{i + 1}": t.scene.id for i, t in enumerate(shelf.new)}
    shown |= {f"k{i + 1}": scene.id for i, scene in enumerate(shelf.known)}
    known = Labels(list(shown))
    new = {t.scene.id for t in shelf.new}
    facts: dict[str, Fact] = {}
    for fields in records[:_MAX_FACTS]:
        said = _text(fields.get("text"))
        named = [label for one in _list(fields.get("scenes")) if (label := known.one(one))]
        scenes = tuple(dict.fromkeys(shown[label] for label in named))
        # The kind follows from the sources: a model's word for it adds nothing to them.
        kind: ItemKind = "connected" if len(scenes) > 1 else "atomic"
        if said and new.intersection(scenes):
            facts.setdefault(said, Fact(said, kind, scenes))
    return tuple(facts.values())


def read_item_triggers(text: str, n: int) -> dict[int, ItemTrigger] | None:
    """Position of a fact among the `n` shown → its Entity and Bridge."""
    records = _records(text, "triggers", ("id",))
    if records is None:
        return None
    at = _Positions("f", n)
    triggers: dict[int, ItemTrigger] = {}
    for fields in records:
        fact = at(fields.get("id"))
        concept, bridge, rationale = (
            _text(fields.get(name)) for name in ("concept", "bridge", "rationale")
        )
        if fact is not None and (concept or bridge):
            triggers[fact] = ItemTrigger(concept, bridge, rationale if bridge else "")
    return triggers or None


def read_scene_trigger(text: str, scene: Scene) -> SceneTrigger | None:
    """Scene and Horizon; one of them at least."""
    for fields in _records(text, "triggers", ("situation", "horizons")) or ():
        trigger = SceneTrigger(
            scene.id,
            scene.message_ids,
            _text(fields.get("situation")),
            _text(fields.get("object")),
            _text(fields.get("event")),
            _text(fields.get("emotion")),
            _texts(fields.get("horizons"), _MAX_HORIZONS),
        )
        if trigger.scene_views or trigger.horizons:
            return trigger
    return None


def read_traits(text: str, transcript: Transcript) -> tuple[Trait, ...] | None:
    """Traits of people who speak in the scene; a trait without sources has the whole scene for one."""
    records = _records(text, "traits", ("speaker",))
    if records is None:
        return None
    messages = transcript.messages
    at = _Positions("m", len(messages))
    speakers = {plain(m.author): m.author for m in messages if m.author}
    traits: list[Trait] = []
    for fields in records[:_MAX_TRAITS]:
        author = speakers.get(plain(_text(fields.get("speaker"))))
        said = _text(fields.get("trait"))
        named = [at(one) for one in _list(fields.get("messages"))]
        sources = tuple(messages[i].id for i in sorted({i for i in named if i is not None}))
        if author and said:
            traits.append(Trait(author, said, sources))
    return tuple(traits)


def _records(text: str, container: str, keys: Sequence[str]) -> list[Mapping[str, Any]] | None:
    found = find_records(text, containers=(container,), keys=keys)
    if found is None:
        return None
    records: list[Mapping[str, Any]] = [
        {plain(str(key)): value for key, value in record.items()}
        for record in found
        if isinstance(record, dict)
    ]
    # An object of other keys is some other answer.
    usable = not found or any(key in record for record in records for key in keys)
    return records if usable else None


class _Positions:
    """The position that a label such as "m3" names among the first `n`; None for any other."""

    def __init__(self, prefix: str, n: int) -> None:
        names = [f"{prefix}{i + 1}" for i in range(n)]
        self._labels = Labels(names)
        self._at = {name: i for i, name in enumerate(names)}

    def __call__(self, value: object) -> int | None:
        label = self._labels.one(value)
        return None if label is None else self._at[label]


def _text(value: object, most: int = _MAX_TEXT) -> str:
    text = " ".join(clean_text(value).split()) if isinstance(value, str) else ""
    return text if len(text) <= most else text[: most - 1] + "…"


def _list(value: object) -> list[object]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list) else [value]


def _texts(value: object, most: int) -> tuple[str, ...]:
    found = [_text(one) for one in _list(value)]
    return tuple(dict.fromkeys(text for text in found if text))[:most]
