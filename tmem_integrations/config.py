"""Settings: one frozen config per stage, with the defaults of TEF §5.1, and named recipes.

A config checks itself when it is made, so a stage never meets an impossible value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from tmem_integrations.errors import ConfigError

OnInfeasible = Literal["prune", "raise"]
Scale = Literal["auto"]


def require(condition: bool, setting: str, expected: str, got: object) -> None:
    """Raise a `ConfigError` naming the setting, what it must be and what came."""
    if not condition:
        raise ConfigError(f"{setting} must be {expected}, got {got!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorConfig:
    """Seed retrieval. Defaults from TEF §5.1.

    Attributes:
        top_k: k: at most this many anchors.
    """

    top_k: int = 36

    def __post_init__(self) -> None:
        require(self.top_k >= 1, "AnchorConfig.top_k", "at least 1", self.top_k)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeConfig:
    """Finding episodes. Defaults from TEF §5.1.

    Attributes:
        radius: DBSCAN ε: anchors at most this far apart are neighbours.
        min_anchors: DBSCAN MinPts.
        density: μ: an episode needs more anchors per hour than this.
        span_floor: δ in Eq. 2.
        padding: Time added on both sides of the first and last anchor.
    """

    radius: timedelta = timedelta(hours=12)
    min_anchors: int = 2
    density: float = 0.25
    span_floor: timedelta = timedelta(hours=2)
    padding: timedelta = timedelta(hours=12)

    def __post_init__(self) -> None:
        zero = timedelta(0)
        require(self.radius > zero, "EpisodeConfig.radius", "positive", self.radius)
        require(self.min_anchors >= 1, "EpisodeConfig.min_anchors", "at least 1", self.min_anchors)
        require(self.density > 0, "EpisodeConfig.density", "positive", self.density)
        require(self.span_floor > zero, "EpisodeConfig.span_floor", "positive", self.span_floor)
        require(self.padding >= zero, "EpisodeConfig.padding", "zero or more", self.padding)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionConfig:
    """Fitting the text into the budget. Default from TEF §5.1.

    Attributes:
        max_tokens: B: tokens of the whole emitted text, headers included.
        on_infeasible: What to do when headers and one span per node are already too much:
            "prune" drops the least useful leaves and reports them, "raise" raises `BudgetError`.
    """

    max_tokens: int = 8192
    on_infeasible: OnInfeasible = "prune"

    def __post_init__(self) -> None:
        require(self.max_tokens >= 1, "CompressionConfig.max_tokens", "at least 1", self.max_tokens)
        require(
            self.on_infeasible in ("prune", "raise"),
            "CompressionConfig.on_infeasible", '"prune" or "raise"', self.on_infeasible,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestConfig:
    """All settings of a question, one part per stage.

    Attributes:
        scale: "auto" measures the tempo of the history and sets the times of `episodes` from it.
    """

    anchors: AnchorConfig = field(default_factory=AnchorConfig)
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    compression: CompressionConfig = field(default_factory=CompressionConfig)
    scale: Scale | None = None


PAPER = ForestConfig()
