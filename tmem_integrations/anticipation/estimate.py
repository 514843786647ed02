"""What writing will cost, before a model is asked: its prompts are written and counted.

A rehearsal files the messages by rule in memory; at each step the model's prompts are written for what
the rules came up with. How many scenes and facts a model finds differs, so this is an estimate; prompts
that hold what a model wrote earlier count the rules' shorter words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tmem_integrations.anticipation.ingest import Desk, file_messages
from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.ledger import Ledger
from tmem_integrations.anticipation.model_writer import ModelWriter
from tmem_integrations.anticipation.rule_writer import RuleWriter
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.triggers import ItemTrigger, SceneTrigger
from tmem_integrations.anticipation.writer import (
    Description,
    Fact,
    Filing,
    Shelf,
    Stream,
    Trait,
    Transcript,
)
from tmem_integrations.messages import Message
from tmem_integrations.models.budget import Estimate
from tmem_integrations.protocols import TokenCounter
from tmem_integrations.requests import Ask, Flow

T = TypeVar("T")


def rehearse(
    messages: Sequence[Message], counter: TokenCounter, model: str
) -> tuple[Flow[None], Rehearsal]:
    """A filing in which rules answer and the model's prompts are counted.

    Args:
        messages: What would be written.
        counter: Counts tokens.
        model: Name of the model.

    Returns:
        The filing, to be driven with an embedder and no model, and the account it fills.
    """
    rehearsal = Rehearsal(ModelWriter(model, counter=counter), counter)
    known = {message.id: message for message in messages}
    desk = Desk(Ledger(), rehearsal, lambda ids: {one: known[one] for one in ids if one in known})
    return file_messages(messages, desk), rehearsal


class Rehearsal:
    """A writer whose answers are those of rules and whose account is that of a model."""

    name = "rehearsal"
    anticipates = False

    def __init__(self, model: ModelWriter, counter: TokenCounter) -> None:
        self._model = model
        self._rules = RuleWriter(most_items=4)
        self._counter = counter
        self.estimate = Estimate()

    def begin(self) -> None:
        """Nothing is bounded."""

    def end(self) -> None:
        """Nothing fails."""

    def find_starts(self, streams: Sequence[Stream]) -> Flow[tuple[tuple[int, ...] | None, ...]]:
        """See `Writer`."""
        self._count(self._model.find_starts(streams))
        return (yield from self._rules.find_starts(streams))

    def describe(self, scenes: Sequence[Transcript]) -> Flow[tuple[Description | None, ...]]:
        """See `Writer`."""
        self._count(self._model.describe(scenes))
        return (yield from self._rules.describe(scenes))

    def file(
        self, scenes: Sequence[Scene], topics: Sequence[Topic]
    ) -> Flow[tuple[Filing | None, ...]]:
        """See `Writer`."""
        self._count(self._model.file(scenes, topics))
        return (yield from self._rules.file(scenes, topics))

    def take_facts(self, shelves: Sequence[Shelf]) -> Flow[tuple[tuple[Fact, ...] | None, ...]]:
        """See `Writer`."""
        self._count(self._model.take_facts(shelves))
        return (yield from self._rules.take_facts(shelves))

    def file_items(self, items: Sequence[Item]) -> Flow[tuple[ItemTrigger | None, ...]]:
        """See `Writer`."""
        self._count(self._model.file_items(items))
        return (yield from self._rules.file_items(items))

    def anticipate(self, scenes: Sequence[Transcript]) -> Flow[tuple[SceneTrigger | None, ...]]:
        """See `Writer`."""
        self._count(self._model.anticipate(scenes))
        return (yield from self._rules.anticipate(scenes))

    def read_personas(
        self, scenes: Sequence[Transcript]
    ) -> Flow[tuple[tuple[Trait, ...] | None, ...]]:
        """See `Writer`."""
        self._count(self._model.read_personas(scenes))
        return (yield from self._rules.read_personas(scenes))

    def _count(self, flow: Flow[Any]) -> None:
        """Count the prompts of a flow's first round, which are all of them when no call fails."""
        budget = self._model.budget
        before = budget.n_tokens
        try:
            request = next(flow)
        except StopIteration:
            return
        flow.close()
        prompts = request.prompts if isinstance(request, Ask) else ()
        tokens = sum(self._counter.count(prompt) for prompt in prompts)
        known = self.estimate
        self.estimate = Estimate(
            known.n_calls + len(prompts),
            known.input_tokens + tokens,
            known.output_tokens + budget.n_tokens - before - tokens,
        )
