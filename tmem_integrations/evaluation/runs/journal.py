"""One stage's records, appended line by line, so that a crash loses one line at most."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError

Record = Mapping[str, Any]


class Journal:
    """A JSONL file that only grows. Of several records of a key the last one holds.

    Args:
        path: The file; made when first written to.

    Raises:
        ImportFormatError: If a line other than an unfinished last one is no record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last: dict[str, Record] = {}
        self.n_lines = 0
        self._read()

    def append(self, records: Iterable[Record]) -> None:
        """Write records, each with a "key" and a "status" of "ok" or "failed", and see them on disk."""
        lines = [(record, json.dumps(record, ensure_ascii=False)) for record in records]
        with self.path.open("a", encoding="utf-8") as file:
            for record, line in lines:
                file.write(line + "\n")
                self._last[str(record["key"])] = record
                self.n_lines += 1
            file.flush()
            os.fsync(file.fileno())

    @property
    def finished(self) -> dict[str, Record]:
        """By key, in the order of first mention, what ended well."""
        return {key: record for key, record in self._last.items() if record["status"] == "ok"}

    @property
    def failed(self) -> dict[str, Record]:
        """By key, what failed and was not done since."""
        return {key: record for key, record in self._last.items() if record["status"] != "ok"}

    def _read(self) -> None:
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            # A crash while writing left part of a line: its key is simply not done yet.
            with self.path.open("r+b") as file:
                file.truncate(whole)
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            record = _record(line, f"{self.path}, line {number}")
            self._last[record["key"]] = record
            self.n_lines += 1


def _record(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ImportFormatError(f"{where}: expected a record, found: {error}.") from error
    if not (
        isinstance(record, dict)
        and isinstance(record.get("key"), str)
        and record.get("status") in ("ok", "failed")
    ):
        raise ImportFormatError(
            f'{where}: expected a record with key and status "ok" or "failed", '
            f"found {line[:80].decode(errors='replace')!r}."
        )
    return record
