"""JSON lines: one message per line, with our keys or mapped ones.

{"id": "m1", "text": "Let's ship on Friday", "timestamp": "2026-03-02T09:00:00+01:00", "author": "Ann"}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, NoReturn

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.columns import check_columns, has_key, map_columns, read_record
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
from tmem_integrations.importers.ids import IdMaker
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message
from tmem_integrations.times import zone_of

_N_SNIFFED = 5
# An object that holds a list of messages is an export of one of the chat programs.
_EXPORT_LISTS = ("messages", "value", "chats", "conversations")


def read_jsonl(
    path: str | Path,
    *,
    timezone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    make_ids: bool = False,
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
        make_ids: Make ids for those without one: see `ImportOptions`.
        skip_bad: Count lines that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad line, with file, line, what was expected and found.
    """
    options = ImportOptions(
        timezone=timezone,
        columns=tuple((columns or {}).items()),
        make_ids=make_ids,
        skip_bad=skip_bad,
    )
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    zone = zone_of(options.timezone)
    check_columns(options.columns)
    make_id = IdMaker(IMPORTER.name, options.workspace) if options.make_ids else None

    never_found = dict(options.columns)

    def parse(line: str) -> Message | Skip:
        if not line.strip():
            return Skip("blank line")
        source = _load_object(line)
        for field in [one for one, key in never_found.items() if has_key(source, key)]:
            del never_found[field]
        record = map_columns(source, options.columns)
        return read_record(record, source=source, zone=zone, make_id=make_id)

    lines: Iterator[Entry[str]] = read_lines(path, report, skip_bad=options.skip_bad)
    messages = messages_of(lines, parse, path=path, report=report, skip_bad=options.skip_bad)
    return _warn_after(messages, never_found, path, report)


def _warn_after(
    messages: Iterator[Message], never_found: Mapping[str, str], path: Path, report: ImportReport
) -> Iterator[Message]:
    """The messages, then a warning for each mapped key that no line had."""
    yield from messages
    for field, key in never_found.items():
        report.warn(f"no line has the key {key!r} for {field}", str(path))


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


def _recognises(path: Path) -> bool:
    """At least half of the first lines are objects: a bad line is to be told, not to hide the format."""
    lines = first_lines(path, _N_SNIFFED)
    return bool(lines) and 2 * sum(map(_is_object, lines)) >= len(lines)


def _is_object(line: str) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and not any(
        isinstance(record.get(key), list | dict) for key in _EXPORT_LISTS
    )


IMPORTER = Importer(
    name="jsonl",
    describes="JSON lines with id, text, timestamp and, where known, author, channel, reply_to, …",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone", "columns", "make_ids"}),
)
