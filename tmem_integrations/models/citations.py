"""Citations: the numbers in brackets by which an answer names the messages it rests on."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BRACKET = re.compile(r"[\[【]([\d\s,;–-]{1,200})[\]】]")
_RANGE = re.compile(r"(\d{1,4})(?:\s*[–-]\s*(\d{1,4}))?")


@dataclass(frozen=True, slots=True)
class Citations:
    """What an answer cites.

    Attributes:
        numbers: Numbers of shown messages, in the order first cited.
        unknown: Numbers that were cited and are no message's.
    """

    numbers: tuple[int, ...]
    unknown: tuple[int, ...] = ()


def read_citations(text: str, n_messages: int) -> Citations:
    """Read the citations of an answer.

    Args:
        text: The answer; [7], [7, 9], [7][9] and [7-9] are citations.
        n_messages: How many messages were shown: they are numbered from 1.

    Examples:
        >>> read_citations("Tuesday [7], as Ann said [2–4] and [99].", 8)
        Citations(numbers=(7, 2, 3, 4), unknown=(99,))
    """
    known: dict[int, None] = {}
    unknown: dict[int, None] = {}
    for bracket in _BRACKET.finditer(text):
        for first, last in _RANGE.findall(bracket[1]):
            start, end = int(first), int(last or first)
            # A range that leaves what is shown names its ends only: it may be a date or a typing error.
            inside = 1 <= start <= end <= n_messages
            for number in range(start, end + 1) if inside else {start: None, end: None}:
                (known if 1 <= number <= n_messages else unknown)[number] = None
    return Citations(tuple(known), tuple(unknown))
