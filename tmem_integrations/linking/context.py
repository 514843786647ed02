"""Context: what the messages around tell about words, names and authors."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final

from tmem_integrations.linking.cues import CUE_WORDS, STOP_WORDS
from tmem_integrations.linking.utterance import Utterance
from tmem_integrations.linking.values import MONTH

# Scripts without spaces between words, and Hangul, whose particles cling to the word.
_RUN: Final = "[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]"
_TOKEN: Final = re.compile(rf"{_RUN}+|[^\W_](?:[\w'’+-]*[^\W_])?")
# The same for texts that hold nothing else.
_ASCII_TOKEN: Final = re.compile(r"[^\W_](?:[\w'+-]*[^\W_])?", re.ASCII)
_RUN_TOKEN: Final = re.compile(rf"{_RUN}{{2,}}")
_SPACE_BEFORE_CLITIC: Final = re.compile(r" (['’]\w+\b)")
_CLITIC: Final = re.compile(r"['’]\w+$")
_GOES_ON: Final = re.compile(r"[\w,;] ")
_INSIDE_SENTENCE: Final = re.compile(r"(?<=[\w,;] )[^\W\d_][\w'’-]*")
# Begins with no small ASCII letter, which passes over most of a text at once.
_CAPITAL: Final = re.compile(r"[^\Wa-z\d_][\w'’-]*")
_NOT_NAMES: Final = re.compile(rf"^(?:{MONTH}|\w+day|am|pm|i|i'\w+|ok|usd|eur|no|yes)$")
_ENDINGS: Final = ("'s", "’s", "ing", "ed", "es", "s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the surrounding messages tell about the words of some of them.

    Attributes:
        n_messages: Messages counted.
        document_frequency: Term to the number of messages that hold it.
        authors: Lower-cased display name to the identity of its one bearer.
        first_names: The same for first names that only one author has.
        names: Lower-cased words that are mostly written with a capital inside sentences.
    """

    n_messages: int = 1
    document_frequency: Mapping[str, int] = field(default_factory=dict)
    authors: Mapping[str, str] = field(default_factory=dict)
    first_names: Mapping[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()

    def idf(self, term: str) -> float:
        """Rarity, ln((N + 1) / (df + 1)) + 1 (TEF Eq. 6)."""
        return math.log((self.n_messages + 1) / (self.document_frequency.get(term, 0) + 1)) + 1

    def bearer(self, name: str) -> str | None:
        """Identity of the author whom a name stands for, if it stands for one."""
        name = name.lower()
        return self.authors.get(name) or self.first_names.get(name)


def build_context(utterances: Collection[Utterance]) -> Context:
    """Count the words, names and authors of a stretch of conversation.

    Args:
        utterances: Of one partition, in any order.
    """
    texts = [utterance.text for utterance in utterances]
    stems = ({_content_stem(word) for word in split_words(text.lower())} for text in texts)
    frequency = Counter(chain.from_iterable(stems))
    frequency.pop("", None)
    authors, first_names = _authors(utterances)
    return Context(
        n_messages=max(len(utterances), 1),
        document_frequency=frequency,
        authors=authors,
        first_names=first_names,
        # All at once: no word goes on behind the end of a line, and the first one opens a sentence.
        names=_names("\n".join(texts)),
    )


def _authors(utterances: Iterable[Utterance]) -> tuple[dict[str, str], dict[str, str]]:
    """Identity by full and by first name, where the name has one bearer."""
    full: dict[str, set[str]] = defaultdict(set)
    first: dict[str, set[str]] = defaultdict(set)
    for author, speaker in {(u.author, u.speaker) for u in utterances}:
        words = (author or "").lower().split()
        if not words or speaker is None:
            continue
        full[" ".join(words)].add(speaker)
        if len(words) > 1:
            first[words[0]].add(speaker)
    return (
        {name: min(bearers) for name, bearers in full.items() if len(bearers) == 1},
        {n: min(bearers) for n, bearers in first.items() if len(bearers) == 1 and n not in full},
    )


def _names(text: str) -> frozenset[str]:
    """Words written with a capital at least twice inside sentences, and twice as often as without."""
    capital = Counter(
        bare(match.group().lower())
        for match in _CAPITAL.finditer(text)
        if match.group()[0].isupper()
        and _GOES_ON.fullmatch(text, max(0, match.start() - 2), match.start())
    )
    found = {
        word: n
        for word, n in capital.items()
        if n >= 2 and word not in STOP_WORDS and not _NOT_NAMES.match(word)
    }
    if not found:
        return frozenset()
    small = Counter(
        bare(word.lower()) for word in _INSIDE_SENTENCE.findall(text) if not word[0].isupper()
    )
    return frozenset(word for word, n in found.items() if n >= 2 * small[word])


def normalize(text: str) -> str:
    """Text with clitics joined to their word, as transcripts part them ("let 's").

    Examples:
        >>> normalize("let 's go")
        "let's go"
    """
    return _SPACE_BEFORE_CLITIC.sub(r"\1", text)


def split_words(text: str) -> list[str]:
    """Words in order; runs of scripts without spaces become overlapping pairs of characters.

    Examples:
        >>> split_words("move to v2, 改到周五")
        ['move', 'to', 'v2', '改到', '到周', '周五']
    """
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    words: list[str] = []
    for word in _TOKEN.findall(text):
        if _RUN_TOKEN.fullmatch(word):
            words += [word[i : i + 2] for i in range(len(word) - 1)]
        else:
            words.append(word)
    return words


def content_stems(words: Iterable[str]) -> frozenset[str]:
    """Stems of the lower-cased words that carry content: no function words, no cue words.

    Examples:
        >>> sorted(content_stems(["the", "budgets", "changed", "badges"]))
        ['badg', 'budget']
    """
    return frozenset(map(_content_stem, words)) - {""}


def bare(word: str) -> str:
    """Word without its clitic.

    Examples:
        >>> bare("maple's")
        'maple'
    """
    return _CLITIC.sub("", word) if "'" in word or "’" in word else word


@lru_cache(maxsize=1 << 16)
def _content_stem(word: str) -> str:
    """A word with plural, past and -ing forms folded together, "" where it is no content; crude, errors
    only cost a little overlap.
    """
    if word in STOP_WORDS or word in CUE_WORDS or (len(word) == 1 and word.isascii()):
        return ""
    if word.endswith(_ENDINGS) and not word.endswith("ss"):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
                break
    return word[:-1] if len(word) > 4 and word.endswith("e") else word
