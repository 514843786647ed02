"""JSON exports: whole documents, recognised by their beginning and read into checked records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import found
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import clean_text

_HEAD_BYTES = 64 * 1024
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


class Record(BaseModel):
    """A record of an export: what we read of it; keys we do not know are passed over."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, coerce_numbers_to_str=True, allow_inf_nan=False
    )


class CamelRecord(Record):
    """A record whose keys are written likeThis."""

    model_config = ConfigDict(alias_generator=to_camel)


R = TypeVar("R", bound=Record)


def read_head(path: Path) -> str:
    """The beginning of a file that may be JSON; empty when it cannot be read or is no UTF-8."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    # The cut may fall within a character.
    text = head.decode("utf-8-sig", errors="ignore")
    return text if text.lstrip()[:1] in ("{", "[") else ""


def load_document(path: Path, report: ImportReport) -> Any:
    """Read a file that is one JSON document.

    Raises:
        ImportFormatError: If it cannot be opened or is no JSON.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ImportFormatError(f"{path}: expected a file, {error.strerror}.") from error
    report.bytes_read += len(data)
    return parse_document(data, str(path))


def parse_document(data: bytes, where: str) -> Any:
    """Read one JSON document; lone surrogates become U+FFFD.

    Raises:
        ImportFormatError: If it is no JSON in UTF-8.
    """
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ImportFormatError(f"{where}: expected a JSON document, found: {error}.") from error
    return _clean(value) if _SURROGATE_ESCAPE.search(data) else value


def read_record(kind: type[R], value: object) -> R:
    """Check one record of an export.

    Raises:
        ImportFormatError: Naming the first key that is missing or not of its kind.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "a record"
        raise ImportFormatError(
            f"expected {key}: {first['msg'].lower()}, found {found(repr(first['input']))}."
        ) from error


def read_list(value: object, key: str, where: str) -> list[Any]:
    """The list at `key` of an object, which the format needs.

    Raises:
        ImportFormatError: If it is not there.
    """
    items = value.get(key) if isinstance(value, dict) else None
    if not isinstance(items, list):
        raise ImportFormatError(f"{where}: expected a list {key!r}, found {found(repr(items))}.")
    return items


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    return value
