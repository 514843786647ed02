"""Mutate JSON as JSON: random bytes almost never leave it readable, and then nothing behind the parser is tried."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e400, 10**30, 10**400, "", "nan", "1e400", "9" * 400, "0001-01-01T00:00:00", "9999-12-31T23:59:59-12:00",
    "\ud800", "\x00", "a/b", "<p><at>x", "{", [], {}, [[]], [None], {"id": 1}, [{"text": "x"}],
)  # fmt: skip


def mutate_json(data: bytes, seed: int, *, separator: bytes) -> bytes | None:
    """Change one value of one of the documents in an input.

    Args:
        data: A byte of options, then documents between separators.
        seed: Chooses what and how.
        separator: Between the documents.

    Returns:
        Another input; None where the chosen document is no JSON that can be changed.

    Examples:
        >>> mutate_json(b'@{"id": "m1"}', 3, separator=b"\\n") != b'@{"id": "m1"}'
        True
    """
    chance = random.Random(seed)
    parts = data[1:].split(separator)
    at = chance.randrange(len(parts))
    try:
        value = json.loads(parts[at])
        places = list(_places(value))
    except (ValueError, RecursionError):
        return None
    if not places:
        return None
    container, key = chance.choice(places)
    how = chance.randrange(4)
    if how == 0:
        del container[key]
    elif how == 1:
        other, name = chance.choice(places)
        container[key] = json.loads(json.dumps(other[name]))
    else:
        container[key] = chance.choice(VALUES)
    parts[at] = json.dumps(value).encode()
    return data[:1] + separator.join(parts)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    stack = [value]
    while stack:
        item = stack.pop()
        keys = (
            list(item)
            if isinstance(item, dict)
            else range(len(item))
            if isinstance(item, list)
            else ()
        )
        for key in keys:
            yield item, key
            stack.append(item[key])
