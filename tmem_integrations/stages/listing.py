"""Listing: what stands for a stretch of time when a question names no subject.

"What was discussed last week?" has no word to search for. So the messages of that time are spread out:
each partition gets its turn, the time of each is cut into equal parts, and of each part the message that
says most is an anchor. What was said around it is then read as for any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tmem_integrations.messages import Message
from tmem_integrations.protocols import Partition, Rows, partition_of
from tmem_integrations.text import split_terms

# More are thinned out before they are read.
_MAX_READ = 2_000


@dataclass(frozen=True, slots=True)
class Listing:
    """A stretch of time that a question wants listed.

    Attributes:
        start: POSIX seconds; -inf when it is open.
        end: POSIX seconds, not in it; inf when it is open.
        phrase: The words that name it: nothing to search for.
    """

    start: float
    end: float
    phrase: str

    def without_phrase(self, question: str) -> str:
        """The question without the words that name the time."""
        words = r"\s+".join(map(re.escape, self.phrase.split()))
        return re.sub(words, " ", question, flags=re.IGNORECASE)


def thin_out(rows: Rows) -> Rows:
    """At most 2,000 rows, evenly spread over those given.

    Args:
        rows: (n,) in order of time.
    """
    if len(rows) <= _MAX_READ:
        return rows
    places = np.linspace(0, len(rows) - 1, _MAX_READ).astype(np.int64)
    return rows[places]


def choose_spread(messages: Sequence[Message | None], most: int) -> list[int]:
    """Places of messages that stand for all of them, in order of time.

    Args:
        messages: (n,) in order of time; None is passed over.
        most: At most this many.
    """
    partitions: dict[Partition, list[int]] = {}
    for place, message in enumerate(messages):
        if message is not None and message.text.strip():
            partitions.setdefault(partition_of(message), []).append(place)
    chosen = []
    for places, quota in zip(
        partitions.values(), _quotas([len(own) for own in partitions.values()], most), strict=True
    ):
        for part in np.array_split(np.array(places, dtype=np.int64), quota) if quota else ():
            chosen.append(max(part.tolist(), key=lambda place: (_n_words(messages[place]), -place)))
    return sorted(chosen)


def _quotas(sizes: Sequence[int], most: int) -> list[int]:
    """How many of each: one after the other gets one more, the largest first, while there are some.

    Examples:
        >>> _quotas([1, 9, 2], 6)
        [1, 3, 2]
        >>> _quotas([5, 7, 6], 2)
        [0, 1, 1]
    """
    quotas = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=lambda one: -sizes[one])
    left = min(most, sum(sizes))
    while left:
        for one in order:
            if left and quotas[one] < sizes[one]:
                quotas[one] += 1
                left -= 1
    return quotas


def _n_words(message: Message | None) -> int:
    return 0 if message is None else len(set(split_terms(message.text)))
