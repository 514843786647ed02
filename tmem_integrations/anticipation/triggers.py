"""Triggers: under what a memory is filed besides its own words (AM §3).

Two for a single fact, two for a whole scene; of each two one describes and one anticipates:

|       | describes                                | anticipates                                       |
|-------|------------------------------------------|---------------------------------------------------|
| item  | Entity: the superordinate concept        | Bridge: a situation in which the fact matters     |
| scene | Scene: situation, object, event, emotion | Horizon: what may come of it later                |
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ItemTrigger:
    """Entity and Bridge of one item.

    Attributes:
        concept: Superordinate concept: "pets" for a fact about a cat; empty when there is none.
        bridge: A situation in which the fact would matter; empty when nobody imagined one.
        rationale: Why it would, in one clause.
        by_rule: The concept is made of the item's own words: nobody looked for what is above them.
    """

    concept: str = ""
    bridge: str = ""
    rationale: str = ""
    by_rule: bool = False

    @property
    def views(self) -> tuple[str, str, str]:
        """What it is compared by: concept, bridge, and both; empty where a part is missing."""
        bridge = " ".join(part for part in (self.bridge, self.rationale) if part)
        joint = f"{self.concept}. {bridge}" if self.concept and bridge else ""
        return self.concept, bridge, joint


@dataclass(frozen=True, slots=True)
class SceneTrigger:
    """Scene and Horizon of one scene.

    Attributes:
        scene_id: Of which scene.
        message_ids: Its turns when this was written.
        situation: What is going on, one sentence.
        object: What it is about.
        event: What happens.
        emotion: What is felt.
        horizons: What may come of it later, each a situation of its own.
    """

    scene_id: str
    message_ids: tuple[str, ...]
    situation: str = ""
    object: str = ""
    event: str = ""
    emotion: str = ""
    horizons: tuple[str, ...] = ()

    @property
    def scene_views(self) -> tuple[str, ...]:
        """Those of the four sentences that there are; a question is compared with each."""
        parts = (self.situation, self.object, self.event, self.emotion)
        return tuple(part for part in parts if part)
