"""A row as a database keeps it: version of the store, the message as one JSON text, and what it said before.

One text, since Chroma writes and indexes a row of its own for each key of a row's metadata, and nobody
filters there. Times are integer microseconds; what is unknown has no key at all.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from tmem_integrations.messages import Message
from tmem_integrations.stores.versions import Earlier, Row
from tmem_integrations.times import from_microseconds, to_microseconds

Metadata = dict[str, str | int]

_PLAIN = tuple(f.name for f in fields(Message) if f.name not in ("id", "sent_at", "edited_at"))


def to_metadata(row: Row) -> Metadata:
    """All of a row but its id."""
    message = row.message
    record: dict[str, Any] = {"sent_us": to_microseconds(message.sent_at), "arrival": row.arrival}
    record |= _times(
        edited_us=message.edited_at,
        stored_us=row.stored_at,
        changed_us=row.changed_at,
        learned_us=row.learned_at,
    )
    for name in _PLAIN:
        value = getattr(message, name)
        if value is not None:
            record[name] = value
    metadata: Metadata = {"version": row.version, "record": _json(record)}
    if row.earlier:
        metadata["earlier"] = _json([_to_record(one) for one in row.earlier])
    return metadata


def from_metadata(message_id: str, metadata: Mapping[str, Any]) -> Row:
    """Inverse of `to_metadata`.

    Raises:
        KeyError: If a key that every row of ours has is missing.
        TypeError: If a value is not of its kind, or a key is not ours.
        ValueError: If a record is no JSON.
        MessageError: If it is no message.
    """
    record = json.loads(metadata["record"])
    sent, arrival = record.pop("sent_us"), record.pop("arrival")
    times = [_time(record, f"{name}_us") for name in ("edited", "stored", "changed", "learned")]
    edited_at, stored_at, changed_at, learned_at = times
    message = Message(id=message_id, sent_at=from_microseconds(sent), edited_at=edited_at, **record)
    earlier = json.loads(metadata["earlier"]) if "earlier" in metadata else ()
    return Row(
        message, arrival, metadata["version"], stored_at, changed_at, learned_at,
        tuple(map(_from_record, earlier)),
    )  # fmt: skip


def _to_record(old: Earlier) -> dict[str, Any]:
    record = {"text": old.text, **_times(edited_us=old.edited_at, learned_us=old.learned_at)}
    return {**record, "vector": b64encode(old.vector).decode()} if old.vector else record


def _from_record(record: dict[str, Any]) -> Earlier:
    edited_at, learned_at = _time(record, "edited_us"), _time(record, "learned_us")
    return Earlier(record["text"], edited_at, learned_at, b64decode(record.get("vector", "")))


def _times(**named: datetime | None) -> dict[str, int]:
    return {name: to_microseconds(time) for name, time in named.items() if time is not None}


def _time(record: dict[str, Any], name: str) -> datetime | None:
    microseconds = record.pop(name, None)
    return None if microseconds is None else from_microseconds(microseconds)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
