"""Items: single facts, each filed under a topic label (AM §3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tmem_integrations.anticipation.triggers import ItemTrigger

ItemKind = Literal["atomic", "connected"]


@dataclass(frozen=True, slots=True)
class Item:
    """A fact that can be read without its scene.

    Attributes:
        id: Of its label and text.
        topic_id: The label under which it was found.
        channel: Of its scenes.
        text: The fact.
        kind: An atomic item has one source scene, a connected one draws on several.
        scene_ids: The scenes it draws on.
        message_ids: All turns of these scenes: it is shown only to whom all of them are shown.
        spoken_in: The turns that state it, where the writer names them; else empty.
        trigger: Under what else it is filed; None until that is written.
    """

    id: str
    topic_id: str
    channel: str | None
    text: str
    kind: ItemKind
    scene_ids: tuple[str, ...]
    message_ids: tuple[str, ...]
    spoken_in: tuple[str, ...] = ()
    trigger: ItemTrigger | None = None
