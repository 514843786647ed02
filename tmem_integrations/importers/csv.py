"""CSV: one message per row under a header with our field names or mapped ones.

id,text,timestamp,author
m1,Let's ship on Friday,2026-03-02T09:00:00+01:00,Ann
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.columns import (
    FIELDS,
    TIMES,
    check_columns,
    map_columns,
    read_record,
)
from tmem_integrations.importers.frame import (
    Columns,
    Entry,
    Importer,
    ImportOptions,
    Skip,
    first_lines,
    messages_of,
    read_lines,
)
from tmem_integrations.importers.ids import IdMaker
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message
from tmem_integrations.times import zone_of

_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_NUMERIC = ("phase_order", "phase_progress")
# The standard library stops at 128 KiB per field, and chat has longer pastes.
_LONGEST_FIELD = 64 * 1024 * 1024


def read_csv(
    path: str | Path,
    *,
    timezone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    make_ids: bool = False,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read a CSV file with a header, row by row.

    Args:
        path: The file, UTF-8; cells are separated by comma, semicolon, tab or bar, whichever the header
            has most of. An empty cell is unknown.
        timezone: Zone of times that carry none.
        columns: Our field name to the file's column, such as `{"text": "body"}`.
        make_ids: Make ids for those without one: see `ImportOptions`.
        skip_bad: Count rows that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad row, with file, line, what was expected and found.
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

    def parse(row: dict[str, Any]) -> Message | Skip:
        known = {key: value for key, value in row.items() if value != ""}
        if not known:
            return Skip("blank line")
        record = _numbers(map_columns(known, options.columns))
        return read_record(record, source=known, zone=zone, make_id=make_id)

    yield from messages_of(
        _rows(path, options.columns, report),
        parse,
        path=path,
        report=report,
        skip_bad=options.skip_bad,
    )


def _rows(path: Path, columns: Columns, report: ImportReport) -> Iterator[Entry[dict[str, Any]]]:
    if csv.field_size_limit() < _LONGEST_FIELD:
        csv.field_size_limit(_LONGEST_FIELD)
    # A quoted cell may go over lines, so their ends, which `read_lines` takes off, are put back.
    lines = (f"{entry.content}\n" for entry in read_lines(path, report))
    header: list[str] | None = None
    first = next(lines, "")
    rows = csv.reader(_chain(first, lines), delimiter=_delimiter(first), strict=True)
    line = 1
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise ImportFormatError(
                f"{path}, line {rows.line_num}: expected CSV: {error}."
            ) from error
        if row is None:
            return
        if header is None:
            header = [name.strip() for name in row]
            if len(set(header)) < len(header):
                raise ImportFormatError(f"{path}: expected a name for each column, found {header}.")
            for field, key in columns:
                if key not in header:
                    raise ImportFormatError(
                        f"{path}: expected the column {key!r} for {field}, found {header}."
                    )
        else:
            # Cells beyond the header belong to no field; a short row leaves fields unknown.
            yield Entry(f"line {line}", dict(zip(header, row, strict=False)))
        line = rows.line_num + 1


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _numbers(record: dict[str, Any]) -> dict[str, Any]:
    """Cells are texts; times in seconds and numeric fields are read as numbers."""
    for name in ("timestamp", "sent_at", "edited_at", *_NUMERIC):
        value = record.get(name)
        # What Python strips is more than what it reads around a number.
        if isinstance(value, str) and _NUMBER.fullmatch(bare := value.strip()):
            record[name] = float(bare)
    return record


def _recognises(path: Path, columns: Columns = ()) -> bool:
    lines = first_lines(path, 1)
    if not lines:
        return False
    try:
        (header,) = csv.reader(io.StringIO(lines[0]), delimiter=_delimiter(lines[0]))
    except (csv.Error, ValueError):
        return False
    keys = {name.strip() for name in header}
    names = (FIELDS & keys) | {field for field, key in columns if key in keys}
    # Without an id it is one, too: that ids may be made is told when it is read.
    return "text" in names and bool(TIMES & names)


IMPORTER = Importer(
    name="csv",
    describes="CSV with a header that names id, text, timestamp, …",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone", "columns", "make_ids"}),
    recognises_mapped=_recognises,
)
