"""The way out of a misspelt name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known one, else all of them.

    Examples:
        >>> suggest("forrest", ["bm25", "forest"])
        "did you mean 'forest'?"
        >>> suggest("x", ["bm25", "forest"])
        'known are bm25, forest.'
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}."
