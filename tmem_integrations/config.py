"""Settings: one frozen config per stage, with the defaults of TEF §5.1, and named recipes.

A config checks itself when it is made, so a stage never meets an impossible value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from numbers import Integral
from typing import Literal

from tmem_integrations.errors import ConfigError

OnInfeasible = Literal["prune", "raise"]
OnFailure = Literal["degrade", "raise"]
Scale = Literal["auto"]
Periods = Literal["told", "said", "always", "never"]


def require(condition: bool, setting: str, expected: str, got: object) -> None:
    """Raise a `ConfigError` naming the setting, what it must be and what came."""
    if not condition:
        raise ConfigError(f"{setting} must be {expected}, got {got!r}.")


def require_count(value: object, setting: str, least: int = 1, expected: str = "") -> None:
    """Raise a `ConfigError` unless `value` is a whole number of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ConfigError(f"{setting} must be {expected or 'a whole number'}, got {value!r}.")
    require(int(value) >= least, setting, expected or f"at least {least}", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorConfig:
    """Seed retrieval. Defaults from TEF §5.1.

    Attributes:
        top_k: k: at most this many anchors.
    """

    top_k: int = 36

    def __post_init__(self) -> None:
        require_count(self.top_k, "AnchorConfig.top_k")


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
        require_count(self.min_anchors, "EpisodeConfig.min_anchors")
        require(self.density > 0, "EpisodeConfig.density", "positive", self.density)
        require(self.span_floor > zero, "EpisodeConfig.span_floor", "positive", self.span_floor)
        require(self.padding >= zero, "EpisodeConfig.padding", "zero or more", self.padding)

    @classmethod
    def at_pace(cls, radius: timedelta) -> EpisodeConfig:
        """The paper's proportions at another pace: padding ε, span floor ε/6, and 3 anchors per ε.

        Args:
            radius: ε: the pause that separates two discussions.

        Examples:
            >>> EpisodeConfig.at_pace(timedelta(hours=12)) == EpisodeConfig()
            True
        """
        require(radius > timedelta(0), "EpisodeConfig.radius", "positive", radius)
        return cls(
            radius=radius,
            density=3 / (radius / timedelta(hours=1)),
            span_floor=radius / 6,
            padding=radius,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceConfig:
    """Rating messages by what was said around them. Ours; each value lies on a flat optimum over four
    kinds of conversation.

    Attributes:
        reach: Messages on each side of an anchor that are looked at, and over which relevance spreads.
        decay: p in (1 + distance)^-p.
        onward: Weight of what passes to later messages; 2 less it is that of what passes back.
        link: Share of a term's energy that passes along replies, addresses and an author's next message.
        own: λ: weight of a message's own words beside those of its surroundings.
        named_author: Bonus for a message whose author the question names.
        asker: Bonus for a message of the asker's own.
        asker_words: The asker's name counts at most this share of what the question's words count.
        channel: Exponent on the best relevance in a message's channel; 0 treats all channels alike.
        late: Largest bonus for a late message when the question asks what holds now.
        past: Where the question asks what holds now, each so many-th place goes to the best by words,
            whenever it was said: what was replaced belongs to the answer. 0 gives none.
        similarity: Weight of vectors where words leave the question open; 0 never asks for vectors.
        similarity_floor: Standard deviations above the mean from which a similarity counts.
    """

    reach: int = 24
    decay: float = 1.5
    onward: float = 1.1
    link: float = 0.3
    own: float = 0.25
    named_author: float = 0.1
    asker: float = 0.3
    asker_words: float = 0.15
    channel: float = 0.5
    late: float = 0.5
    past: int = 3
    similarity: float = 0.8
    similarity_floor: float = 1.0

    def __post_init__(self) -> None:
        require_count(self.past, "RelevanceConfig.past", 0)
        require(self.reach >= 0, "RelevanceConfig.reach", "0 or more", self.reach)
        for name in (
            "decay",
            "link",
            "own",
            "named_author",
            "asker",
            "channel",
            "late",
            "similarity",
        ):
            value = getattr(self, name)
            require(value >= 0, f"RelevanceConfig.{name}", "0 or more", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceConfig:
    """Choosing evidence among the candidates.

    Attributes:
        max_messages: At most this many messages are kept, anchors included.
    """

    max_messages: int = 36

    def __post_init__(self) -> None:
        require_count(self.max_messages, "EvidenceConfig.max_messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationConfig:
    """Anchors that share no word with the question; used only with an associative memory. Ours.

    Attributes:
        words_suffice: Up to this share of the question left open by words there are none.
        words_fail: From this share on there are as many as there may be.
        share: At most this share of the evidence.
    """

    words_suffice: float = 0.8
    words_fail: float = 0.9
    share: float = 2 / 3

    def __post_init__(self) -> None:
        for name in ("words_suffice", "words_fail", "share"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"AssociationConfig.{name}", "from 0 to 1", value)
        require(
            self.words_suffice <= self.words_fail,
            "AssociationConfig.words_fail", "at least words_suffice", self.words_fail,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionConfig:
    """Fitting the text into the budget. Default from TEF §5.1.

    Attributes:
        max_tokens: B: tokens of the whole emitted text, headers included.
        on_infeasible: What to do when not all messages fit: "prune" drops the least useful ones rather than
            leave out what others say of names, times and numbers, and reports them; "raise" raises
            `BudgetError` when headers and one span per message are already too much.
    """

    max_tokens: int = 8192
    on_infeasible: OnInfeasible = "prune"

    def __post_init__(self) -> None:
        require_count(self.max_tokens, "CompressionConfig.max_tokens")
        require(
            self.on_infeasible in ("prune", "raise"),
            "CompressionConfig.on_infeasible", '"prune" or "raise"', self.on_infeasible,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """How a chat model judges, where one is given.

    Attributes:
        gate_candidates: At most this many candidates of a question are shown to the gate, the most
            relevant; TEF shows 100 per window. Where questions ask for facts 10 hold 95 % of what
            answers them; meetings, in which an answer is a stretch of talk, need all there is tokens for.
        batch_size: Messages judged in one call. One call sees what was replaced beside what replaced it.
        max_concurrency: Calls at once.
        max_llm_calls: Calls for one question, retries included; None has no bound. What a ceiling
            leaves unjudged is judged by rule, whatever `on_failure` says.
        max_llm_tokens: Tokens for one question, prompts and answers together.
        deadline: Time from the question to the last answer waited for.
        on_failure: "degrade" has rules judge what the model did not, and says so; "raise" raises
            `ModelError`.
    """

    gate_candidates: int = 64
    batch_size: int = 64
    max_concurrency: int = 8
    max_llm_calls: int | None = None
    max_llm_tokens: int | None = None
    deadline: timedelta | None = None
    on_failure: OnFailure = "degrade"

    def __post_init__(self) -> None:
        for name in ("gate_candidates", "batch_size", "max_concurrency"):
            require_count(getattr(self, name), f"ModelConfig.{name}")
        for name in ("max_llm_calls", "max_llm_tokens"):
            value = getattr(self, name)
            if value is not None:
                require_count(value, f"ModelConfig.{name}", 0, "None or 0 or more")
        require(
            self.deadline is None or self.deadline > timedelta(0),
            "ModelConfig.deadline", "None or positive", self.deadline,
        )  # fmt: skip
        require(
            self.on_failure in ("degrade", "raise"),
            "ModelConfig.on_failure", '"degrade" or "raise"', self.on_failure,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ForestConfig:
    """All settings of a question, one part per stage.

    Attributes:
        scale: "auto" measures the tempo of the history and sets the times of `episodes` from it.
        periods: What a period that a question names, such as "last week" or "on 18 March", lets it read.
            A question for what was said then reads that alone. One for what happened then reads with
            "told" also what tells of it by a date, since people tell of events later and plan them
            earlier; with "said" everything; with "always" what was said then, which may miss what
            was said of a day on another one. "never" leaves periods alone.
    """

    anchors: AnchorConfig = field(default_factory=AnchorConfig)
    episodes: EpisodeConfig = field(default_factory=EpisodeConfig)
    relevance: RelevanceConfig = field(default_factory=RelevanceConfig)
    evidence: EvidenceConfig = field(default_factory=EvidenceConfig)
    associations: AssociationConfig = field(default_factory=AssociationConfig)
    compression: CompressionConfig = field(default_factory=CompressionConfig)
    models: ModelConfig = field(default_factory=ModelConfig)
    scale: Scale | None = None
    periods: Periods = "told"

    def __post_init__(self) -> None:
        require(self.scale in (None, "auto"), "ForestConfig.scale", 'None or "auto"', self.scale)
        require(
            self.periods in ("told", "said", "always", "never"),
            "ForestConfig.periods", '"told", "said", "always" or "never"', self.periods,
        )  # fmt: skip

    def limited(
        self, *, max_messages: int | None = None, max_tokens: int | None = None
    ) -> ForestConfig:
        """This config with other bounds; None keeps the bound."""
        evidence, compression = self.evidence, self.compression
        if max_messages is not None:
            evidence = replace(evidence, max_messages=max_messages)
        if max_tokens is not None:
            compression = replace(compression, max_tokens=max_tokens)
        return replace(self, evidence=evidence, compression=compression)


PAPER = ForestConfig()
"""The values of TEF §5.1, for chat at work: discussions last hours."""
CHAT = PAPER
LIVE = ForestConfig(episodes=EpisodeConfig.at_pace(timedelta(minutes=30)))
"""IRC, support and game chat: discussions last minutes."""
MEETING = ForestConfig(episodes=EpisodeConfig.at_pace(timedelta(minutes=10)))
"""Transcripts: a turn every few seconds."""
MAIL = ForestConfig(episodes=EpisodeConfig.at_pace(timedelta(days=7)))
"""Mailing lists and letters: answers take days."""
AUTO = ForestConfig(scale="auto")
"""The pace is measured in the part of the history that the question may read."""
