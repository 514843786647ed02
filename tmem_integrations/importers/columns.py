"""Records under other names than ours: a map from our fields to the keys of a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import tzinfo
from typing import Any

from tmem_integrations.errors import ImportFormatError, MessageError
from tmem_integrations.importers.frame import Columns
from tmem_integrations.importers.ids import NO_ID, IdMaker
from tmem_integrations.messages import Message

TIMES = frozenset({"timestamp", "sent_at"})
"""What the time of a message may be called."""
FIELDS = frozenset({*(field.name for field in fields(Message)), "timestamp"})
"""What a column may be mapped to."""
_REQUIRED = (("id",), ("text",), ("timestamp", "sent_at"))
_MISSING = object()


def check_columns(columns: Columns) -> None:
    """Raise `ImportFormatError` unless every mapped field is one of ours."""
    for field, _ in columns:
        if field not in FIELDS:
            raise ImportFormatError(
                f"columns must name fields of a message ({', '.join(sorted(FIELDS))}), got {field!r}."
            )


def map_columns(record: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """The record under our names. Who maps columns knows the rest, so only our names stay of it."""
    if not columns:
        return record
    mapped = {field: record[field] for field in FIELDS & record.keys()}
    for field, key in columns:
        value = _look_up(record, key)
        mapped[field] = None if value is _MISSING else value
    return mapped


def has_key(record: Mapping[str, Any], key: str) -> bool:
    """Whether there is something to map at `key`.

    Examples:
        >>> has_key({"user": {"name": None}}, "user.name"), has_key({"user": "Ann"}, "user.name")
        (True, False)
    """
    return _look_up(record, key) is not _MISSING


def _look_up(record: Mapping[str, Any], key: str) -> object:
    """The value at `key`, or inside objects at "a.b"; a key that has the dot itself goes first."""
    if key in record:
        return record[key]
    value: object = record
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return _MISSING
        value = value[part]
    return value


def read_record(
    record: Mapping[str, Any],
    *,
    source: Mapping[str, Any],
    zone: tzinfo | None,
    make_id: IdMaker | None,
) -> Message:
    """A record under our names as a message.

    Args:
        record: After `map_columns`.
        source: Before it, for errors.
        zone: Of times that carry none.
        make_id: For a record without an id; None where each must have one.

    Raises:
        MessageError: If id, text or timestamp is not there, or a value cannot be read.
    """
    if make_id is None or record.get("id") is not None:
        _check_required(record, source)
        return Message.from_dict(record, timezone=zone)
    named = {**record, "id": NO_ID}
    _check_required(named, source)
    return make_id(Message.from_dict(named, timezone=zone))


def _check_required(record: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Raise unless id, text and timestamp are there; says how to map another key."""
    for names in _REQUIRED:
        if all(record.get(name) is None for name in names):
            made = "; have ids made with make_ids=True or --make-ids" if names == ("id",) else ""
            there = sorted(key for key, value in source.items() if value is not None)
            raise MessageError(
                f"expected {names[0]!r}, found the keys {there}; "
                f'map another one with columns={{"{names[0]}": "…"}} or --column {names[0]}=…{made}.'
            )
