"""A made-up chat of any size, the same for the same seed: what speed is measured on.

Its words are invented, but its statistics are those of work chat: a few busy channels of many, bursts of
talk between a handful of people with long silences, replies, a vocabulary in which half of the words
are rare (Zipf), and in each burst a few rare words that come again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np

from tmem_integrations.messages import Message

N_CHANNELS, N_PEOPLE, N_WORDS = 40, 300, 60_000
_START = datetime(2021, 1, 4, 8, tzinfo=UTC)
# Bursts that go on at the same time, each in a channel of its own.
_AT_ONCE = 8
_BURST, _GAP_SECONDS, _PAUSE_SECONDS = 14, 45.0, 2_400.0
_N_SUBJECTS, _SUBJECT_SHARE, _REPLY_SHARE = 6, 0.25, 0.25
_FUNCTION_WORDS = (
    "the", "to", "a", "and", "of", "i", "it", "is", "in", "that", "you", "we", "for", "on", "not",
    "be", "this", "have", "are", "with", "so", "can", "do", "if", "at", "but", "was", "or", "they",
    "there", "will", "just", "what", "as", "my", "all", "would", "like", "from", "your", "has",
    "our", "one", "when", "should", "them",
)  # fmt: skip
_ONSETS = (
    "b", "br", "ch", "d", "dr", "f", "g", "gr", "h", "j", "k", "kl", "l", "m", "n", "p", "pr", "r",
    "s", "sh", "st", "t", "tr", "v", "w", "z",
)  # fmt: skip
_VOWELS = (
    "a", "e", "i", "o", "u", "ai", "ea", "oo",
)  # fmt: skip


class _Words:
    """Words by rank, the most frequent first, drawn with Zipf's frequencies."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
        made = dict.fromkeys(_FUNCTION_WORDS)
        while len(made) < N_WORDS:
            parts = rng.integers(len(syllables), size=(N_WORDS, 4))
            for row, n_parts in zip(parts.tolist(), rng.integers(2, 5, N_WORDS), strict=True):
                made["".join(syllables[part] for part in row[:n_parts])] = None
        self.ranked = list(made)[:N_WORDS]
        weights = 1.0 / (np.arange(N_WORDS) + 2.7)
        self._cumulative = np.cumsum(weights) / weights.sum()
        self._drawn: Iterator[int] = iter(())

    def draw(self, n_words: int) -> list[str]:
        """Words of a sentence."""
        drawn = list(islice(self._drawn, n_words))
        if len(drawn) < n_words:
            block = np.searchsorted(self._cumulative, self._rng.random(1 << 16))
            self._drawn = iter(block.tolist())
            drawn += islice(self._drawn, n_words - len(drawn))
        return [self.ranked[min(rank, N_WORDS - 1)] for rank in drawn]

    def subjects(self) -> list[str]:
        """Rare words that a burst is about."""
        return [self.ranked[i] for i in self._rng.integers(500, N_WORDS, _N_SUBJECTS)]


def write_history(n_messages: int, *, seed: int = 0) -> Iterator[Message]:
    """A chat in order of time; a longer one of the same seed begins like a shorter one.

    Args:
        n_messages: How many messages.
        seed: Which chat.

    Yields:
        Messages with id, text, time, author, author_id, channel and, a quarter of them, reply_to.
    """
    return islice(_endless(seed), n_messages)


def ask_about(messages: Sequence[Message], n_questions: int, *, seed: int = 0) -> list[str]:
    """Questions in words of messages drawn at random, two of them rare.

    Args:
        messages: Which to ask about.
        n_questions: How many.
        seed: Which questions.
    """
    rng = np.random.default_rng(seed)
    questions = []
    for index in rng.integers(len(messages), size=n_questions).tolist():
        message = messages[index]
        # Of words of one length the order is theirs, since that of a set differs by process.
        words = sorted(set(message.text.rstrip(".?").split()), key=lambda word: (len(word), word))[
            -4:
        ]
        questions.append(f"What did {message.author} say about {' '.join(words)}?")
    return questions


def _endless(seed: int) -> Iterator[Message]:
    rng = np.random.default_rng(seed)
    words = _Words(rng)
    people = [word.capitalize() for word in words.ranked[1_000 : 1_000 + N_PEOPLE]]
    channels = [f"team-{word}" for word in words.ranked[2_000 : 2_000 + N_CHANNELS]]
    # A few channels hold most of the talk.
    busy = 1.0 / np.arange(1, N_CHANNELS + 1) ** 0.7
    clock, number = 0.0, 0
    while True:
        chosen = rng.choice(N_CHANNELS, _AT_ONCE, replace=False, p=busy / busy.sum())
        turns = [turn for channel in chosen for turn in _burst(int(channel), rng, words, people)]
        ids: dict[tuple[int, int], str] = {}
        turns.sort(key=lambda turn: turn[0])
        for seconds, channel, place, author, text, answers in turns:
            ids[channel, place] = f"m{number}"
            yield Message(
                id=f"m{number}",
                text=text,
                sent_at=_START + timedelta(microseconds=round((clock + seconds) * 1e6)),
                author=people[author],
                author_id=f"u{author:03}",
                channel=channels[channel],
                reply_to=ids[channel, answers] if answers >= 0 else None,
            )
            number += 1
        clock += turns[-1][0] + float(rng.exponential(_PAUSE_SECONDS))


def _burst(
    channel: int, rng: np.random.Generator, words: _Words, people: Sequence[str]
) -> list[tuple[float, int, int, int, str, int]]:
    """Turns of one burst: seconds, channel, place, author, text, place of what it answers or -1."""
    size = int(rng.geometric(1 / _BURST))
    at = np.cumsum(rng.exponential(_GAP_SECONDS, size)).tolist()
    # A channel has its own people.
    near = (7 * channel + rng.integers(0, N_PEOPLE // 6, 2 + int(rng.integers(4)))) % len(people)
    authors = rng.choice(near, size).tolist()
    lengths = np.clip(rng.lognormal(2.2, 0.7, size), 1, 120).astype(int).tolist()
    subjects = words.subjects()
    answers = np.where(rng.random(size) < _REPLY_SHARE, rng.integers(1, 4, size), 0).tolist()
    turns = []
    for place in range(size):
        said = words.draw(lengths[place])
        is_subject = rng.random(len(said)) < _SUBJECT_SHARE
        for index in np.flatnonzero(is_subject).tolist():
            said[index] = subjects[int(rng.integers(_N_SUBJECTS))]
        text = " ".join(said) + ("." if place % 5 else "?")
        answered = place - answers[place] if answers[place] and answers[place] <= place else -1
        turns.append((at[place], channel, place, authors[place], text, answered))
    return turns
