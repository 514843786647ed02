"""Reading JSON and JSON lines so that an error names file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError


def read_json(path: Path) -> Any:
    """The value in a JSON file.

    Raises:
        ImportFormatError: If there is no such file or it holds no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ImportFormatError(f"{path}: expected a file, {error.strerror}.") from error
    except ValueError as error:
        raise ImportFormatError(f"{path}: expected JSON, found: {error}.") from error


def read_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with its place ("file, line 3"); blank lines are passed over.

    Raises:
        ImportFormatError: If there is no such file, or at the first line that is no JSON object.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    where = f"{path}, line {number}"
                    yield where, _read_object(line, where)
    except OSError as error:
        raise ImportFormatError(f"{path}: expected a file, {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ImportFormatError(f"{path}: expected UTF-8, found: {error}.") from error


def _read_object(line: str, where: str) -> dict[str, Any]:
    """One JSON object.

    Raises:
        ImportFormatError: If it is none.
    """
    try:
        value = json.loads(line)
    except ValueError as error:
        raise ImportFormatError(f"{where}: expected a JSON object, found: {error}.") from error
    if not isinstance(value, dict):
        raise ImportFormatError(f"{where}: expected a JSON object, found {line.strip()[:80]!r}.")
    return value


def text_of(record: Mapping[str, Any], key: str, where: str) -> str:
    """A required text.

    Raises:
        ImportFormatError: If it is missing or no text.
    """
    value = record.get(key)
    if not isinstance(value, str):
        raise ImportFormatError(f"{where}: expected {key!r} as text, found {value!r:.80}.")
    return value


def optional_text(record: Mapping[str, Any], key: str, where: str) -> str | None:
    """A text, or None where the key is absent.

    Raises:
        ImportFormatError: If it is there and no text.
    """
    return None if record.get(key) is None else text_of(record, key, where)


def texts_of(record: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """Several texts; none where the key is absent.

    Raises:
        ImportFormatError: If it is there and no list of texts.
    """
    values = record.get(key)
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ImportFormatError(
            f"{where}: expected {key!r} as list of texts, found {values!r:.80}."
        )
    return tuple(values)
