"""The writer that asks a chat model: it imagines the situations in which a memory will matter (AM §3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.replies import (
    read_boundaries,
    read_description,
    read_facts,
    read_filings,
    read_item_triggers,
    read_scene_trigger,
    read_traits,
)
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
from tmem_integrations.config import ModelConfig
from tmem_integrations.errors import ModelError
from tmem_integrations.judges.model import ceilings_of
from tmem_integrations.messages import Message
from tmem_integrations.models.budget import Budget
from tmem_integrations.models.judging import RetryPolicy, judge_batches
from tmem_integrations.models.replies import Reading
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.prompts.boundaries import BOUNDARIES
from tmem_integrations.prompts.items import ITEMS
from tmem_integrations.prompts.persona import PERSONA
from tmem_integrations.prompts.scenes import SCENES
from tmem_integrations.prompts.topics import TOPICS
from tmem_integrations.prompts.transcript import PromptMessage, as_data, write_transcript
from tmem_integrations.prompts.triggers import ITEM_TRIGGERS, SCENE_TRIGGERS
from tmem_integrations.prompts.writing import WritingPrompt
from tmem_integrations.protocols import TokenCounter
from tmem_integrations.requests import Flow

T = TypeVar("T")
V = TypeVar("V")

# Turns of one boundary call, and those before them that give context.
_NEW_TURNS, _CONTEXT = 24, 6
_ITEMS_AT_ONCE = 8
_MAX_SCENE_CHARS = 1_200
_MAX_TURNS = 60


class ModelWriter:
    """A chat model in the writer's seat; what it does not answer is asked again at the next write.

    Args:
        model: Its name.
        counter: Counts tokens of prompts.
        config: Ceilings of one write, and what to do when the model fails.
        retries: When a call that failed in passing is made again.

    Attributes:
        budget: The account of the last write.
        failures: What was not answered in it: why, and how many things were asked about.
    """

    anticipates = True

    def __init__(
        self,
        model: str,
        *,
        counter: TokenCounter | None = None,
        config: ModelConfig | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.name = model
        self._config = config or ModelConfig()
        self._spent = (0, 0, 0)
        self._n_failed = 0
        self.budget = Budget(ceilings_of(self._config))
        self.failures: dict[str, int] = {}
        self._counter = counter or default_counter()
        self._retries = retries

    def begin(self) -> None:
        """Open the account of a write."""
        self._spent = self._totals()
        self._n_failed = 0
        self.budget = Budget(ceilings_of(self._config))
        self.failures = {}

    def end(self) -> None:
        """Say that the model failed, where that is an error; a ceiling that was met is none.

        Raises:
            ModelError: If a call failed for good and `on_failure` is "raise".
        """
        if self._n_failed and self._config.on_failure == "raise":
            raise ModelError(
                f"{self.name} did not write about {self._n_failed} things: {'; '.join(self.failures)}. What "
                "it did write is saved: the same call again asks for the rest, and "
                'on_model_failure="degrade" leaves it for the next write.'
            )

    def spent(self) -> dict[str, Any]:
        """Calls and tokens since it was made, and what stopped or failed in the last write; JSON values."""
        n_calls, input_tokens, output_tokens = self._totals()
        return {
            "calls": n_calls,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "failures": dict(self.failures),
            "stopped_by": self.budget.stopped_by,
        }

    def find_starts(self, streams: Sequence[Stream]) -> Flow[tuple[tuple[int, ...] | None, ...]]:
        """Boundaries in a buffer of turns that slides over each channel (AM §3)."""
        windows = [
            (number, start)
            for number, stream in enumerate(streams)
            for start in range(stream.first, len(stream.messages), _NEW_TURNS)
        ]

        def shown(window: tuple[int, int]) -> tuple[int, int, tuple[Message, ...]]:
            number, start = window
            begin = max(0, start - _CONTEXT)
            return begin, start, streams[number].messages[begin : start + _NEW_TURNS]

        def render(batch: Sequence[tuple[int, int]]) -> str:
            begin, start, messages = shown(batch[0])
            context = start - begin
            labels = [f"c{i + 1}" for i in range(context)]
            labels += [f"m{i + 1}" for i in range(len(messages) - context)]
            return BOUNDARIES.render(chat=_chat(messages, labels))

        def read(batch: Sequence[tuple[int, int]], text: str) -> dict[int, tuple[int, ...]] | None:
            begin, start, messages = shown(batch[0])
            found = read_boundaries(text, len(messages) - (start - begin))
            return None if found is None else {0: tuple(start + i for i in found)}

        answers = yield from self._ask(windows, 1, BOUNDARIES, render, read)
        starts: list[tuple[int, ...] | None] = [() for _ in streams]
        for (number, _), answer in zip(windows, answers, strict=True):
            known = starts[number]
            starts[number] = None if known is None or answer is None else (*known, *answer)
        # Turns that are in no scene would be found by nothing: rules cut what the model did not.
        by_rule = yield from RuleWriter().find_starts(streams)
        return tuple(
            rule if own is None else _bounded(own, stream)
            for own, rule, stream in zip(starts, by_rule, streams, strict=True)
        )

    def describe(self, scenes: Sequence[Transcript]) -> Flow[tuple[Description | None, ...]]:
        """Title, summary, narrative: one call a scene."""
        return (
            yield from self._ask(
                scenes,
                1,
                SCENES,
                lambda batch: SCENES.render(chat=_chat(batch[0].messages)),
                lambda _, text: _one(read_description(text)),
            )
        )

    def file(
        self, scenes: Sequence[Scene], topics: Sequence[Topic]
    ) -> Flow[tuple[Filing | None, ...]]:
        """Labels for a batch of scenes in one call."""
        labels = [
            f"t{i + 1} {as_data(t.title)}: {as_data(t.summary())}" for i, t in enumerate(topics)
        ]

        def render(batch: Sequence[Scene]) -> str:
            shown = [f"s{i + 1} {_scene_line(scene)}" for i, scene in enumerate(batch)]
            return TOPICS.render(labels="\n".join(labels) or "(none yet)", scenes="\n".join(shown))

        return (
            yield from self._ask(
                scenes,
                max(1, len(scenes)),
                TOPICS,
                render,
                lambda batch, text: read_filings(text, len(batch), [t.id for t in topics]),
            )
        )

    def take_facts(self, shelves: Sequence[Shelf]) -> Flow[tuple[tuple[Fact, ...] | None, ...]]:
        """Atomic and connected items: one call a label."""

        def render(batch: Sequence[Shelf]) -> str:
            shelf = batch[0]
            lines = [f"k{i + 1} {_scene_line(scene)}" for i, scene in enumerate(shelf.known)]
            lines += [f"n{i + 1} {_scene_line(t.scene)}" for i, t in enumerate(shelf.new)]
            return ITEMS.render(topic=as_data(shelf.topic.title), scenes="\n".join(lines))

        return (
            yield from self._ask(
                shelves, 1, ITEMS, render, lambda batch, text: _one(read_facts(text, batch[0]))
            )
        )

    def file_items(self, items: Sequence[Item]) -> Flow[tuple[ItemTrigger | None, ...]]:
        """Entity and Bridge of several items in one call."""
        return (
            yield from self._ask(
                items,
                _ITEMS_AT_ONCE,
                ITEM_TRIGGERS,
                lambda batch: ITEM_TRIGGERS.render(
                    facts="\n".join(f"f{i + 1} {as_data(x.text)}" for i, x in enumerate(batch))
                ),
                lambda batch, text: read_item_triggers(text, len(batch)),
            )
        )

    def anticipate(self, scenes: Sequence[Transcript]) -> Flow[tuple[SceneTrigger | None, ...]]:
        """Scene and Horizon: one call a scene."""
        return (
            yield from self._ask(
                scenes,
                1,
                SCENE_TRIGGERS,
                lambda batch: SCENE_TRIGGERS.render(chat=_chat(batch[0].messages)),
                lambda batch, text: _one(read_scene_trigger(text, batch[0].scene)),
            )
        )

    def read_personas(
        self, scenes: Sequence[Transcript]
    ) -> Flow[tuple[tuple[Trait, ...] | None, ...]]:
        """Traits: one call a scene."""
        return (
            yield from self._ask(
                scenes,
                1,
                PERSONA,
                lambda batch: PERSONA.render(chat=_chat(batch[0].messages)),
                lambda batch, text: _one(read_traits(text, batch[0])),
            )
        )

    def _ask(
        self,
        things: Sequence[T],
        at_once: int,
        prompt: WritingPrompt,
        render: Callable[[Sequence[T]], str],
        read: Callable[[Sequence[T], str], dict[int, V] | None],
    ) -> Flow[tuple[V | None, ...]]:
        """One answer for each thing; None for what the model did not answer.

        Args:
            things: What is asked about.
            at_once: How many in one call.
            prompt: For its schema and expected length.
            render: The prompt about some of them.
            read: Position among them → answer; None for a reply that is none.
        """

        def reading(batch: Sequence[T], text: str) -> Reading[tuple[int, V]]:
            found = read(batch, text)
            return Reading(tuple((found or {}).items()), {}, usable=found is not None)

        batches = [things[i : i + at_once] for i in range(0, len(things), at_once)]
        judged = yield from judge_batches(
            batches,
            prompt=render,
            read=reading,
            budget=self.budget,
            count_tokens=self._counter.count,
            reply_tokens=lambda n: n * prompt.reply_tokens,
            schema=prompt.schema,
            retries=self._retries,
        )
        answers: list[V | None] = []
        for part in judged:
            found = dict(part.reading.entries) if part.reading is not None else {}
            answers.extend(found.get(i) for i in range(len(part.items)))
            if part.failure is not None:
                self.failures[part.failure] = self.failures.get(part.failure, 0) + len(part.items)
                self._n_failed += 0 if part.refused else len(part.items)
        return tuple(answers)

    def _totals(self) -> tuple[int, int, int]:
        before, now = self._spent, self.budget
        return (
            before[0] + now.n_calls, before[1] + now.input_tokens, before[2] + now.output_tokens,
        )  # fmt: skip


def _one(answer: V | None) -> dict[int, V] | None:
    return None if answer is None else {0: answer}


def _chat(messages: Sequence[Message], labels: Sequence[str] | None = None) -> str:
    names = labels or [f"m{i + 1}" for i in range(len(messages))]
    return write_transcript(
        [PromptMessage.of(m, label) for label, m in zip(names, messages, strict=True)]
    )


def _scene_line(scene: Scene) -> str:
    text = as_data(f"{scene.summary} {scene.narrative}", _MAX_SCENE_CHARS)
    return f"({scene.started_at:%Y-%m-%d}) {as_data(scene.title)}: {text}"


def _bounded(starts: Sequence[int], stream: Stream) -> tuple[int, ...]:
    """The starts, and one more wherever a scene would grow beyond what a prompt can hold."""
    bounded: list[int] = []
    begun = 0
    known = set(starts)
    for i in range(1, len(stream.messages)):
        if i in known or i - begun >= _MAX_TURNS:
            begun = i
            if i >= stream.first:
                bounded.append(i)
    return tuple(bounded)
