"""Scenes: stretches of one channel that are about one thing (AM §3).

Without a model a scene ends at a long pause, or where what is said afterwards is unlike what was said
before: TextTiling (Hearst 1997) over vectors instead of words, helped by who speaks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.config import require
from tmem_integrations.messages import Message
from tmem_integrations.models.embeddings import unit_rows
from tmem_integrations.protocols import Scores, Vectors


@dataclass(frozen=True, slots=True)
class Scene:
    """Consecutive turns of one channel, and what was written about them.

    Attributes:
        id: Of its channel and first message: it stays while the scene grows.
        channel: Where it was said; None when unknown.
        message_ids: Its turns, in order: the sources of all that is derived from it.
        authors: Who speaks, in order of appearance.
        started_at: Time of the first turn.
        ended_at: Time of the last turn.
        title: A few words; empty while nothing is written.
        summary: What happened, in a sentence or two.
        narrative: The same at length, in the third person.
    """

    id: str
    channel: str | None
    message_ids: tuple[str, ...]
    authors: tuple[str, ...]
    started_at: datetime
    ended_at: datetime
    title: str = ""
    summary: str = ""
    narrative: str = ""

    @property
    def is_described(self) -> bool:
        """Whether something was written about it."""
        return bool(self.title)

    @property
    def text(self) -> str:
        """What it is found by."""
        return "\n".join(part for part in (self.title, self.summary, self.narrative) if part)


def scene_of(messages: Sequence[Message]) -> Scene:
    """A scene of these turns that nothing is written about yet.

    Args:
        messages: Of one channel, in order; at least one.
    """
    first = messages[0]
    return Scene(
        id=derived_id("scene", first.channel or "", first.id),
        channel=first.channel,
        message_ids=tuple(m.id for m in messages),
        authors=tuple(dict.fromkeys(m.author or "?" for m in messages)),
        started_at=first.sent_at,
        ended_at=messages[-1].sent_at,
    )


def derived_id(*parts: str) -> str:
    """The same for the same parts, and of a fixed length.

    Examples:
        >>> derived_id("scene", "ops", "m1") == derived_id("scene", "ops", "m1")
        True
    """
    digest = hashlib.sha256("\x1f".join(parts[1:]).encode("utf-8", "backslashreplace"))
    return f"{parts[0]}-{digest.hexdigest()[:20]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneConfig:
    """Cutting a channel into scenes. Ours: AM leaves it to a model.

    Attributes:
        pause: Silence that always ends a scene.
        min_turns: No scene ends earlier because of what is said.
        max_turns: No scene is longer.
        block: Turns on each side of a gap that are compared.
        depth: Standard deviations above the mean depth from which a dip in likeness ends a scene.
        new_speakers: Likeness lost where nobody who spoke before goes on.
    """

    pause: timedelta = timedelta(hours=6)
    min_turns: int = 4
    max_turns: int = 24
    block: int = 5
    depth: float = 0.5
    new_speakers: float = 0.2

    def __post_init__(self) -> None:
        name = type(self).__name__
        require(self.pause > timedelta(0), f"{name}.pause", "positive", self.pause)
        require(self.min_turns >= 1, f"{name}.min_turns", "at least 1", self.min_turns)
        require(
            self.max_turns >= self.min_turns,
            f"{name}.max_turns", "at least min_turns", self.max_turns,
        )  # fmt: skip
        require(self.block >= 1, f"{name}.block", "at least 1", self.block)


def cut_scenes(
    messages: Sequence[Message], vectors: Vectors, config: SceneConfig, *, first: int = 1
) -> tuple[int, ...]:
    """Where scenes begin.

    Args:
        messages: Of one channel, in order of time.
        vectors: (n, d) of their texts.
        config: The rule.
        first: Position of the first turn that may begin one: what lies before is of an open scene.

    Returns:
        Positions from `first` on, ascending; 0 is not among them.
    """
    n = len(messages)
    if n < 2:
        return ()
    depth = _depths(_likeness(messages, vectors, config))
    inner = depth[1:]
    threshold = float(inner.mean() + config.depth * inner.std()) if n > 2 else np.inf
    starts: list[int] = []
    begun = 0
    for i in range(1, n):
        silence = messages[i].sent_at - messages[i - 1].sent_at
        shifts = i - begun >= config.min_turns and depth[i] > max(threshold, 0.05)
        if silence > config.pause or shifts or i - begun >= config.max_turns:
            if i >= first:
                starts.append(i)
            begun = i
    return tuple(starts)


def _likeness(messages: Sequence[Message], vectors: Vectors, config: SceneConfig) -> Scores:
    """(n,) mean cosine of each turn before with each turn after a position; 1 at the first."""
    centred = unit_rows(vectors - vectors.mean(axis=0))
    sums = np.vstack([np.zeros(centred.shape[1]), np.cumsum(centred, axis=0, dtype=np.float64)])
    n = len(messages)
    likeness = np.ones(n)
    for i in range(1, n):
        low, high = max(0, i - config.block), min(n, i + config.block)
        before, after = sums[i] - sums[low], sums[high] - sums[i]
        likeness[i] = float(before @ after) / ((i - low) * (high - i))
        old = {m.author for m in messages[low:i]}
        if old.isdisjoint(m.author for m in messages[i:high]):
            likeness[i] -= config.new_speakers
    return likeness


def _depths(likeness: Scores) -> NDArray[np.float64]:
    """How far each dip lies below the hills beside it; 0 where there is no dip."""
    n = len(likeness)
    depth = np.zeros(n)
    for i in range(1, n):
        if likeness[i] > likeness[i - 1] or (i + 1 < n and likeness[i] > likeness[i + 1]):
            continue  # On a slope: the dip is beside it.
        left = right = i
        while left > 1 and likeness[left - 1] >= likeness[left]:
            left -= 1
        while right + 1 < len(likeness) and likeness[right + 1] >= likeness[right]:
            right += 1
        depth[i] = likeness[left] + likeness[right] - 2 * likeness[i]
    return depth
