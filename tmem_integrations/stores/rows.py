"""A message as a row of a database: its text, and all else as flat metadata.

Times are integer microseconds, since databases compare integers and floats by different rules. What is
unknown has no key at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tmem_integrations.messages import Message, from_microseconds, to_microseconds

Metadata = dict[str, str | int | float | None]

_TIMES = ("sent_at", "edited_at")
_PLAIN = tuple(f.name for f in fields(Message) if f.name not in ("id", "text", *_TIMES))
_OPTIONAL = ("edited_us", *_PLAIN)


@dataclass(frozen=True, slots=True)
class Row:
    """A message as it is stored.

    Attributes:
        arrival: Its place in the order of arrival; an edit keeps it.
        version: Version of the store that its last change made.
    """

    message: Message
    arrival: int
    version: int


def to_metadata(row: Row, *, replaces: bool) -> Metadata:
    """All of a row but id and text.

    Args:
        replaces: The database merges metadata of a row that is there, so unknown values are written as
            None, which removes them.
    """
    message = row.message
    metadata: Metadata = dict.fromkeys(_OPTIONAL) if replaces else {}
    metadata["sent_us"] = to_microseconds(message.sent_at)
    metadata["arrival"] = row.arrival
    metadata["version"] = row.version
    if message.edited_at is not None:
        metadata["edited_us"] = to_microseconds(message.edited_at)
    for name in _PLAIN:
        value = getattr(message, name)
        if value is not None:
            metadata[name] = value
    return metadata


def from_metadata(message_id: str, text: str, metadata: Mapping[str, Any]) -> Row:
    """Inverse of `to_metadata`.

    Raises:
        KeyError: If a key that every row of ours has is missing.
        MessageError: If a value is not of its kind.
    """
    edited = metadata.get("edited_us")
    message = Message(
        id=message_id,
        text=text,
        sent_at=from_microseconds(metadata["sent_us"]),
        edited_at=None if edited is None else from_microseconds(edited),
        **{name: metadata[name] for name in _PLAIN if name in metadata},
    )
    return Row(message, metadata["arrival"], metadata["version"])
