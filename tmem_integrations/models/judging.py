"""Asking a model to judge batches of messages when some calls fail.

A call that failed in passing is asked again later; a batch that the model cannot take, or answers
unreadably twice, is halved until the one message it fails on is alone, so that message is lost and not its
batch. A model that answers little that can be read is not asked on and on: see `RetryPolicy.max_unreadable`.
The flow performs no I/O and does not sleep: it yields rounds of prompts with the time to wait as `Ask`, and
is sent the replies.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from tmem_integrations.config import require
from tmem_integrations.models.budget import Budget
from tmem_integrations.models.replies import Reading, Verdict
from tmem_integrations.protocols import Failure, Reply
from tmem_integrations.requests import Ask, Flow

T = TypeVar("T")

UNREADABLE = "the reply could not be read"
# Of calls for one prompt whose replies cannot be read.
_UNREADABLE_ATTEMPTS = 2
# A message that makes replies unreadable costs two such replies at each halving, and its other half one that
# can be read.
_UNREADABLE_PER_READ = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and when a call that failed in passing is made again.

    Attributes:
        max_attempts: Calls for one prompt, the first included.
        first_wait: Seconds before the second call.
        growth: Factor from one wait to the next.
        longest_wait: Seconds; a service that asks for more is not asked again.
        jitter: Share of a wait that is drawn by chance, so that callers do not return all at once.
        max_unreadable: After so many replies that cannot be read, and two more for each that can, what was
            answered so is not asked again.
    """

    max_attempts: int = 3
    first_wait: float = 0.5
    growth: float = 2.0
    longest_wait: float = 30.0
    jitter: float = 0.25
    max_unreadable: int = 4

    def __post_init__(self) -> None:
        name = type(self).__name__
        require(self.max_attempts >= 1, f"{name}.max_attempts", "at least 1", self.max_attempts)
        require(self.first_wait >= 0, f"{name}.first_wait", "zero or more", self.first_wait)
        require(self.growth >= 1, f"{name}.growth", "at least 1", self.growth)
        require(self.longest_wait >= 0, f"{name}.longest_wait", "zero or more", self.longest_wait)
        require(0 <= self.jitter <= 1, f"{name}.jitter", "from 0 to 1", self.jitter)
        n = self.max_unreadable
        require(n >= 1, f"{name}.max_unreadable", "at least 1", n)


def retry_delay(
    attempt: int, retry_after: float | None, policy: RetryPolicy, *, chance: float = 1.0
) -> float | None:
    """Seconds to wait before the next call.

    Args:
        attempt: Calls made so far for this prompt, at least 1.
        retry_after: What the service asks for; it is never undercut.
        policy: How waits grow, and when no further call is made.
        chance: From 0 to 1: 0 takes the whole jitter off the wait.

    Returns:
        Seconds; None when no further call is to be made.

    Examples:
        >>> [retry_delay(n, None, RetryPolicy(max_attempts=4)) for n in (1, 2, 3, 4)]
        [0.5, 1.0, 2.0, None]
        >>> retry_delay(1, 7.0, RetryPolicy()), retry_delay(1, 700.0, RetryPolicy())
        (7.0, None)
    """
    if attempt >= policy.max_attempts:
        return None
    backoff = policy.first_wait * policy.growth ** (attempt - 1)
    backoff = min(backoff, policy.longest_wait) * (1 - policy.jitter * (1 - chance))
    wait = max(backoff, retry_after or 0.0)
    return wait if wait <= policy.longest_wait else None


@dataclass(frozen=True, slots=True)
class Judged(Generic[T, Verdict]):
    """A batch, or the part of one, after all calls about it.

    Attributes:
        batch: Position of the batch among those given.
        items: The part's items, in order.
        reading: What the model said; None when it was not judged.
        failure: Why not, in words; None when it was.
        refused: Whether a ceiling refused the call, so that the model did not fail, or only in passing.
    """

    batch: int
    items: tuple[T, ...]
    reading: Reading[Verdict] | None
    failure: str | None = None
    refused: bool = False


_Failure = Failure | Literal["unreadable"]


@dataclass(frozen=True, slots=True)
class _Part(Generic[T]):
    """Items to ask about, and how the last call about them, or about more of their batch, failed."""

    batch: int
    start: int
    items: tuple[T, ...]
    n_calls: int = 0
    wait: float = 0.0
    error: str | None = None
    failure: _Failure | None = None


def judge_batches(
    batches: Sequence[Sequence[T]],
    *,
    prompt: Callable[[Sequence[T]], str],
    read: Callable[[Sequence[T], str], Reading[Verdict]],
    budget: Budget,
    count_tokens: Callable[[str], int],
    reply_tokens: Callable[[int], int],
    schema: Mapping[str, Any] | None = None,
    retries: RetryPolicy | None = None,
    chance: Callable[[], float] = random.random,
) -> Flow[tuple[Judged[T, Verdict], ...]]:
    """Judge all batches at once; what fails is retried, halved, or given back unjudged.

    Args:
        batches: Items to judge, the most important batch first: a ceiling refuses the last.
        prompt: The prompt for a batch or a part of one.
        read: Reads the reply to such a prompt.
        budget: Counts the calls and refuses those beyond its ceilings.
        count_tokens: Tokens of a prompt.
        reply_tokens: Tokens to expect of the reply about so many items.
        schema: JSON schema of the replies.
        retries: The policy for failures that may pass.
        chance: Numbers from 0 to 1 for the jitter of waits.

    Returns:
        Parts that cover every item once, in the order of the batches.
    """
    step = _Step(read, retries or RetryPolicy(), chance)
    pending = [_Part(i, 0, tuple(items)) for i, items in enumerate(batches) if items]
    done: list[tuple[_Part[T], Judged[T, Verdict]]] = []
    while pending:
        asked: list[tuple[_Part[T], str, tuple[int, int]]] = []
        for part in pending:
            if step.gives_up(part):
                done.append((part, Judged(part.batch, part.items, None, part.error)))
                continue
            text = prompt(part.items)
            cost = count_tokens(text), reply_tokens(len(part.items))
            refusal = budget.reserve(*cost, wait=part.wait)
            if refusal is None:
                asked.append((part, text, cost))
            else:
                done.append((part, _refused(part, refusal)))
        pending = []
        if not asked:
            continue
        wait = max(part.wait for part, _, _ in asked)
        remaining = budget.remaining_seconds()
        timeout = None if remaining is None else max(0.0, remaining - wait)
        prompts = tuple(text for _, text, _ in asked)
        replies = yield from Ask(prompts, wait, timeout, schema)
        for (part, _, cost), reply in zip(asked, replies, strict=True):
            budget.settle(*cost, reply)
            result = step(part, reply)
            if isinstance(result, Judged):
                done.append((part, result))
            else:
                pending.extend(result)
    done.sort(key=lambda pair: (pair[0].batch, pair[0].start))
    return tuple(judged for _, judged in done)


class _Step(Generic[T, Verdict]):
    """What follows from a reply: a judgement, or parts to ask about."""

    def __init__(
        self,
        read: Callable[[Sequence[T], str], Reading[Verdict]],
        retries: RetryPolicy,
        chance: Callable[[], float],
    ) -> None:
        self._read: Callable[[Sequence[T], str], Reading[Verdict]] = read
        self._retries = retries
        self._chance = chance
        self._n_read = 0
        self._n_unreadable = 0

    def gives_up(self, part: _Part[T]) -> bool:
        """Whether a part that was answered unreadably is not to be asked about again."""
        most = self._retries.max_unreadable + _UNREADABLE_PER_READ * self._n_read
        return part.failure == "unreadable" and self._n_unreadable >= most

    def __call__(self, part: _Part[T], reply: Reply) -> Judged[T, Verdict] | list[_Part[T]]:
        failure: _Failure
        if reply.error is None:
            reading = self._read(part.items, reply.text)
            if reading.usable:
                self._n_read += 1
                return Judged(part.batch, part.items, reading)
            self._n_unreadable += 1
            error, failure = UNREADABLE, "unreadable"
        else:
            error, failure = reply.error, reply.failure or "transient"
        part = replace(part, n_calls=part.n_calls + 1, wait=0.0, error=error, failure=failure)
        if failure == "transient" or (
            failure == "unreadable" and part.n_calls < _UNREADABLE_ATTEMPTS
        ):
            wait = retry_delay(
                part.n_calls, reply.retry_after, self._retries, chance=self._chance()
            )
            if wait is not None:
                return [replace(part, wait=wait)]
        if len(part.items) > 1 and failure in ("content", "unreadable"):
            return _halves(part)
        return Judged(part.batch, part.items, None, error)


def _refused(part: _Part[T], refusal: str) -> Judged[T, Any]:
    """What a ceiling leaves unjudged; where the model had failed before, that is the reason."""
    if part.error is None:
        return Judged(part.batch, part.items, None, refusal, refused=True)
    why = f"{part.error} ({refusal} before it could be asked again)"
    return Judged(part.batch, part.items, None, why, refused=part.failure == "transient")


def _halves(part: _Part[T]) -> list[_Part[T]]:
    middle = len(part.items) // 2
    first = replace(part, items=part.items[:middle], n_calls=0)
    return [first, replace(first, start=part.start + middle, items=part.items[middle:])]
