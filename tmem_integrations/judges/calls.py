"""Asking a model about batches of messages, with the verdicts that are known already left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tmem_integrations.config import ModelConfig
from tmem_integrations.counting import counted
from tmem_integrations.errors import ModelError
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.budget import Budget
from tmem_integrations.models.judging import Judged, RetryPolicy, judge_batches
from tmem_integrations.models.replies import Reading
from tmem_integrations.models.verdicts import verdict_key
from tmem_integrations.protocols import TokenCounter
from tmem_integrations.requests import Flow, Recall, Remember, Verdict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Calls:
    """How one question may ask its model.

    Attributes:
        model: The model's name: part of every verdict's key.
        config: Ceilings, batch sizes and what to do when it fails.
        budget: The account of this question, shared by both seats.
        counter: Counts tokens of prompts.
        retries: When a call that failed in passing is made again.
    """

    model: str
    config: ModelConfig
    budget: Budget
    counter: TokenCounter
    retries: RetryPolicy = field(default_factory=RetryPolicy)

    def since(self, n_calls: int) -> tuple[str, list[dict[str, int | str]]]:
        """A note of the calls after the first `n_calls`, for the trace."""
        return "calls", [record.to_dict() for record in self.budget.records[n_calls:]]


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """What one prompt is about.

    Attributes:
        items: What is to be judged.
        shown: The messages shown, by which its verdicts are found again and forgotten.
    """

    items: tuple[T, ...]
    shown: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Answers(Generic[T, Verdict]):
    """What came back for some items.

    Attributes:
        items: In the order of their labels.
        verdicts: What the model said of them; None when they were not judged.
        missing: Labels that the model passed over although it had to judge them.
        failure: Why they were not judged.
    """

    items: tuple[T, ...]
    verdicts: tuple[Verdict, ...] | None
    missing: tuple[str, ...] = ()
    failure: str | None = None


def judge(
    batches: Sequence[Batch[T]],
    kind: type[Verdict],
    calls: Calls,
    query: Query,
    *,
    version: str,
    prompt: Callable[[Sequence[T]], str],
    read: Callable[[Sequence[T], str], Reading[Verdict]],
    schema: Callable[[int], dict[str, Any]],
    reply_tokens: int,
) -> Flow[tuple[Answers[T, Verdict], ...]]:
    """Judge batches: known verdicts are recalled, the rest is asked at once.

    Args:
        batches: The most important first: a ceiling refuses the last.
        kind: Class of the verdicts.
        calls: How to ask.
        query: The question: verdicts hold for it alone.
        version: Of the prompt.
        prompt: The prompt for a batch or a part of one.
        read: Reads the reply to it.
        schema: Of a reply about so many items.
        reply_tokens: Tokens to expect of a reply, per item.

    Raises:
        ModelError: If a batch could not be judged and the policy is to raise.
    """
    keys = [_key(batch, calls.model, version, query) for batch in batches]
    known = yield from Recall(keys, kind)
    answers = [
        Answers(batch.items, verdicts)
        for batch, verdicts in zip(batches, known, strict=True)
        if verdicts is not None
    ]
    open_ = [i for i, verdicts in enumerate(known) if verdicts is None]
    judged = yield from judge_batches(
        [batches[i].items for i in open_],
        prompt=prompt,
        read=read,
        budget=calls.budget,
        count_tokens=calls.counter.count,
        reply_tokens=lambda n: n * reply_tokens,
        schema=schema(max((len(batches[i].items) for i in open_), default=0)),
        retries=calls.retries,
    )
    for part in judged:
        _raise_if_failed(part, calls)
        answers.append(_answer(part))
        place = open_[part.batch]
        batch = batches[place]
        whole = len(part.items) == len(batch.items)
        if whole and part.reading is not None and not part.reading.missing:
            yield from Remember(keys[place], part.reading.entries, batch.shown)
    return tuple(answers)


def _key(batch: Batch[T], model: str, version: str, query: Query) -> str:
    # Messages are among those shown; what else is to be judged, such as a choice of parents, is not.
    extra = [repr(item) for item in batch.items if not isinstance(item, Message)]
    return verdict_key(
        model=model, prompt_version=version, query=query, candidates=batch.shown, extra=extra
    )


def _raise_if_failed(part: Judged[T, Verdict], calls: Calls) -> None:
    """Raise where the policy says so; what a ceiling refused is no failure."""
    if part.failure is None or part.refused or calls.config.on_failure != "raise":
        return
    raise ModelError(
        f"{calls.model} did not judge {counted(len(part.items), 'message')}: {part.failure}. "
        'ModelConfig(on_failure="degrade") has rules judge them.'
    )


def _answer(part: Judged[T, Verdict]) -> Answers[T, Verdict]:
    if part.reading is None:
        return Answers(part.items, None, failure=part.failure)
    return Answers(part.items, part.reading.entries, part.reading.missing)
