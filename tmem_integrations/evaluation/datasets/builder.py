"""Collecting a data set while counting what is left out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tmem_integrations.errors import ImportFormatError, MessageError
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.validation import check_dataset
from tmem_integrations.messages import Message


@dataclass(slots=True)
class Builder:
    """A data set in the making.

    Attributes:
        name: For tables.
        messages: In order of arrival.
        questions: In the order of the source.
        gold: By question id.
        parents: Human reply links that only the scorer may know: message id to parent id.
        skipped: Reason to how often.
    """

    name: str
    messages: list[Message] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    gold: dict[str, Gold] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def say(self, record: Mapping[str, Any], where: str) -> None:
        """Add a message given by the keys of `Message`; times without zone are UTC.

        Raises:
            ImportFormatError: If it cannot be read.
        """
        try:
            self.messages.append(Message.from_dict(record, timezone="UTC"))
        except MessageError as error:
            raise ImportFormatError(f"{where}: {error}") from error

    def ask(self, question: Question, gold: Gold) -> None:
        """Add a question with its gold."""
        self.questions.append(question)
        self.gold[question.id] = gold

    def build(self) -> Dataset:
        """The data set, checked.

        Raises:
            InputError: If ids repeat, or a question's channel or evidence is not there.
        """
        return check_dataset(
            Dataset(
                name=self.name,
                messages=tuple(self.messages),
                questions=tuple(self.questions),
                gold=self.gold,
                parents=self.parents,
                skipped={reason: n for reason, n in self.skipped.items() if n},
            )
        )


def units(ids: list[str]) -> tuple[frozenset[str], ...]:
    """Each id a unit of its own, repetitions left out."""
    return tuple(frozenset([one]) for one in dict.fromkeys(ids))


def items(value: object, what: str, where: str) -> list[dict[str, Any]]:
    """A list of objects.

    Raises:
        ImportFormatError: If it is none.
    """
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ImportFormatError(
            f"{where}: expected {what} as list of objects, found {value!r:.80}."
        )
    return value
