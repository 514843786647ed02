"""A message as a row of a database: its id, the version that changed it, and all else as one JSON text.

One text, since Chroma writes and indexes a row of its own for each key of a row's metadata, and nobody
filters there. Times are integer microseconds; what is unknown has no key at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tmem_integrations.messages import Message, from_microseconds, to_microseconds

Metadata = dict[str, str | int]

_PLAIN = tuple(f.name for f in fields(Message) if f.name not in ("id", "sent_at", "edited_at"))


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


def to_metadata(row: Row) -> Metadata:
    """All of a row but its id."""
    message = row.message
    record: dict[str, Any] = {"sent_us": to_microseconds(message.sent_at), "arrival": row.arrival}
    if message.edited_at is not None:
        record["edited_us"] = to_microseconds(message.edited_at)
    for name in _PLAIN:
        value = getattr(message, name)
        if value is not None:
            record[name] = value
    return {"version": row.version, "record": json.dumps(record, ensure_ascii=False)}


def from_metadata(message_id: str, metadata: Mapping[str, Any]) -> Row:
    """Inverse of `to_metadata`.

    Raises:
        KeyError: If a key that every row of ours has is missing.
        TypeError: If a value is not of its kind, or a key is not ours.
        ValueError: If the record is no JSON.
        MessageError: If it is no message.
    """
    record = json.loads(metadata["record"])
    sent, arrival, edited = record.pop("sent_us"), record.pop("arrival"), None
    if "edited_us" in record:
        edited = from_microseconds(record.pop("edited_us"))
    message = Message(id=message_id, sent_at=from_microseconds(sent), edited_at=edited, **record)
    return Row(message, arrival, metadata["version"])
