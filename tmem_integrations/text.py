"""Words: what of a text can be searched, in any language.

Index and question go through the same `split_terms`, so what someone writes is found by what someone
else asks. Scripts without spaces between words become overlapping pairs of characters. Names of things
(`@ann`, `v1.2.3`, `ERR_42`, `src/app.py`) are one term as a whole, so that an exact mention counts most,
and their parts are terms too, so that `ann` finds `@ann`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import regex
import snowballstemmer

from tmem_integrations.errors import ConfigError
from tmem_integrations.messages import Message

# Scripts that put no space between words, and Hangul, whose particles cling to the word.
_RUN_SCRIPTS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆"
_PICTOGRAPH = r"(?:\p{Extended_Pictographic}\p{Emoji_Modifier}?\uFE0F?[\U000E0020-\U000E007F]*)"
_EMOJI = rf"\p{{RI}}\p{{RI}}|[0-9#*]\uFE0F?\u20E3|{_PICTOGRAPH}(?:\u200D{_PICTOGRAPH})*"
_NEUTRAL_LANGUAGE = "english"


def _token_pattern(word: str, run: str, emoji: str) -> str:
    """Alternatives in order of precedence; the group's name says how a match is split."""
    joined = rf"{word}+(?:(?:::|:\\|[._\-/\\:@+&'’]){word}+)*"
    character = rf"(?:{word}|{run})"
    name = rf"{character}+(?:[._-]{character}+)*"
    return (
        rf"(?P<emoji>{emoji})"
        r"|(?P<url>https?://[^\s<>\"|]*[^\s<>\"|.,;:!?)\]}'’…])"
        rf"|(?P<name>[@#]{name})"
        rf"|(?P<joined>{joined}(?:\+\+|\#)(?!{word})|{word}+(?:::|:\\|[._\-/\\:@+&'’]){joined})"
        rf"|(?P<word>{word}+)"
        rf"|(?P<run>{run}+)"
    )


_ASCII_TOKEN = re.compile(_token_pattern("[a-z0-9]", "[a-z0-9]", r"[0-9]\u20E3"))
_TOKEN = regex.compile(
    _token_pattern(
        rf"[[\p{{Alphabetic}}\p{{M}}\p{{N}}]--[{_RUN_SCRIPTS}\uFE0F\u20E3]]",
        rf"[{_RUN_SCRIPTS}]",
        _EMOJI,
    ),
    regex.V1,
)
# A version and what its number has behind it: v1.2.3-rc1, 3.11-slim.
_MARKED_VERSION = re.compile(r"(?P<version>v?[0-9]+(?:\.[0-9]+)+)[-+](?P<mark>[^\W\d_].*)")
_JOINERS = re.compile(r"[._\-/\\:@+&'’#]+")
_PLAIN_JOINERS = frozenset("-'’")
_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_EMOJI_PARTS = regex.compile(r"\p{Extended_Pictographic}")
_GENDER_SIGNS = frozenset("♀♂")
# A word that stands alone: not a part of to-do, @it, a.b or v1.
_FUNCTION_WORD = re.compile(
    r"(?<![\w@#./\\:&+'’-])(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*)(?![\w@#/\\&+'’-]|[.:][\w])\s*"
)
# Invisible in the text and typed by nobody who searches it.
_IGNORABLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u2060\ufeff\ufe0e"))


def index_text(message: Message) -> str:
    """What of a message is searched: its text, channel, phase, topic, author and role (TEF §4.2)."""
    parts = (
        message.text, message.channel, message.phase, message.topic, message.author, message.role,
    )  # fmt: skip
    return "\n".join(part for part in parts if part)


def split_terms(
    text: str, *, language: str | None = None, single_characters: bool = False
) -> list[str]:
    """Split a text into its search terms, in order, repeated as often as they occur.

    Terms are NFKC-normalized and case-folded. With `language=None` nothing is assumed of the text: words
    of ASCII letters only are conflated by the English Snowball stemmer, all others stay as they are.
    The same word always has the same stem, so no exact match is lost in any language.

    Args:
        language: A Snowball algorithm such as "german": all words go through its stemmer, and its stop
            words are left out.
        single_characters: Also give each character of a Chinese, Japanese, Korean or Thai run. An index
            needs them, so that a question of one character finds longer words; a question must not, or
            each word would match all that share a character with it.

    Raises:
        ConfigError: If there is no stemmer for `language`.

    Examples:
        >>> split_terms("The releases of v1.2.3: ask @ann!")
        ['the', 'releas', 'of', 'v1.2.3', '1.2.3', 'ask', '@ann', 'ann']
        >>> split_terms("上线新")
        ['上线', '线新']
    """
    dropped = _stop_words(language) if language is not None else frozenset()
    return _terms(normalize(text), language, dropped, single_characters)


def without_function_words(question: str) -> str:
    """A question without the English words that only make it a question.

    BM25 takes "what did the" for rare words in a small history, since nobody there writes questions. The
    messages keep all their words, so a question of nothing else stays as it is and can be found.

    Examples:
        >>> without_function_words("What did the vendor say about ERR_42?")
        'vendor say ERR_42?'
        >>> without_function_words("who is it")
        'who is it'
    """
    kept = _FUNCTION_WORD.sub(_drop_stop_word, question)
    return kept if split_terms(kept) else question


def content_words(question: str) -> list[str]:
    """The terms of a question that are no English function words; perhaps none.

    Examples:
        >>> content_words("What did they say about it?")
        ['say']
    """
    return split_terms(_FUNCTION_WORD.sub(_drop_stop_word, question))


def _drop_stop_word(match: re.Match[str]) -> str:
    word = match["word"].casefold().replace("’", "'")
    return "" if word in _stop_words("english") else match[0]


def normalize(text: str) -> str:
    """NFKC and case folding, invisible characters removed."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_IGNORABLE)


def _terms(text: str, language: str | None, dropped: frozenset[str], singles: bool) -> list[str]:
    pattern: Any = _ASCII_TOKEN if text.isascii() else _TOKEN
    terms: list[str] = []
    for match in pattern.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "word":
            if token not in dropped:
                terms.append(_stem(token, language))
        elif kind == "joined":
            terms.extend(_split_joined(token, language, dropped))
        elif kind == "run":
            terms.extend(_split_run(token, singles))
        elif kind == "emoji":
            terms.extend(_split_emoji(token))
        else:
            terms.append(token)
            inner = token[1:] if kind == "name" else token.partition("://")[2]
            terms.extend(_terms(inner, language, dropped, singles))
    return terms


def _split_joined(token: str, language: str | None, dropped: frozenset[str]) -> Iterator[str]:
    """The whole where it names something, then its parts."""
    marked = _MARKED_VERSION.fullmatch(token)
    if marked:
        yield token
        yield from _split_joined(marked["version"], language, dropped)
        yield from (_stem(part, language) for part in _JOINERS.split(marked["mark"]) if part)
        return
    parts = _JOINERS.split(token.rstrip("+#"))
    numeric = parts[0].removeprefix("v").isdecimal() and all(p.isdecimal() for p in parts[1:])
    joiners = set(token).intersection("._-/\\:@+&'’#")
    whole = not joiners <= _PLAIN_JOINERS or (
        "-" in joiners and any(character.isdecimal() for character in token)
    )
    if whole:
        yield token
    if numeric:
        # Version, date or time: single digits would match every other number.
        if token.startswith("v"):
            yield token[1:]
        yield from (part for part in parts if len(part) > 1 and part.isdecimal())
        return
    apostrophe = not joiners.isdisjoint("'’")
    for index, part in enumerate(parts):
        clitic = apostrophe and index > 0 and part in _CLITICS
        lone_letter = whole and len(part) == 1 and part.isalpha()
        if not (clitic or lone_letter or part in dropped):
            yield _stem(part, language)


def _split_run(token: str, singles: bool) -> Iterator[str]:
    if len(token) == 1 or singles:
        yield from token
    for index in range(len(token) - 1):
        yield token[index : index + 2]


def _split_emoji(token: str) -> Iterator[str]:
    """The emoji as written but for its presentation selector, then without skin tone and joiners."""
    whole = token.replace("\ufe0f", "")
    yield whole
    parts = [part for part in _EMOJI_PARTS.findall(whole) if part not in _GENDER_SIGNS]
    if parts != [whole]:
        yield from parts


_stemmers: dict[str, Any] = {}
# A Snowball stemmer keeps the word it works on in itself.
_stemmer_lock = threading.Lock()


@lru_cache(maxsize=1 << 16)
def _stem(word: str, language: str | None) -> str:
    if language is None:
        if not (word.isascii() and word.isalpha()):
            return word
        language = _NEUTRAL_LANGUAGE
    with _stemmer_lock:
        stemmer = _stemmers.get(language)
        if stemmer is None:
            stemmer = _stemmers[language] = snowballstemmer.stemmer(language)
        stem: str = stemmer.stemWord(word)
        return stem


@lru_cache(maxsize=32)
def _stop_words(language: str) -> frozenset[str]:
    """Stop words of a language: those that llama-index-core ships (NLTK's lists, by Snowball name);
    empty where it has none.
    """
    if language not in snowballstemmer.algorithms():
        known = ", ".join(sorted(snowballstemmer.algorithms()))
        raise ConfigError(f"language must be one of {known} or None, got {language!r}.")
    spec = find_spec("llama_index")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(root, "core", "_static", "nltk_cache", "corpora", "stopwords", language)
        if path.is_file():
            return frozenset(map(normalize, path.read_text(encoding="utf-8").split()))
    return frozenset()
