"""Questions with their gold kept apart, and the data set that holds both.

A method is given messages and a `Query`, never a `Gold`: the two are different types, made apart by
the loaders, and `leaks_of` looks again at everything that is written or asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tmem_integrations.messages import Message, Query

Unit = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked.

    Attributes:
        id: Unique in the data set.
        text: The question.
        asking_user: Who asks, id or name.
        channel: Search within this channel; None searches everything.
        as_of: Only what was said until then is known.
        options: Answers to choose from, by letter.
        kind: The data set's own type of question, for tables only: a method never sees it.
    """

    id: str
    text: str
    asking_user: str | None = None
    channel: str | None = None
    as_of: datetime | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None

    def query(self) -> Query:
        """What a method is given. The channel is left out: its history holds nothing else."""
        return Query(text=self.text, asking_user=self.asking_user, as_of=self.as_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What the right answer to one question is. Patterns are regular expressions, case ignored.

    Attributes:
        answer: Reference answer; the letter where there are options, a rubric where one grades.
        evidence: Units of evidence; any id of a unit shows it.
        must_include: Values the shown text or the answer has to hold.
        must_not_include: Values a right answer does not hold.
        leak_targets: Values that must not be told to who asks.
        expected_action: What the assistant should do, such as "answer" or "refuse".
    """

    answer: str | None = None
    evidence: tuple[Unit, ...] = ()
    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    leak_targets: tuple[str, ...] = ()
    expected_action: str | None = None


@dataclass(frozen=True, slots=True)
class Rollback:
    """A chain of changes near the evidence of a question that was taken back.

    Attributes:
        revisions: Ids of the changes, in order.
        rollback: Id of the message that takes them back.
    """

    revisions: tuple[str, ...]
    rollback: str


@dataclass(frozen=True, slots=True)
class History:
    """The messages that some questions search, and these questions."""

    messages: tuple[Message, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Messages, questions and gold of one data set.

    Attributes:
        name: For tables.
        messages: In order of arrival.
        questions: In the order of the source.
        gold: By question id, one for each question.
        parents: Human reply links that are gold: message id to the id it answers.
        rollbacks: By question id, where changes that were taken back lie near the evidence.
        skipped: What the loader left out: reason to how often.
    """

    name: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]
    gold: Mapping[str, Gold]
    parents: Mapping[str, str] = field(default_factory=dict)
    rollbacks: Mapping[str, Rollback] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)

    def histories(self) -> Iterator[History]:
        """One history per channel that a question searches, then one for those that search all."""
        channels = dict.fromkeys(m.channel for m in self.messages)
        for channel in channels:
            questions = tuple(q for q in self.questions if q.channel == channel)
            if channel is not None and questions:
                yield History(tuple(m for m in self.messages if m.channel == channel), questions)
        everywhere = tuple(q for q in self.questions if q.channel is None)
        if everywhere:
            yield History(self.messages, everywhere)
