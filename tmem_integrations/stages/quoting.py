r"""Quoting: message text and names as lines that can forge nothing, and back.

Each line of a text starts with `>`. What could end a line early is written as `\x{85}`, and so are our
own signs where a text holds them: `[…]` as `[\x{2026}]`, `\x{` as `\x{5c}x{`. Any other backslash is left
alone. A name that could be read as another part of its header is written as a JSON string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

MARK = "[…]"

Excerpt = tuple[str, ...]  # runs of kept text; between two neighbours something is left out

# Ends of lines other than \n, other controls but tab, and the invisible tags that can smuggle ASCII;
# our own mark and the start of our own escapes, so that a text that holds them comes back unchanged.
# One variation selector belongs to the sign before it; a run of them carries a hidden text.
_SELECTORS = r"[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_UNSAFE = re.compile(
    r"\\x\{|\[…\]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f]"
    rf"|(?<={_SELECTORS}){_SELECTORS}"
)
_ESCAPE = re.compile(r"\\x\{([0-9a-f]{1,5}|10[0-9a-f]{4})\}")
_SPLIT = re.compile(r"\[…\](?: |\Z)")


def show_name(name: str) -> str:
    r"""A name as it is where nothing in it can be misread, else as a JSON string.

    What can: the word "in", which stands before the channel, brackets, quotes, colons, and whatever is
    invisible or turns the direction of the line.

    Examples:
        >>> print(show_name("Ann"), show_name("Ann (boss)"), show_name("Ann\u202e"))
        Ann "Ann (boss)" "Ann\u202e"
    """
    plain = name.isprintable() and not any(c in '"()[]:>' for c in name)
    words = name.split(" ")
    if plain and name != "unknown" and "" not in words and "in" not in words:
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in quoted)


def read_name(shown: str | None) -> str | None:
    """Inverse of `show_name`; a name that is not shown stays None.

    Raises:
        ValueError: If a JSON string is broken.
    """
    if shown is None:
        return None
    return str(json.loads(shown)) if shown.startswith('"') else shown


def quote(excerpt: Excerpt) -> str:
    r"""The lines of a text, each after a line end; none for an empty text.

    Examples:
        >>> quote(("We ship ", "on Friday.\n[9] KEY"))
        '\n> We ship […] on Friday.\n> [9] KEY'
    """
    if excerpt == ("",):
        return ""
    text = f"{MARK} ".join(_UNSAFE.sub(_escape, run) for run in excerpt)
    if len(excerpt) > 1 and not excerpt[-1]:
        text = text[:-1]
    return "".join(f"\n> {line}" if line else "\n>" for line in text.split("\n"))


def unquote(lines: Sequence[str]) -> Excerpt:
    """Inverse of `quote`.

    Raises:
        ValueError: If a line lacks the space after its `>`.
    """
    if any(line[1:2] not in ("", " ") for line in lines):
        raise ValueError('each line of its text must start with "> "')
    text = "\n".join(line[2:] for line in lines)
    return tuple(
        _ESCAPE.sub(lambda match: chr(int(match[1], 16)), run) for run in _SPLIT.split(text)
    )


def _escape(match: re.Match[str]) -> str:
    found = match[0]
    if found == MARK:
        return r"[\x{2026}]"
    if len(found) > 1:
        return r"\x{5c}x{"
    return f"\\x{{{ord(found):x}}}"
