"""What each stage took, kept, dropped, asked and spent, and why a result is empty.

The command line, the viewer, callbacks and evaluation all read it. It never holds message text or
the id of a message outside the scope.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StageRecord:
    """One stage's account.

    Attributes:
        stage: Module name of the stage.
        taken: How many things came in.
        kept: How many went out.
        seconds: Wall time.
        notes: Counts and settings worth knowing, JSON values only.
    """

    stage: str
    taken: int
    kept: int
    seconds: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return {
            "stage": self.stage,
            "taken": self.taken,
            "kept": self.kept,
            "seconds": self.seconds,
            "notes": dict(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time that was read around an episode.

    Attributes:
        start: POSIX seconds.
        end: POSIX seconds, inclusive.
        n_anchors: Anchors that lie in it.
    """

    start: float
    end: float
    n_anchors: int


@dataclass(frozen=True, slots=True)
class Lane:
    """One partition with anchors, in time.

    Attributes:
        kind: "topic", "channel", or "none" for what has neither.
        name: Of the topic or channel.
        counts: Messages that the question may read, per equal part of the timeline.
        windows: Of its episodes, in order of time.
    """

    kind: str
    name: str
    counts: tuple[int, ...]
    windows: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where in time the question looked; empty without anchors.

    Attributes:
        start: Time of the first message of all lanes, POSIX seconds.
        end: Time of the last one.
        lanes: Those with most anchors first.
    """

    start: float = 0.0
    end: float = 0.0
    lanes: tuple[Lane, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The accounts of all stages, in order.

    Attributes:
        explanation: Why the result is empty or reduced, in one sentence; None when there is nothing
            to explain.
        llm_calls: Calls of a language model.
        llm_tokens: Tokens of those calls, by "input" and "output".
        timeline: Where in time the question looked.
    """

    stages: tuple[StageRecord, ...] = ()
    explanation: str | None = None
    llm_calls: int = 0
    llm_tokens: Mapping[str, int] = field(default_factory=dict)
    timeline: Timeline = field(default_factory=Timeline)

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return {
            "stages": [stage.to_dict() for stage in self.stages],
            "explanation": self.explanation,
            "llm_calls": self.llm_calls,
            "llm_tokens": dict(self.llm_tokens),
            "timeline": asdict(self.timeline),
        }


class Spent(Protocol):
    """What a question spent on a model, such as a `Budget`."""

    n_calls: int
    input_tokens: int
    output_tokens: int


@dataclass(slots=True)
class OpenRecord:
    """A stage that is running: it fills in what it kept and what is worth knowing."""

    kept: int = 0
    notes: dict[str, Any] = field(default_factory=dict)


OnStage = Callable[[StageRecord], None]


class Recorder:
    """Collects the accounts of one question and logs each, without text of a message."""

    def __init__(self, on_stage: OnStage | None = None) -> None:
        """Start the accounts.

        Args:
            on_stage: Told of each stage as it ends.
        """
        self._on_stage = on_stage
        self._stages: list[StageRecord] = []
        self.degraded: list[str] = []
        self.timeline = Timeline()
        self._budget: Spent | None = None

    @contextmanager
    def stage(self, name: str, *, taken: int) -> Iterator[OpenRecord]:
        """Time a stage and keep its account; a stage that fails leaves none."""
        record = OpenRecord()
        start = time.perf_counter()
        yield record
        seconds = time.perf_counter() - start
        done = StageRecord(name, taken, record.kept, seconds, record.notes)
        self._stages.append(done)
        _log.debug("%s: %d -> %d in %.3f s %s", name, taken, done.kept, seconds, done.notes)
        if self._on_stage is not None:
            self._on_stage(done)

    def spend(self, budget: Spent | None) -> None:
        """Take over what was spent on a model; None when there was none."""
        self._budget = budget

    def trace(self, explanation: str | None = None) -> Trace:
        """The account so far."""
        stages = tuple(self._stages)
        if self._budget is None:
            return Trace(stages, explanation, timeline=self.timeline)
        tokens = {"input": self._budget.input_tokens, "output": self._budget.output_tokens}
        return Trace(stages, explanation, self._budget.n_calls, tokens, self.timeline)
