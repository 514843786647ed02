"""What one question may cost: calls, tokens and time, counted while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from tmem_integrations.config import require
from tmem_integrations.protocols import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """Bounds on the model calls of one question; None means no bound.

    Attributes:
        max_llm_calls: Calls, retries included.
        max_llm_tokens: Tokens of prompts and answers together.
        deadline: Time from the question to the last answer waited for.
    """

    max_llm_calls: int | None = None
    max_llm_tokens: int | None = None
    deadline: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("max_llm_calls", "max_llm_tokens"):
            value = getattr(self, name)
            require(value is None or value >= 0, f"Ceilings.{name}", "None or at least 0", value)
        require(
            self.deadline is None or self.deadline > timedelta(0),
            "Ceilings.deadline", "None or positive", self.deadline,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What one call took.

    Attributes:
        input_tokens: Of the prompt.
        output_tokens: Of the answer.
        error: Why it failed, else None.
    """

    input_tokens: int
    output_tokens: int
    error: str | None = None

    def to_dict(self) -> dict[str, int | str]:
        """JSON values; no error is left out."""
        record: dict[str, int | str] = {"input": self.input_tokens, "output": self.output_tokens}
        return record if self.error is None else record | {"error": self.error}


class Budget:
    """The account of one question.

    Attributes:
        n_calls: Calls made.
        input_tokens: Tokens of prompts, as the service counts them, else as estimated.
        output_tokens: Tokens of answers, likewise.
        records: What each answered call took, in order.
        stopped_by: The ceiling that first refused a call, in words; None while none did.
    """

    def __init__(
        self, ceilings: Ceilings | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the clock.

        Args:
            ceilings: The bounds; no bounds when None.
            clock: Seconds that only grow.
        """
        self._ceilings = ceilings or Ceilings()
        self._clock = clock
        self._started = clock()
        self._reserved = 0
        self.n_calls = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.records: list[CallRecord] = []
        self.stopped_by: str | None = None

    @property
    def n_tokens(self) -> int:
        """Tokens spent and reserved."""
        return self.input_tokens + self.output_tokens + self._reserved

    def remaining_seconds(self) -> float | None:
        """Time left, at least 0; None without a deadline."""
        deadline = self._ceilings.deadline
        if deadline is None:
            return None
        return max(0.0, deadline.total_seconds() - (self._clock() - self._started))

    def reserve(self, input_tokens: int, output_tokens: int, *, wait: float = 0.0) -> str | None:
        """Set one call aside, to be made after `wait` seconds.

        Args:
            input_tokens: Estimate for the prompt.
            output_tokens: Estimate for the answer.
            wait: Seconds until the call.

        Returns:
            None when the call may be made, else the ceiling that it would break, in words.
        """
        limits = self._ceilings
        remaining = self.remaining_seconds()
        n_tokens = self.n_tokens + input_tokens + output_tokens
        refusal = None
        if limits.max_llm_calls is not None and self.n_calls >= limits.max_llm_calls:
            refusal = f"max_llm_calls={limits.max_llm_calls} reached"
        elif limits.max_llm_tokens is not None and n_tokens > limits.max_llm_tokens:
            refusal = f"max_llm_tokens={limits.max_llm_tokens} reached"
        elif remaining is not None and wait >= remaining:
            refusal = f"deadline of {limits.deadline} reached"
        if refusal is None:
            self.n_calls += 1
            self._reserved += input_tokens + output_tokens
        self.stopped_by = self.stopped_by or refusal
        return refusal

    def settle(self, input_tokens: int, output_tokens: int, reply: Reply) -> None:
        """Replace a reservation by what the call took; estimates stand where the service is silent."""
        self._reserved -= input_tokens + output_tokens
        if reply.error is not None:
            input_tokens = output_tokens = 0
        record = CallRecord(
            input_tokens if reply.input_tokens is None else reply.input_tokens,
            output_tokens if reply.output_tokens is None else reply.output_tokens,
            reply.error,
        )
        self.records.append(record)
        self.input_tokens += record.input_tokens
        self.output_tokens += record.output_tokens


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a question would cost, before it is asked.

    Attributes:
        n_calls: Calls, when none fails.
        input_tokens: Tokens of the prompts.
        output_tokens: Tokens of the answers at most: a gate that picks little answers less.
    """

    n_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def n_tokens(self) -> int:
        """Prompts and answers together."""
        return self.input_tokens + self.output_tokens


class EstimatingBudget(Budget):
    """An account in which every call counts as answered at the length expected of it."""

    def settle(self, input_tokens: int, output_tokens: int, reply: Reply) -> None:
        """Count the estimates, whatever came back."""
        answered = Reply("", input_tokens=input_tokens, output_tokens=output_tokens)
        super().settle(input_tokens, output_tokens, answered)

    @property
    def estimate(self) -> Estimate:
        """The account so far."""
        return Estimate(self.n_calls, self.input_tokens, self.output_tokens)
