"""What goes in: messages, questions, and the scope of what a question may read.

Times are aware and UTC inside; order is (time, arrival). What is unknown is None, never invented.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, tzinfo
from typing import Any

from tmem_integrations.errors import MessageError, QueryError
from tmem_integrations.times import as_float, read_time, zone_of

_SURROGATE_OR_NUL = re.compile("[\ud800-\udfff\x00]")


def clean_text(text: str) -> str:
    """Replace what no database or prompt can carry (lone surrogates, NUL) by U+FFFD.

    Examples:
        >>> clean_text("a\\x00b") == "a\\ufffdb"
        True
    """
    return _SURROGATE_OR_NUL.sub("\ufffd", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One original message. Identity is the id, never the text.

    Attributes:
        id: Unique in the history.
        text: As written, but for lone surrogates and NUL, which become U+FFFD.
        sent_at: Aware; converted to UTC.
        author: Display name at the time of writing.
        author_id: What stays when a person is renamed.
        role: What the author is, such as "product manager".
        channel: Where it was said; the border of access.
        topic: What it is about, where the source knows.
        phase: Name of the project phase.
        stage: First component of the order of states in TEF Eq. 4; numbers are ordered, names are not.
        phase_order: Second component.
        phase_progress: Third component.
        reply_to: Id of the message it answers.
        edited_at: When `text` was last changed.
        permalink: Where the source shows it.
    """

    id: str
    text: str
    sent_at: datetime
    author: str | None = None
    author_id: str | None = None
    role: str | None = None
    channel: str | None = None
    topic: str | None = None
    phase: str | None = None
    stage: str | float | None = None
    phase_order: float | None = None
    phase_progress: float | None = None
    reply_to: str | None = None
    edited_at: datetime | None = None
    permalink: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id.strip():
            raise MessageError(f"Message.id must be a text that is not blank, got {self.id!r}.")
        if _SURROGATE_OR_NUL.search(self.id):
            raise MessageError(f"Message {self.id!r}: id holds a lone surrogate or NUL.")
        if not isinstance(self.text, str):
            raise MessageError(f"Message {self.id!r}: text must be a str, got {self.text!r}.")
        for name in _TEXT_FIELDS:
            value = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, clean_text(value))
            elif value is not None:
                raise MessageError(f"Message {self.id!r}: {name} must be a str, got {value!r}.")
        for name in ("sent_at", "edited_at"):
            value = getattr(self, name)
            if value is not None or name == "sent_at":
                time = read_time(value, None, f"Message {self.id!r}: {name}")
                object.__setattr__(self, name, time)
        for name in ("phase_order", "phase_progress"):
            object.__setattr__(self, name, _read_number(getattr(self, name), self.id, name))
        if isinstance(self.stage, int | float):
            object.__setattr__(self, "stage", _read_number(self.stage, self.id, "stage"))
        elif isinstance(self.stage, str):
            object.__setattr__(self, "stage", clean_text(self.stage))
        elif self.stage is not None:
            raise MessageError(
                f"Message {self.id!r}: stage must be a number or a name, got {self.stage!r}."
            )

    @property
    def known_at(self) -> datetime:
        """When its text was written: when it was sent, or edited last."""
        return self.sent_at if self.edited_at is None else max(self.sent_at, self.edited_at)

    @classmethod
    def from_dict(
        cls, record: Mapping[str, Any], *, timezone: str | tzinfo | None = None
    ) -> Message:
        """Read one record with the JSONL keys (`id`, `text`, `timestamp`, `author`, …).

        None and absent are the same. Keys we do not know are left out, but one that looks like a
        misspelt key of ours is an error: a filter on it would silently find nothing.

        Args:
            record: `timestamp` (or `sent_at`) is a datetime, ISO 8601 text or POSIX seconds.
            timezone: Zone of times that carry none.

        Raises:
            MessageError: If `id`, `text` or `timestamp` is missing or a value cannot be read.

        Examples:
            >>> m = Message.from_dict({"id": 7, "text": "hi", "timestamp": "2026-03-02T09:00:00+01:00"})
            >>> m.id, m.sent_at.isoformat()
            ('7', '2026-03-02T08:00:00+00:00')
        """
        if not isinstance(record, Mapping):
            raise MessageError(_no_message(record))
        known = {key: value for key, value in record.items() if value is not None}
        message_id = known.pop("id", None)
        if isinstance(message_id, bool) or not isinstance(message_id, str | int):
            raise MessageError(f"A message needs an id (text or integer), got {record!r:.200}.")
        where = f"Message {str(message_id)!r}"
        _check_keys(known, where)
        times = [known.pop(key) for key in ("timestamp", "sent_at") if key in known]
        if not times:
            raise MessageError(f"{where} has no timestamp.")
        if "text" not in known:
            raise MessageError(f"{where} has no text.")
        known = {key: value for key, value in known.items() if key in _FIELDS}
        for key in _ID_FIELDS & known.keys():
            if isinstance(known[key], int) and not isinstance(known[key], bool):
                known[key] = str(known[key])
        if "edited_at" in known:
            known["edited_at"] = read_time(known["edited_at"], timezone, f"{where}: edited_at")
        sent_at = read_time(times[0], timezone, f"{where}: sent_at")
        return cls(id=str(message_id), sent_at=sent_at, **known)

    def to_dict(self) -> dict[str, Any]:
        """The JSONL record of this message: `timestamp` as ISO 8601, unknown keys left out."""
        record: dict[str, Any] = {"id": self.id, "text": self.text}
        record["timestamp"] = self.sent_at.isoformat()
        for name in _FIELDS:
            value = getattr(self, name)
            if name in ("id", "text", "sent_at") or value is None:
                continue
            record[name] = value.isoformat() if isinstance(value, datetime) else value
        return record


def _no_message(record: object) -> str:
    complaint = f"A message must be a Message or a dict, got {type(record).__name__}."
    # What documents of LangChain and nodes of LlamaIndex share; neither is imported here.
    if not hasattr(record, "metadata"):
        return complaint
    return (
        f"{complaint} Documents and nodes go to TemporalForestRetriever.from_documents, or first through "
        "messages_from_documents of tmem_integrations.bridges.documents."
    )


_FIELDS = tuple(f.name for f in fields(Message))
_ID_FIELDS = frozenset({"author_id", "reply_to"})
_KEYS = frozenset({*_FIELDS, "timestamp"})
_TEXT_FIELDS = (
    "text", "author", "author_id", "role", "channel", "topic", "phase", "reply_to", "permalink",
)  # fmt: skip


def _read_number(value: object, message_id: str, name: str) -> float | None:
    if value is None:
        return None
    number = as_float(value) if isinstance(value, int | float) else math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise MessageError(
            f"Message {message_id!r}: {name} must be a finite number, got {value!r:.100}."
        )
    return number


def _check_keys(record: Mapping[str, Any], where: str) -> None:
    for key in record:
        if key in _KEYS:
            continue
        near = difflib.get_close_matches(str(key), _KEYS, n=1, cutoff=0.8)
        if near and near[0] not in record:
            raise MessageError(f"{where} has the key {key!r}; did you mean {near[0]!r}?")


def read_messages(
    messages: Iterable[Message | Mapping[str, Any]], *, timezone: str | tzinfo | None = None
) -> list[Message]:
    """Read messages given as `Message` or dict, in their order of arrival.

    Raises:
        MessageError: At the first message that cannot be read.
    """
    zone = zone_of(timezone)
    if not isinstance(messages, Iterable):
        raise MessageError(
            f"Expected messages one after the other, as Message records or dicts, got {messages!r:.100}."
        )
    return [m if isinstance(m, Message) else Message.from_dict(m, timezone=zone) for m in messages]


def _names(value: str | Collection[str] | None, what: str) -> frozenset[str] | None:
    """One name or several, as a set; None means no restriction."""
    if value is None:
        return None
    if not isinstance(value, Collection):
        raise QueryError(f"{what} must be names, got {value!r}.")
    names = frozenset([value] if isinstance(value, str) else value)
    if any(not isinstance(name, str) for name in names):
        raise QueryError(f"{what} must be names, got {value!r}.")
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with who asks it, as of when, and filters; all but the text optional.

    Attributes:
        text: The question.
        asking_user: Author id or name of who asks; access is decided by it.
        as_of: Only what was said until then is known, in the words of then: times of events and edits
            count, not when they were imported.
        channels: Only these channels.
        not_channels: None of these, nor a message whose channel is unknown.
        authors: Only messages of these authors (name or id).
        topics: Only these topics.
        after: Only messages sent at or after this time.
        before: Only messages sent before this time.
    """

    text: str
    asking_user: str | None = None
    as_of: datetime | None = None
    channels: frozenset[str] | None = None
    not_channels: frozenset[str] | None = None
    authors: frozenset[str] | None = None
    topics: frozenset[str] | None = None
    after: datetime | None = None
    before: datetime | None = None

    @classmethod
    def create(
        cls,
        text: str,
        *,
        asking_user: str | None = None,
        as_of: datetime | str | float | None = None,
        channels: str | Collection[str] | None = None,
        not_channels: str | Collection[str] | None = None,
        authors: str | Collection[str] | None = None,
        topics: str | Collection[str] | None = None,
        after: datetime | str | float | None = None,
        before: datetime | str | float | None = None,
        timezone: str | tzinfo | None = None,
    ) -> Query:
        """Read a question as a caller gives it: one name or several, times as text or datetime.

        Raises:
            QueryError: If a value is not of its kind, or a time has no zone and none is given.
        """
        if not isinstance(text, str):
            raise QueryError(f"A question must be a str, got {type(text).__name__}.")
        if asking_user is not None and not isinstance(asking_user, str):
            raise QueryError(f"asking_user must be a name or id, got {asking_user!r}.")

        def time(value: datetime | str | float | None, name: str) -> datetime | None:
            try:
                return None if value is None else read_time(value, timezone, name)
            except MessageError as error:
                raise QueryError(str(error)) from error

        return cls(
            text=clean_text(text),
            asking_user=asking_user,
            as_of=time(as_of, "as_of"),
            channels=_names(channels, "channels"),
            not_channels=_names(not_channels, "not_channels"),
            authors=_names(authors, "authors"),
            topics=_names(topics, "topics"),
            after=time(after, "after"),
            before=time(before, "before"),
        )


FILTERS = tuple(f.name for f in fields(Query) if f.name != "text")
"""What a question can be narrowed by: the fields of `Query` other than its text."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What one question may read. Every read of a store goes through it.

    Attributes:
        query: The filters of the question and its `as_of`.
        readable: Channels that access control lets the asker read; None when there is no access
            control. With it, a message whose channel is unknown is not readable.
    """

    query: Query = field(default_factory=lambda: Query(text=""))
    readable: frozenset[str] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it admits every message there can be."""
        q = self.query
        filters = (q.as_of, q.channels, q.not_channels, q.authors, q.topics, q.after, q.before)
        return self.readable is None and all(one is None for one in filters)

    def admits(self, message: Message) -> bool:
        """Whether the question may see the message: the rule that every index follows."""
        q = self.query
        channel = message.channel
        return (
            (self.readable is None or channel in self.readable)
            and (q.as_of is None or message.known_at <= q.as_of)
            and (q.channels is None or channel in q.channels)
            and (q.not_channels is None or (channel is not None and channel not in q.not_channels))
            and (q.authors is None or bool({message.author, message.author_id} & q.authors))
            and (q.topics is None or message.topic in q.topics)
            and (q.after is None or message.sent_at >= q.after)
            and (q.before is None or message.sent_at < q.before)
        )
