"""How a question is recalled: the paper's recipe, ours, and the ablations of AM Table 4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tmem_integrations.config import require


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig:
    """Settings of the cascade. Defaults from AM §4.

    Attributes:
        rrf_k: k₀ of reciprocal rank fusion.
        top_topics: k_T.
        top_scenes: k_S.
        top_items: k_I.
        trigger_gate: Least cosine of an item's best trigger view.
        top_triggered: Items that may come in by their triggers.
        top_cued: Scenes that may come in by their cues, where these only admit.
        item_scenes: Only items of so many of the best scenes; None takes those of all topics found.
        admits_only: What triggers and cues reach is ranked among the others by its own words and vectors.
            Else scenes are ranked by their cues, too, and items come in beside `top_items`: ours, since
            no reranker follows.
        centred: Take the mean vector out before comparing. Ours: what all texts of a conversation share
            says nothing about which of them is meant.
        persona_facts: Traits shown of one speaker.
        max_tokens: Budget of the text; persona comes on top.
        scene_layer: SL: look for scenes.
        connected_items: IC: use items that draw on several scenes.
        item_triggers: ET + BT: Entity and Bridge.
        persona: PS.
        topic_filter: TF: without it every scene and item is looked at.
        scene_triggers: ST: dialogue and scene views.
        horizon_triggers: HT: horizon views.
    """

    rrf_k: int = 60
    top_topics: int = 15
    top_scenes: int = 5
    top_items: int = 15
    trigger_gate: float = 0.85
    top_triggered: int = 10
    top_cued: int = 10
    item_scenes: int | None = 24
    admits_only: bool = True
    centred: bool = False
    persona_facts: int = 6
    max_tokens: int = 8192
    scene_layer: bool = True
    connected_items: bool = True
    item_triggers: bool = True
    persona: bool = True
    topic_filter: bool = True
    scene_triggers: bool = True
    horizon_triggers: bool = True

    def __post_init__(self) -> None:
        for name in ("rrf_k", "top_topics", "top_scenes", "top_items", "max_tokens"):
            value = getattr(self, name)
            require(value >= 1, f"RecallConfig.{name}", "at least 1", value)
        require(
            self.item_scenes is None or self.item_scenes >= 1,
            "RecallConfig.item_scenes", "None or at least 1", self.item_scenes,
        )  # fmt: skip
        for name in ("top_triggered", "top_cued", "persona_facts"):
            value = getattr(self, name)
            require(value >= 0, f"RecallConfig.{name}", "0 or more", value)
        require(
            -1 <= self.trigger_gate <= 1,
            "RecallConfig.trigger_gate", "from -1 to 1", self.trigger_gate,
        )  # fmt: skip


PAPER = RecallConfig()
"""AM Alg. 2 and 5 with the paper's values, as its authors published them: see `cascade`."""
CENTRED = RecallConfig(centred=True, trigger_gate=0.5, item_scenes=None, admits_only=False)
"""Ours: for any embedder, since the gate of a centred cosine does not depend on how narrow its cone is, and
without a reranker."""
ABLATIONS = {
    "SL": replace(PAPER, scene_layer=False),
    "IC": replace(PAPER, connected_items=False),
    "ET+BT": replace(PAPER, item_triggers=False),
    "PS": replace(PAPER, persona=False),
    "TF": replace(PAPER, topic_filter=False),
    "ST": replace(PAPER, scene_triggers=False),
    "HT": replace(PAPER, horizon_triggers=False),
}
"""The paper's recipe without one part each (AM Table 4)."""
