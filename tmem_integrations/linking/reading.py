"""Reading: what one message says, read once, so that pairs of messages only compare.

A reading holds no reference to other messages. What depends on the conversation at large (who
writes here, how rare a term is, which words are names) comes from a `Context`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from tmem_integrations.linking.context import (
    Context,
    bare,
    content_stems,
    normalize,
    split_words,
)
from tmem_integrations.linking.cues import OPENERS, QUESTION, STOP_WORDS, find_cues
from tmem_integrations.linking.utterance import Utterance
from tmem_integrations.linking.values import find_values

_HEAD: Final = re.compile(r"\s*(@?)([^\s:,]{1,80})\s*([:,]|\s|$)")
_MENTION: Final = re.compile(r"(?<!\w)@([\w|^`\[\]-]{1,80})|\b([A-Z][a-z]{1,40})\b")
_MOST_ADDRESSED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One message, read.

    Attributes:
        terms: Content stems: no function words, no cue words, no addressee.
        trigrams: Character trigrams of its words: near-copies and corrected typos share them.
        near_values: Content stems within a few words of a value: the slot that the value fills.
        names: Capitalised entities, people included.
        values: Pairs (kind, normalised text).
        addressed: Identities of the authors whom the message turns to.
        cues: Names of the cue classes that occur.
        opens: The first words answer or acknowledge.
        asks: It holds a question.
        n_words: Words.
    """

    terms: frozenset[str]
    trigrams: frozenset[str]
    near_values: frozenset[str]
    names: frozenset[str]
    values: frozenset[tuple[str, str]]
    addressed: frozenset[str]
    cues: frozenset[str]
    opens: bool
    asks: bool
    n_words: int


def read_utterance(utterance: Utterance, context: Context) -> Reading:
    """Read one message."""
    addressed, head = _addressed(utterance.text, context)
    lowered = normalize(utterance.text[head:]).lower()
    values, starts = find_values(lowered)
    words = split_words(lowered)
    padded = f" {' '.join(words)} "
    return Reading(
        terms=content_stems(words),
        trigrams=frozenset(map("".join, zip(padded, padded[1:], padded[2:], strict=False))),
        near_values=content_stems(_near(lowered, starts)),
        names=frozenset(map(bare, words)) & context.names,
        values=values,
        addressed=addressed,
        cues=find_cues(lowered),
        opens=OPENERS.match(lowered) is not None,
        asks=QUESTION.search(lowered) is not None,
        n_words=len(words),
    )


def _near(lowered: str, starts: Iterable[int]) -> Iterable[str]:
    """The four words before each value, and the value with those after it, five in all."""
    return chain.from_iterable(
        (*split_words(lowered[max(0, at - 60) : at])[-4:], *split_words(lowered[at : at + 60])[:5])
        for at in starts
    )


def _addressed(text: str, context: Context) -> tuple[frozenset[str], int]:
    """Authors named at the head ("nick: ..."), after "@", or by first name; length of that head."""
    found: set[str] = set()
    head = 0
    while len(found) < _MOST_ADDRESSED and (match := _HEAD.match(text, head)):
        mark, name, end = match.groups()
        author = context.bearer(name)
        # A nick may be a common word: without a mark, that word is no address.
        if author is None or not (mark or end in (":", ",") or name.lower() not in STOP_WORDS):
            break
        found.add(author)
        head = match.end()
    for mention, word in _MENTION.findall(text[head:]):
        author = context.bearer(mention) if mention else context.first_names.get(word.lower())
        if author is not None:
            found.add(author)
    return frozenset(found), head
