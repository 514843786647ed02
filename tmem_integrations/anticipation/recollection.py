"""`Recollection`: what a memory that anticipates answers, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.persona import PersonaFact, write_persona
from tmem_integrations.anticipation.recipes import RecallConfig
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.messages import Message, Query
from tmem_integrations.prompts.transcript import as_data, name_as_data
from tmem_integrations.protocols import TokenCounter


@dataclass(frozen=True, slots=True)
class RecalledScene:
    """A scene with its turns; `via` is "topic", or the view of the trigger that reached it."""

    scene: Scene
    messages: tuple[Message, ...]
    via: str


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """An item; `via` is "topic", or the view of the trigger that reached it."""

    item: Item
    via: str


@dataclass(frozen=True, slots=True)
class Recollection:
    """The answer to one question.

    Attributes:
        query: The question with its filters.
        scenes: Best first, as far as the budget goes.
        items: Best first, as far as the budget goes.
        persona: What is known about the speakers of these scenes and items.
        scene_texts: One text per scene.
        text: The whole text: items, scenes, then persona.
        n_tokens: Tokens of `text`.
        explanation: Why the answer is empty; None when it is not.
    """

    query: Query
    scenes: tuple[RecalledScene, ...] = ()
    items: tuple[RecalledItem, ...] = ()
    persona: tuple[PersonaFact, ...] = ()
    scene_texts: tuple[str, ...] = ()
    text: str = ""
    n_tokens: int = 0
    explanation: str | None = None

    @property
    def message_ids(self) -> tuple[str, ...]:
        """Ids of all source messages, scenes first."""
        ids = [m.id for found in self.scenes for m in found.messages]
        ids += [one for found in self.items for one in found.item.message_ids]
        return tuple(dict.fromkeys(ids))

    def metadata(self) -> dict[str, Any]:
        """What goes into `Document.metadata`: JSON values only."""
        return {
            "message_ids": list(self.message_ids),
            "scenes": [
                {"scene_id": s.scene.id, "title": s.scene.title, "via": s.via} for s in self.scenes
            ],
            "items": [{"text": i.item.text, "kind": i.item.kind, "via": i.via} for i in self.items],
            "n_tokens": self.n_tokens,
            "explanation": self.explanation,
        }


def write_recollection(
    query: Query,
    scenes: Sequence[RecalledScene],
    items: Sequence[RecalledItem],
    persona: Mapping[str, PersonaFact],
    counter: TokenCounter,
    config: RecallConfig,
    zone: tzinfo | None = None,
) -> Recollection:
    """Write what was found, best first, until the budget is spent; persona comes on top of it (AM §4).

    Args:
        query: The question.
        scenes: Best first.
        items: Best first.
        persona: Visible traits by id.
        counter: Counts tokens.
        config: The budget and what to show.
        zone: Zone of the times shown; UTC when None.
    """
    left = config.max_tokens
    kept_items, lines = [], []
    for found in items:
        line = f"- {as_data(found.item.text)}"
        left -= counter.count(line + "\n")
        if left < 0:
            break
        kept_items.append(found)
        lines.append(line)
    left = config.max_tokens - counter.count("Facts:\n" + "\n".join(lines))
    kept_scenes: list[RecalledScene] = []
    texts: list[str] = []
    for scene in scenes:
        text = _scene_text(scene, len(texts) + 1, zone or UTC)
        left -= counter.count("\n\n" + text)
        if left < 0:
            break
        kept_scenes.append(scene)
        texts.append(text)
    speakers = {a for s in kept_scenes for a in s.scene.authors}
    facts = [f for f in persona.values() if f.author in speakers] if config.persona else []
    about = write_persona(facts, most=config.persona_facts) if config.persona_facts else ""
    parts = ["Facts:\n" + "\n".join(lines)] if lines else []
    parts += texts
    if about:
        parts.append("Speakers:\n" + about)
    whole = "\n\n".join(parts)
    return Recollection(
        query, tuple(kept_scenes), tuple(kept_items), tuple(facts), tuple(texts), whole,
        counter.count(whole) if whole else 0,
    )  # fmt: skip


def _scene_text(found: RecalledScene, number: int, zone: tzinfo) -> str:
    scene = found.scene
    when = scene.started_at.astimezone(zone)
    where = f" #{name_as_data(scene.channel)}" if scene.channel else ""
    lines = [f"Scene {number}, {when:%Y-%m-%d %H:%M%z}{where}: {as_data(scene.title)}"]
    # Indented, and with a word of ours before it: a summary by rule is what somebody said.
    lines += [f"  Summary: {as_data(scene.summary)}"] if scene.summary else []
    for message in found.messages:
        at = message.sent_at.astimezone(zone)
        author = name_as_data(message.author) if message.author else "?"
        lines.append(f"  {at:%H:%M} {author}: {as_data(message.text)}")
    return "\n".join(lines)
