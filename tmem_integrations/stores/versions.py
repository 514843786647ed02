"""What a message said before it was edited, so that a question can be asked as of then.

A row holds the message as it is and, below it, the texts that it had: whoever deletes the row deletes all
of them, and a crash leaves all or none. Only text and time of edit have a past. Author, channel and all else
are those of today, so that access and forgetting reach every version.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from tmem_integrations.messages import Message
from tmem_integrations.protocols import Vectors
from tmem_integrations.times import to_microseconds

NEVER = int(np.iinfo(np.int64).max)
# A message that a program edits every minute must not make each edit dearer than the last.
MAX_EARLIER = 100


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a message said until it was edited.

    Attributes:
        text: As it was.
        edited_at: When that text was written, where it was an edit itself.
        learned_at: See `Row`.
        vector: (d,) float32 of the text, as bytes; empty where there was none.
    """

    text: str
    edited_at: datetime | None = None
    learned_at: datetime | None = None
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class Row:
    """A message as it is stored.

    Attributes:
        message: As it is now.
        arrival: Its place in the order of arrival; an edit keeps it.
        version: Version of the store that its last change made.
        stored_at: When it was stored first; None where that is not known.
        changed_at: When it was stored as it is now; None while it has never changed.
        learned_at: From when its text is known, where neither `sent_at` nor `edited_at` tells.
        earlier: What it said before, oldest first.
    """

    message: Message
    arrival: int
    version: int
    stored_at: datetime | None = None
    changed_at: datetime | None = None
    learned_at: datetime | None = None
    earlier: tuple[Earlier, ...] = ()


class Version(NamedTuple):
    """What a message said for some time.

    Attributes:
        message: With the text of that time.
        known: From when that was known, microseconds since 1970 UTC.
        until: When it was something else, likewise; `NEVER` for what it says now.
    """

    message: Message
    known: int
    until: int = NEVER


def versions_of(row: Row) -> list[Version]:
    """All that a message ever said, oldest first; the last one is the message as it is."""
    versions = [Version(row.message, _known(row.message, row.learned_at))]
    if not row.earlier:
        return versions
    for old in reversed(row.earlier):
        message = replace(row.message, text=old.text, edited_at=old.edited_at)
        known = _known(message, old.learned_at)
        versions.append(Version(message, known, versions[-1].known))
    return versions[::-1]


def edited(old: Row, message: Message, *, version: int, now: datetime, vector: bytes) -> Row:
    """The row of a message that was there before; what it said until now is kept below.

    An edit is known from its `edited_at` on. One that has none, or none later than what it replaces, is
    known from now on.

    Args:
        version: Version of the store that writes it.
        vector: (d,) float32 of the old text, as bytes.
    """
    if message == old.message:
        return replace(old, version=version)
    new = replace(old, message=message, version=version, changed_at=now)
    was = old.message
    if (message.text, message.edited_at) == (was.text, was.edited_at):
        return new
    last = _known(was, old.learned_at)
    is_dated = message.edited_at is not None and to_microseconds(message.known_at) > last
    new = replace(new, learned_at=None if is_dated else now)
    if _known(message, new.learned_at) <= last:
        # Known from a time still to come, as both are: the old text never was all that is known.
        return replace(new, learned_at=old.learned_at)
    kept = Earlier(was.text, was.edited_at, old.learned_at, vector)
    return replace(new, earlier=(*old.earlier, kept)[-MAX_EARLIER:])


def vectors_as_of(rows: Iterable[Row], as_of: datetime) -> dict[str, Vectors]:
    """Vectors by id of messages that said something else then: (d,), or (0,) where none was kept."""
    moment = to_microseconds(as_of)
    found = {}
    for row in rows:
        for version, old in zip(versions_of(row), row.earlier, strict=False):
            if version.known <= moment < version.until:
                found[row.message.id] = np.frombuffer(old.vector, dtype="<f4").astype(np.float32)
    return found


def _known(message: Message, learned_at: datetime | None) -> int:
    own = to_microseconds(message.known_at)
    return own if learned_at is None else max(own, to_microseconds(learned_at))
