"""Values: dates, times, amounts, codes and counts, the parts of a message that a change changes.

Every repetition in the patterns is bounded, so that hostile text costs no more than any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

MONTH: Final = (
    r"(?:jan(?:uary|uar|vier)?|ener?o|feb(?:ruary|ruar|rero)?|f[ée]vrier|mar(?:ch|zo|s)?|märz"
    r"|apr(?:il)?|abril|avril|may|mayo|mai|june?|juni|junio|juin|july?|juli|julio|juillet"
    r"|aug(?:ust)?|agosto|ao[ûu]t|sept?(?:ember|iembre|embre)?|oct(?:ober|ubre|obre)?|okt(?:ober)?"
    r"|nov(?:ember|iembre|embre)?|dec(?:ember)?|dez(?:ember)?|dic(?:iembre)?|d[ée]c(?:embre)?)"
)
"""Names of months over lower-cased text, in English, German, Spanish and French."""

_YEAR: Final = r"(?:,? \d{4}\b)?"
_DATE: Final = (
    rf"\b{MONTH}\.? \d{{1,2}}\b{_YEAR}|\b\d{{1,2}}(?:\.|er|st|nd|rd|th)? (?:de )?{MONTH}\b{_YEAR}"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}([./])\d{1,2}\1\d{4}\b|\d{1,2}月\d{1,2}[日号]"
)
_CODE: Final = (
    # Letters and digits: bridge-28, rw_stg_3M8V.
    r"(?<![\w/])(?=[\w.*/-]{0,60}\d)(?=[\w.*/-]{0,60}[a-z])[\w*][\w.*/-]{0,60}\w"
    r"|\b[a-z]{1,60}[_/][\w./-]{1,60}"  # Paths and names with underscores.
    r"|\b\d{1,9}(?:\.\d{1,9}){1,9}[\w-]{0,60}"  # Versions.
)
_COUNT_WORDS: Final = "two|three|four|five|six|seven|eight|nine|ten|twelve|dozen"
_WEEKDAY: Final = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:today|tomorrow|tonight)\b"
    r"|\b(?:mon|diens|donners|frei|sams|sonn)tag\b|\bmittwoch\b|\b(?:heute|morgen)\b"
    r"|\b(?:lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo|hoy|mañana)\b"
    r"|\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain)\b"
    r"|星期.|周[一二三四五六日]|今天|明天"
)

# In order: what an earlier kind has taken is not read again by a later one.
_PATTERNS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "date": re.compile(_DATE),
        "time": re.compile(
            r"\b\d{1,2}:\d\d(?: ?[ap]m)?\b|\b\d{1,2} ?(?:[ap]m|uhr|h|h\d\d)\b|\d{1,2}[点时]"
        ),
        "money": re.compile(
            r"[$€£¥] ?\d[\d,.]{0,20}[km]?"
            r"|\b\d[\d,.]{0,20}k? ?(?:(?:usd|eur|dollars?|euros?|gbp)\b|[$€£¥元])"
        ),
        "percent": re.compile(r"(?<!\d)\d{1,9}(?:[.,]\d{1,9})? ?(?:%|percent\b|prozent\b)"),
        "code": re.compile(_CODE),
        "number": re.compile(rf"(?<![\w.])\d[\d,]{{0,20}}(?!\w)|\b(?:{_COUNT_WORDS})\b"),
        "day": re.compile(_WEEKDAY),
    }
)
_DIGIT: Final = re.compile(r"\d")
_WITHOUT_DIGIT: Final = frozenset({"number", "day"})
_NOISE: Final = re.compile(r"(?<=\d),? \d{4}$|[\s,*]|[.,]$")


def find_values(lowered: str) -> tuple[frozenset[tuple[str, str]], tuple[int, ...]]:
    """Find the values of a lower-cased text.

    Returns:
        Pairs (kind, normalised text; a date without its year), and the offset of each occurrence.

    Examples:
        >>> sorted(find_values("moves from june 23 to july 1, 2026")[0])
        [('date', 'july1'), ('date', 'june23')]
    """
    found: list[tuple[str, str]] = []
    starts: list[int] = []
    # Most messages hold no digit, and then most patterns need not be tried.
    has_digit = _DIGIT.search(lowered) is not None
    has_path = "_" in lowered or "/" in lowered
    for kind, pattern in _PATTERNS.items():
        if not (has_digit or kind in _WITHOUT_DIGIT or (has_path and kind == "code")):
            continue
        matches = list(pattern.finditer(lowered))
        for match in matches:
            found.append((kind, _NOISE.sub("", match.group())))
            starts.append(match.start())
        if matches:
            lowered = pattern.sub(lambda taken: " " * len(taken.group()), lowered)
    return frozenset(found), tuple(starts)
