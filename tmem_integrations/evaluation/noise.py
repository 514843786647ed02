"""Revisions that are taken back (TEF Exp-5): does a method show the change without its undoing?

Close to a message of evidence somebody changes what it says, in one to three steps, and then it is put back as it
was. The first change repeats the words of the evidence, later ones less and less, and the rollback none of them,
though nobody in the chat could misread it. One seed makes one realisation: all methods search the same chat.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.questions import Dataset, Question, Rollback
from tmem_integrations.messages import Message

_PAUSE = timedelta(seconds=30)
_LONGEST = 3
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_VALUE = re.compile(rf"\b(?:{'|'.join(_DAYS + _MONTHS)}|\d{{1,4}})\b", re.IGNORECASE)
_WORDS_REPEATED = 12

_FIRST = (
    "Change to this: {changed}",
    "Update, please note: {changed}",
    "New state, it is now like this: {changed}",
)
_FIRST_WITHOUT_VALUE = (
    "This no longer holds: {start}. We do it another way now.",
    "Scratch that part about {start}, there is another plan now.",
)
_LATER = (
    "Actually, better {value}.",
    "Hm, make that {value} then.",
    "One more correction from my side: {value}.",
)
_LATER_WITHOUT_VALUE = (
    "Hm, a third way seems better to me now.",
    "One more correction from my side, we turn it round.",
    "Sorry, changed again, see the notes.",
)
_ROLLBACKS = (
    "Forget the corrections, everything stays exactly as originally told.",
    "Back to square one, all of those tweaks are off.",
    "Undo all that. The original stands, nothing else.",
)


@dataclass(frozen=True, slots=True)
class NoisyDataset:
    """A data set with revisions that are taken back.

    Attributes:
        dataset: With the added messages in their place; questions and gold as before, and `rollbacks`.
        n_chains: How many chains were added.
    """

    dataset: Dataset
    n_chains: int


def add_noise(dataset: Dataset, *, seed: int = 0, steps: int | None = None) -> NoisyDataset:
    """Put one chain near the evidence of each question that has any.

    Questions that share a message of evidence share its chain.

    Args:
        dataset: With evidence.
        seed: The same seed makes the same chat.
        steps: Revisions in each chain, 1 to 3; drawn for each when None.

    Raises:
        InputError: If `steps` is out of range, or no question has evidence.
    """
    if steps is not None and not 1 <= steps <= _LONGEST:
        raise InputError(f"steps must be 1 to {_LONGEST}, got {steps}.")
    by_id = {message.id: message for message in dataset.messages}
    authors = _authors(dataset.messages)
    chains: dict[str, list[Message]] = {}
    rollbacks: dict[str, Rollback] = {}
    for question in dataset.questions:
        ids = sorted(frozenset().union(*dataset.gold[question.id].evidence))
        if not ids:
            continue
        chosen = by_id[random.Random(f"{seed}/{question.id}").choice(ids)]
        if chosen.id not in chains:
            rng = random.Random(f"{seed}/{chosen.id}")
            n_steps = steps or rng.randint(1, _LONGEST)
            chains[chosen.id] = _chain(
                chosen, n_steps, authors[chosen.channel], _room(question, chosen), rng
            )
        *revisions, last = (message.id for message in chains[chosen.id])
        rollbacks[question.id] = Rollback(tuple(revisions), last)
    if not chains:
        raise InputError(f"{dataset.name}: noise goes near evidence, and no question has any.")
    added = [message for chain in chains.values() for message in chain]
    # Sorting is stable: messages of one instant keep their order of arrival.
    messages = sorted([*dataset.messages, *added], key=lambda message: message.sent_at)
    noisy = replace(
        dataset, name=f"{dataset.name}+noise", messages=tuple(messages), rollbacks=rollbacks
    )
    return NoisyDataset(noisy, len(chains))


def _authors(messages: Sequence[Message]) -> Mapping[str | None, list[Message]]:
    """By channel, a message of each who speaks there."""
    found: dict[str | None, dict[str | None, Message]] = {}
    for message in messages:
        found.setdefault(message.channel, {}).setdefault(message.author, message)
    return {channel: list(own.values()) for channel, own in found.items()}


def _room(question: Question, evidence: Message) -> timedelta:
    """The pause between added messages: all of them are known when the question is asked."""
    if question.as_of is None:
        return _PAUSE
    return min(_PAUSE, (question.as_of - evidence.sent_at) / (_LONGEST + 2))


def _chain(
    evidence: Message,
    n_steps: int,
    authors: Sequence[Message],
    pause: timedelta,
    rng: random.Random,
) -> list[Message]:
    """Revisions and their rollback, by people of the channel."""
    texts = [*_revisions(evidence.text, n_steps, rng), rng.choice(_ROLLBACKS)]
    chain = []
    for step, text in enumerate(texts, start=1):
        # Who said it takes it back; anybody may have changed it.
        speaker = evidence if step == len(texts) else rng.choice(authors)
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


def _revisions(text: str, n_steps: int, rng: random.Random) -> list[str]:
    """Changes of a text, the first in its own words."""
    values = list(_VALUE.finditer(text))
    if not values:
        start = " ".join(text.split()[:_WORDS_REPEATED]).rstrip(".!?,;:")
        later = rng.sample(_LATER_WITHOUT_VALUE, n_steps - 1)
        return [rng.choice(_FIRST_WITHOUT_VALUE).format(start=start), *later]
    value = rng.choice(values)
    # Less than a week, all different: no change leads back to where it began.
    first, *others = (change_value(value[0], by) for by in rng.sample(range(1, 7), n_steps))
    changed = f"{text[: value.start()]}{first}{text[value.end() :]}"
    templates = rng.sample(_LATER, n_steps - 1)
    return [
        rng.choice(_FIRST).format(changed=changed),
        *(t.format(value=other) for t, other in zip(templates, others, strict=True)),
    ]


def change_value(value: str, by: int) -> str:
    """Another weekday, month or number.

    Examples:
        >>> change_value("Sunday", 1), change_value("may", 2), change_value("9", 3)
        ('Monday', 'July', '12')
    """
    if value.isdecimal():
        return str(int(value) + by)
    names = _DAYS if value.title() in _DAYS else _MONTHS
    return names[(names.index(value.title()) + by) % len(names)]
