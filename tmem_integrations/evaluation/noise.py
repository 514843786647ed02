"""Revisions that are taken back (TEF Exp-5): does a method show the change without its undoing?

Close to a message of evidence somebody changes what it says, in one to three steps, and then it is put back as it
was. Templates write that, or a model. One seed makes one realisation: all methods search the same chat.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.noise_model import Task, write_chains
from tmem_integrations.evaluation.noise_templates import template_texts
from tmem_integrations.evaluation.questions import Dataset, Question, Rollback
from tmem_integrations.messages import Message
from tmem_integrations.protocols import LanguageModel

_PAUSE = timedelta(seconds=30)
_LONGEST = 3


@dataclass(frozen=True, slots=True)
class NoisyDataset:
    """A data set with revisions that are taken back.

    Attributes:
        dataset: With the added messages in their place; questions and gold as before, and `rollbacks`.
        n_chains: How many chains were added.
        refused: What a model wrote and was not taken, so that templates wrote it: reason to how often.
    """

    dataset: Dataset
    n_chains: int
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a chain goes.

    Attributes:
        evidence: The message that it changes.
        questions: Those whose evidence that is; they share the chain.
        n_steps: Revisions.
        rng: Of this chain alone.
    """

    evidence: Message
    questions: tuple[Question, ...]
    n_steps: int
    rng: random.Random


def add_noise(
    dataset: Dataset,
    *,
    seed: int = 0,
    steps: int | None = None,
    llm: LanguageModel | None = None,
) -> NoisyDataset:
    """Put one chain near the evidence of each question that has any.

    Questions that share a message of evidence share its chain.

    Args:
        dataset: With evidence.
        seed: The same seed makes the same chat, where templates write.
        steps: Revisions in each chain, 1 to 3; drawn for each when None.
        llm: Writes the chains; what it writes is checked, and templates write what does not pass.

    Raises:
        InputError: If `steps` is out of range, or no question has evidence.
    """
    if steps is not None and not 1 <= steps <= _LONGEST:
        raise InputError(f"steps must be 1 to {_LONGEST}, got {steps}.")
    places = _places(dataset, seed, steps)
    if not places:
        raise InputError(f"{dataset.name}: noise goes near evidence, and no question has any.")
    texts, refused = _texts(places, llm)
    authors = _authors(dataset.messages)
    added: list[Message] = []
    rollbacks: dict[str, Rollback] = {}
    for place, own in zip(places, texts, strict=True):
        chain = _chain(place, own, authors[place.evidence.channel])
        *revisions, last = (message.id for message in chain)
        rollbacks |= {q.id: Rollback(tuple(revisions), last) for q in place.questions}
        added += chain
    # Sorting is stable: messages of one instant keep their order of arrival.
    messages = sorted([*dataset.messages, *added], key=lambda message: message.sent_at)
    noisy = replace(
        dataset, name=f"{dataset.name}+noise", messages=tuple(messages), rollbacks=rollbacks
    )
    return NoisyDataset(noisy, len(places), refused)


def _places(dataset: Dataset, seed: int, steps: int | None) -> list[_Place]:
    by_id = {message.id: message for message in dataset.messages}
    asking: dict[str, list[Question]] = {}
    for question in dataset.questions:
        ids = sorted(frozenset().union(*dataset.gold[question.id].evidence))
        if ids:
            chosen = random.Random(f"{seed}/{question.id}").choice(ids)
            asking.setdefault(chosen, []).append(question)
    places = []
    for message_id, questions in asking.items():
        rng = random.Random(f"{seed}/{message_id}")
        n_steps = steps or rng.randint(1, _LONGEST)
        places.append(_Place(by_id[message_id], tuple(questions), n_steps, rng))
    return places


def _texts(
    places: Sequence[_Place], llm: LanguageModel | None
) -> tuple[list[list[str]], Mapping[str, int]]:
    """The texts of each chain, the rollback last."""
    written: Sequence[list[str] | None] = [None] * len(places)
    refused: Mapping[str, int] = {}
    if llm is not None:
        tasks = [
            Task(p.evidence.text, p.n_steps, tuple(q.text for q in p.questions)) for p in places
        ]
        written, refused = write_chains(tasks, llm)
    texts = [
        own or template_texts(place.evidence.text, place.n_steps, place.rng)
        for place, own in zip(places, written, strict=True)
    ]
    return texts, refused


def _authors(messages: Sequence[Message]) -> Mapping[str | None, list[Message]]:
    """By channel, a message of each who speaks there."""
    found: dict[str | None, dict[str | None, Message]] = {}
    for message in messages:
        found.setdefault(message.channel, {}).setdefault(message.author, message)
    return {channel: list(own.values()) for channel, own in found.items()}


def _room(place: _Place) -> timedelta:
    """The pause between added messages: all of them are known when a question is asked."""
    moments = [q.as_of for q in place.questions if q.as_of is not None]
    if not moments:
        return _PAUSE
    return min(_PAUSE, (min(moments) - place.evidence.sent_at) / (_LONGEST + 2))


def _chain(place: _Place, texts: Sequence[str], authors: Sequence[Message]) -> list[Message]:
    """Revisions and their rollback, by people of the channel."""
    evidence, pause = place.evidence, _room(place)
    chain = []
    for step, text in enumerate(texts, start=1):
        # Who said it takes it back; anybody may have changed it.
        speaker = evidence if step == len(texts) else place.rng.choice(authors)
        chain.append(
            replace(
                evidence,
                id=f"{evidence.id}/noise{step}",
                text=text,
                sent_at=evidence.sent_at + step * pause,
                author=speaker.author,
                author_id=speaker.author_id,
                role=speaker.role,
                reply_to=None,
                edited_at=None,
                permalink=None,
            )
        )
    return chain
