"""The JSON records in a model's text, however the text dresses them up.

Models put prose, fences and thinking around JSON, leave commas too many, use Python's literals, stop in
the middle, or repeat the schema. What is valid is read strictly; `json_repair` mends single records
only, so that a broken one can never take the others along.
"""

from __future__ import annotations

import bisect
import itertools
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import json_repair

# Replies are bounded by a token limit; what is longer is a loop, and mending it takes quadratic time.
_MAX_CHARS = 200_000
_MAX_BROKEN_CHARS = 1_500
_MAX_STARTS = 2_000
_MAX_TOO_DEEP = 3
_MAX_HEADINGS = 8

_END_OF_THINKING = re.compile(r"</\s*(?:think|thinking|thought|reasoning)\s*>", re.IGNORECASE)
_CODE_FENCE = re.compile(r"^```\w*\s*|\s*```$")
_START = re.compile(r"""\{(?=\s*["}])|\[(?=\s*[\[{"\]])""")
_QUOTE = r"""["'“”‘’`]?"""


class _Absent:
    """No record can be told apart in a value."""


_ABSENT = _Absent()


def find_records(
    text: str, *, containers: Collection[str], keys: Collection[str]
) -> tuple[object, ...] | None:
    """The records of the answer in a text; the last answer counts, as drafts come before it.

    Args:
        text: What the model wrote.
        containers: Lower-case names under which the list of records may stand, such as "selected".
        keys: Lower-case names with which a record may begin, such as "id".

    Returns:
        The records as JSON values, nothing checked; empty when the answer is an empty list; None when
        there is no answer.

    Examples:
        >>> find_records('So {that}: {"selected": [{"id": "c1"}]}', containers=["selected"], keys=["id"])
        ({'id': 'c1'},)
        >>> find_records('{"selected": []}', containers=["selected"], keys=["id"])
        ()
        >>> find_records("I cannot.", containers=["selected"], keys=["id"]) is None
        True
    """
    for part in _answers(text[:_MAX_CHARS]):
        for read in (_read_whole, _read_embedded, _read_broken):
            records = read(part, containers, keys)
            if records is not None:
                return tuple(records)
    return None


def find_value(text: str) -> object:
    """The JSON value that makes up the text, bare or fenced; None when there is none.

    Examples:
        >>> find_value('```json\\n{"answer": true}\\n```')
        {'answer': True}
    """
    for part in _answers(text[:_MAX_CHARS]):
        try:
            return json.loads(_CODE_FENCE.sub("", part.strip()))
        except (ValueError, RecursionError):
            continue
    return None


def without_thinking(text: str) -> str:
    """What follows the last closed block of thinking; all of the text when there is none.

    Examples:
        >>> without_thinking("<think>no?</think> yes")
        ' yes'
    """
    ends = list(_END_OF_THINKING.finditer(text))
    return text[ends[-1].end() :] if ends else text


def _answers(text: str) -> Iterator[str]:
    """Where the answer may stand, best first. A quoted "</think>" inside the answer costs nothing."""
    rest = without_thinking(text)
    if rest != text:
        if text.lstrip().startswith(("{", "[", "`")):
            yield text
        yield rest
    yield text


def _read_whole(text: str, containers: Collection[str], keys: Collection[str]) -> list[Any] | None:
    """The whole text is one JSON value: a list, an object around the list, or label → verdict."""
    try:
        value = json.loads(_CODE_FENCE.sub("", text.strip()))
        if isinstance(value, str):
            value = json.loads(value)
    except (ValueError, RecursionError):
        return None
    records = _records_in(value, containers)
    if not isinstance(records, _Absent):
        return records
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value or _is_schema(value):
        return None
    if any(_plain(key) in keys for key in value):
        return [value]
    return [{key: item} for key, item in value.items()]


def _read_embedded(
    text: str, containers: Collection[str], keys: Collection[str]
) -> list[Any] | None:
    """The last valid JSON value in the text that holds a list of records."""
    decoder = json.JSONDecoder()
    found: list[Any] | None = None
    lists: list[Any] | None = None
    end = n_too_deep = 0
    for _, start in zip(range(_MAX_STARTS), _START.finditer(text), strict=False):
        if start.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.start())
        except ValueError:
            continue
        except RecursionError:
            # A model that repeats "[" to its end: each start would go as deep again.
            n_too_deep += 1
            if n_too_deep == _MAX_TOO_DEEP:
                break
            continue
        records = _records_in(value, containers)
        if not isinstance(records, _Absent):
            found = records
        elif isinstance(value, list) and any(_begins_record(item, keys) for item in value):
            lists = value
    return lists if found is None else found


def _read_broken(text: str, containers: Collection[str], keys: Collection[str]) -> list[Any] | None:
    """Records one by one, each mended where needed; of a record that breaks off nothing is kept."""
    names = "|".join(map(re.escape, containers))
    heading = rf"{_QUOTE}\b(?:{names}){_QUOTE}\s*[:=]\s*[\[{{]"
    headings = list(re.finditer(heading, text, re.IGNORECASE))
    for found in reversed(headings[-_MAX_HEADINGS:]):
        rest = text[found.start() :]
        records = _split_records(rest, keys)
        if records:
            return records
        list_alone = _records_in(_mend("{" + rest), containers)
        if not isinstance(list_alone, _Absent):
            return list_alone
    return _split_records(text, keys) or None


def _split_records(text: str, keys: Collection[str]) -> list[Any]:
    """One value for each place where a record begins; None where it cannot be read."""
    first = "|".join(map(re.escape, keys))
    begin = rf"\{{\s*{_QUOTE}(?:{first}){_QUOTE}\s*[:=]"
    starts = [match.start() for match in re.finditer(begin, text, re.IGNORECASE)]
    # A record before another one is over, its brace was only forgotten; the last may break off.
    pieces = [text[a:b] + "}" for a, b in itertools.pairwise(starts)]
    pieces += [text[a:] for a in starts[-1:]]
    return [_read_record(piece) for piece in pieces]


def _read_record(piece: str) -> object:
    """The record at the beginning of a piece; None when it is not closed or cannot be mended."""
    try:
        value: object = json.JSONDecoder().raw_decode(piece)[0]
    except (ValueError, RecursionError):
        value = _mend(piece)
    return value


def _mend(piece: str) -> object:
    """Read broken JSON up to its last closing bracket; None when nothing can be read."""
    try:
        value: object = json_repair.loads(_closed(piece[:_MAX_BROKEN_CHARS]), skip_json_loads=True)
    except (ValueError, RecursionError, IndexError):
        return None
    if isinstance(value, list) and piece.lstrip().startswith("{"):
        value = next((item for item in value if isinstance(item, dict)), None)
    return value


def _closed(text: str) -> str:
    """The text up to its last closing bracket outside of double quotes; empty when it has none."""
    quotes = [match.start() for match in re.finditer(r'(?<!\\)"', text)]
    for match in reversed(list(re.finditer(r"[}\]]", text))):
        if bisect.bisect(quotes, match.start()) % 2 == 0:
            return text[: match.end()]
    return ""


def _records_in(value: object, containers: Collection[str], depth: int = 3) -> list[Any] | _Absent:
    """The list under a container's name, also inside a wrapper such as "properties" or "arguments"."""
    if isinstance(value, list) and len(value) == 1:
        return _records_in(value[0], containers, depth)
    if not isinstance(value, dict):
        return _ABSENT
    for key, item in value.items():
        if _plain(key) not in containers:
            continue
        if item is None or item == "":
            return []
        if isinstance(item, list):
            return item
        if isinstance(item, str) and len(value) == 1:
            return [item]
        if isinstance(item, dict) and not _is_schema(item):
            return [{name: verdict} for name, verdict in item.items()]
    if depth:
        for item in value.values():
            records = (
                _records_in(item, containers, depth - 1) if isinstance(item, dict) else _ABSENT
            )
            if not isinstance(records, _Absent):
                return records
    return _ABSENT


def _begins_record(value: object, keys: Collection[str]) -> bool:
    return isinstance(value, dict) and any(_plain(key) in keys for key in value)


def _is_schema(value: dict[str, Any]) -> bool:
    return "type" in value and ("properties" in value or "items" in value)


def _plain(key: object) -> str:
    return str(key).strip().casefold()
