"""Flows driven by hand: what they ask for, and answers as a model would give them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from tmem_integrations.config import ModelConfig
from tmem_integrations.judges.calls import Calls
from tmem_integrations.judges.model import ceilings_of
from tmem_integrations.messages import Message
from tmem_integrations.models.budget import Budget
from tmem_integrations.models.judging import RetryPolicy
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.protocols import Ranking, Reply
from tmem_integrations.requests import Ask, Flow, Recall, Remember, Rerank
from tmem_integrations.stages.candidates import Candidates

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def message(number: int, text: str | None = None, **values: Any) -> Message:
    """Message m<number>, sent that many minutes after the start."""
    return Message(
        id=f"m{number}",
        text=f"text{number}." if text is None else text,
        sent_at=START + timedelta(minutes=number),
        **values,
    )


def candidates_of(messages: Sequence[Message], anchors: Sequence[int] = ()) -> Candidates:
    """Candidates of one run; `anchors` are positions."""
    n = len(messages)
    return Candidates(
        messages=tuple(messages),
        rows=np.arange(n),
        runs=np.zeros(n, dtype=np.int64),
        term_scores=np.zeros((1, n)),
        is_asked=np.ones(1, dtype=np.bool_),
        is_anchor=np.isin(np.arange(n), list(anchors)),
    )


def calls_of(**settings: Any) -> Calls:
    """A model named "m" that is asked again at once."""
    config = ModelConfig(**settings)
    retries = RetryPolicy(first_wait=0.0, jitter=0.0)
    return Calls("m", config, Budget(ceilings_of(config)), default_counter(), retries)


def label_of(prompt: str, text: str) -> str | None:
    """The label under which a prompt shows a message."""
    found = re.search(rf"^(\w+) \d\d:\d\d .*: {re.escape(text)}$", prompt, re.MULTILINE)
    return found[1] if found else None


def picks(**kinds: str) -> Callable[[str], str]:
    """Answers of a gate that labels messages by their text: picks(text1="KEY")."""

    def answer(prompt: str) -> str:
        found = {label_of(prompt, f"{text}."): kind for text, kind in kinds.items()}
        chosen = [{"id": c, "label": kind, "reason": "why"} for c, kind in found.items() if c]
        return json.dumps({"selected": chosen})

    return answer


@dataclass
class Hand:
    """Answers the requests of a judge.

    Attributes:
        answer: Reply to each prompt, as text or whole.
        known: Answers to `Recall`, by key.
        ranking: Answer to `Rerank`.
        asked: The requests for the model.
        kept: What was to be remembered.
    """

    answer: Callable[[str], str | Reply]
    known: dict[str, Any] = field(default_factory=dict)
    ranking: Ranking | None = None
    asked: list[Ask] = field(default_factory=list)
    kept: list[Remember] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """All prompts, in order."""
        return [prompt for ask in self.asked for prompt in ask.prompts]

    def run(self, flow: Flow[Any]) -> Any:
        """Drive a flow to its result."""
        reply: Any = None
        while True:
            try:
                request = flow.send(reply)
            except StopIteration as stop:
                return stop.value
            reply = self._answer(request)

    def _answer(self, request: Any) -> Any:
        match request:
            case Ask(prompts):
                self.asked.append(request)
                return tuple(self._reply(prompt) for prompt in prompts)
            case Recall(keys):
                return tuple(self.known.get(key) for key in keys)
            case Remember(key, verdicts):
                self.kept.append(request)
                self.known[key] = verdicts
                return None
            case Rerank():
                return self.ranking
        raise AssertionError(f"A judge does not ask for {request!r}.")

    def _reply(self, prompt: str) -> Reply:
        answered = self.answer(prompt)
        return answered if isinstance(answered, Reply) else Reply(answered)
