"""JSON lines: one message per line, with our keys or mapped ones.

{"id": "m1", "text": "Let's ship on Friday", "timestamp": "2026-03-02T09:00:00+01:00", "author": "Ann"}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import tzinfo
from pathlib import Path
from typing import Any, NoReturn

from tmem_integrations.errors import ImportFormatError, MessageError
from tmem_integrations.importers.frame import (
    Entry,
    Importer,
    ImportOptions,
    Skip,
    first_lines,
    found,
    messages_of,
    read_lines,
)
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message, zone_of

_N_SNIFFED = 5
_REQUIRED = (("id",), ("text",), ("timestamp", "sent_at"))
_FIELDS = frozenset({*(field.name for field in fields(Message)), "timestamp"})
_MISSING = object()


def read_jsonl(
    path: str | Path,
    *,
    timezone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read a JSONL file, line by line.

    Args:
        path: The file, UTF-8.
        timezone: Zone of times that carry none.
        columns: Our field name to the file's key, such as `{"text": "body", "author": "user.name"}`;
            a dot goes into an object. Fields that are not named keep their own key; with a map, keys
            that are neither are left out without a word.
        skip_bad: Count lines that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad line, with file, line, what was expected and found.
    """
    options = ImportOptions(
        timezone=timezone, columns=tuple((columns or {}).items()), skip_bad=skip_bad
    )
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    zone = zone_of(options.timezone)
    _check_columns(options.columns)

    def parse(line: str) -> Message | Skip:
        if not line.strip():
            return Skip("blank line")
        record = _map_columns(_load_object(line), options.columns)
        _check_required(record)
        return Message.from_dict(record, timezone=zone)

    lines: Iterator[Entry[str]] = read_lines(path, report, skip_bad=options.skip_bad)
    return messages_of(lines, parse, path=path, report=report, skip_bad=options.skip_bad)


def _load_object(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ImportFormatError(_no_object(line)) from error
    if not isinstance(record, dict):
        raise ImportFormatError(_no_object(line))
    return record


def _no_object(line: str) -> str:
    is_array = line.lstrip().startswith("[")
    hint = ' A JSON array is not JSONL: "jq -c .[]" makes it so.' if is_array else ""
    return f"expected one JSON object, found {found(line)}.{hint}"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _check_columns(columns: tuple[tuple[str, str], ...]) -> None:
    for field, _ in columns:
        if field not in _FIELDS:
            raise ImportFormatError(
                f"columns must name fields of a message ({', '.join(sorted(_FIELDS))}), got {field!r}."
            )


def _map_columns(record: dict[str, Any], columns: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The record under our names. Who maps columns knows the rest, so only our names stay of it."""
    if not columns:
        return record
    mapped = {field: record[field] for field in _FIELDS & record.keys()}
    for field, key in columns:
        value = _look_up(record, key)
        mapped[field] = None if value is _MISSING else value
    return mapped


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


def _check_required(record: Mapping[str, Any]) -> None:
    for names in _REQUIRED:
        if all(record.get(name) is None for name in names):
            raise MessageError(
                f"expected {names[0]!r}, found the keys {sorted(record)}; "
                f'map another one with columns={{"{names[0]}": "…"}} or --column {names[0]}=….'
            )


def _recognises(path: Path) -> bool:
    """At least half of the first lines are objects: a bad line is to be told, not to hide the format."""
    lines = first_lines(path, _N_SNIFFED)
    return bool(lines) and 2 * sum(map(_is_object, lines)) >= len(lines)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


IMPORTER = Importer(
    name="jsonl",
    describes="JSON lines with id, text, timestamp and, where known, author, channel, reply_to, …",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone", "columns"}),
)
