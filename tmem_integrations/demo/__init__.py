"""A bundled history to try things on: three weeks of a software team that launches a checkout.

Eight people write in four channels, one of them private. Dates, settings and plans are proposed,
changed and confirmed; the launch is rolled back. The people, companies and links are made up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from tmem_integrations.messages import Message

TIMEZONE = "Europe/Berlin"
QUESTION = "When do we launch?"
ASKING_USER = "sam"
MEMBERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "checkout": frozenset({"*"}),
        "ops": frozenset({"*"}),
        "lounge": frozenset({"*"}),
        "leads": frozenset({"lena", "mara", "omar", "tomas"}),
    }
)


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A question on the bundled history with its right answer.

    Attributes:
        id: Name of the question.
        question: Its text.
        asking_user: Author id of who asks.
        as_of: When it is asked.
        evidence: Ids of messages that hold the answer as of then.
        stale: Ids of messages that look like an answer and were superseded.
    """

    id: str
    question: str
    asking_user: str
    as_of: datetime
    evidence: tuple[str, ...]
    stale: tuple[str, ...]


def load_history() -> tuple[Message, ...]:
    """The messages in order of time.

    Examples:
        >>> load_history()[0].text
        "Moin! Coffee machine is descaled, you're welcome ☕"
    """
    return tuple(Message.from_dict(record) for record in _records("history.jsonl"))


def load_questions() -> tuple[DemoQuestion, ...]:
    """Questions with the ids of the messages that answer them."""
    return tuple(
        DemoQuestion(
            id=record["id"],
            question=record["question"],
            asking_user=record["asking_user"],
            as_of=datetime.fromisoformat(record["as_of"]),
            evidence=tuple(record["evidence"]),
            stale=tuple(record["stale"]),
        )
        for record in _records("questions.jsonl")
    )


def _records(name: str) -> Iterator[dict[str, Any]]:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    # Not splitlines: it also breaks at U+2028, which JSON allows inside a text.
    return (json.loads(line) for line in text.split("\n") if line)
