"""Words and statements picked from a text by rule: what stands in where no model writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tmem_integrations.stages.spans import split_spans
from tmem_integrations.text import split_terms, without_function_words

_WORD = re.compile(r"[^\W_][\w'’-]*")
_QUESTION = re.compile(r"[?？؟]\W*$")
_SELF = re.compile(
    r"\b(?:I|I['’]m|I['’]ve|my|ich|mein\w*|yo|mi|mis|je|j['’]|mon|ma|mes)\b|我|私|나는",
    re.IGNORECASE,
)
_MIN_TERMS = 4


def keywords(texts: Iterable[str], n: int) -> tuple[str, ...]:
    """The `n` content words said most often, longer ones first among equals.

    Examples:
        >>> keywords(["The server crashed on Sunday.", "Which server is it?"], 2)
        ('server', 'crashed')
    """
    counts: Counter[str] = Counter()
    for text in texts:
        words = _WORD.findall(without_function_words(text).casefold())
        counts.update(word for word in words if len(word) > 2 or not word.isascii())
    return tuple(sorted(counts, key=lambda word: (-counts[word], -len(word), word))[:n])


def statements(text: str) -> tuple[str, ...]:
    """The sentences of a text that state something: no questions, no mere greetings.

    Examples:
        >>> statements("Hey! Ready? The deploy moved to Friday because of the audit.")
        ('The deploy moved to Friday because of the audit.',)
    """
    spans = (" ".join(span.split()) for span in split_spans(text))
    return tuple(span for span in spans if not _QUESTION.search(span) and _has_content(span))


def speaks_of_self(sentence: str) -> bool:
    """Whether whoever says it speaks of themselves, in a few languages.

    Examples:
        >>> speaks_of_self("My sister lives in Graz."), speaks_of_self("The vendor called.")
        (True, False)
    """
    return _SELF.search(sentence) is not None


def _has_content(sentence: str) -> bool:
    return len(set(split_terms(without_function_words(sentence)))) >= _MIN_TERMS
