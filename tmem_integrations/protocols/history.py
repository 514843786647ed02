"""What a question reads, and who decides which channels it may read.

Rows are handles of messages, valid for one `HistoryView`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
Vectors = NDArray[np.float32]

PartitionKind = Literal["topic", "channel", "none"]
Partition = tuple[PartitionKind, str]


def partition_of(message: Message) -> Partition:
    """What the message may be clustered and linked with: its topic, else its channel, else one bucket.

    The kind keeps a topic apart from a channel of the same name.

    Examples:
        >>> from datetime import UTC, datetime
        >>> partition_of(Message(id="1", text="hi", sent_at=datetime.now(UTC), topic="ops"))
        ('topic', 'ops')
    """
    if message.topic is not None:
        return ("topic", message.topic)
    if message.channel is not None:
        return ("channel", message.channel)
    return ("none", "")


@dataclass(frozen=True, slots=True)
class Matches:
    """Visible messages that share at least one term with a query.

    Attributes:
        rows: (n,) handles, in no particular order.
        scores: (n,) BM25Okapi scores; small histories make them zero or negative.
        is_cut: Whether there are more, with lower scores, than the store gives in one answer.
    """

    rows: Rows
    scores: Scores
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a partition in a closed interval of POSIX seconds."""

    partition: Partition
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Rows around one row in its partition."""

    row: int
    before: int
    after: int


class HistoryView(Protocol):
    """The messages one question may read, at one version of the store. The scope is already applied:
    counts, neighbours and document frequencies are those of a history that holds nothing else. With an
    `as_of` each message says what it said then, otherwise what it says now.
    """

    @property
    def n_messages(self) -> int:
        """How many messages the scope admits."""
        ...

    def pace(self) -> float | None:
        """Median seconds between consecutive messages of a partition, from a sample where there are
        many; None when no partition holds two messages."""
        ...

    def search(
        self,
        text: str,
        *,
        containing: str | None = None,
        between: tuple[float, float] | None = None,
    ) -> Matches:
        """All messages that share at least one term with `text`, with BM25Okapi scores (TEF §4.2).

        A store may give the best alone where there are many; they are the best of those that fulfil the
        conditions.

        Args:
            text: What is searched for.
            containing: Only messages that share a term with this text too; it adds nothing to a score.
            between: Only messages with start <= sent_at < end (POSIX seconds).
        """
        ...

    def term_scores(self, text: str, rows: Rows) -> Scores:
        """(t, n) what each distinct term of `text` adds to the score of each row: 0 where it does not
        occur, positive where it does. Terms are in the order of `document_frequencies(text)`."""
        ...

    def document_frequencies(self, text: str) -> dict[str, int]:
        """For each distinct term of `text`, how many visible messages hold it; 0 where none does."""
        ...

    def window(self, partition: Partition, start: float, end: float) -> Rows:
        """Messages of a partition with start <= sent_at <= end (POSIX seconds), in (time, arrival) order."""
        ...

    def within(self, start: float, end: float) -> Rows:
        """Messages of all partitions with start <= sent_at < end (POSIX seconds), in (time, arrival)
        order; a store may give a fair sample where there are many."""
        ...

    def latest(self) -> float | None:
        """sent_at of the last message (POSIX seconds); None when there is none."""
        ...

    def neighbours(self, row: int, before: int, after: int) -> Rows:
        """`row` with up to `before` earlier and `after` later messages of its partition, in order."""
        ...

    def gather(self, parts: Sequence[Window | Neighbours]) -> tuple[Rows, ...]:
        """`window` and `neighbours` for many at once."""
        ...

    def traffic(self, partitions: Sequence[Partition]) -> tuple[Scores, ...]:
        """For each partition the (n,) times of its messages in POSIX seconds, in order; a store may give
        a fair sample where there are many."""
        ...

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Rows of messages by id, in order; those that are not visible are left out."""
        ...

    def times(self, rows: Rows) -> Scores:
        """(n,) sent_at in POSIX seconds."""
        ...

    def load(self, rows: Rows) -> tuple[Message | None, ...]:
        """The messages; None where one was deleted since the view was made."""
        ...

    def vectors(self, rows: Rows) -> Vectors | None:
        """(n, d) unit vectors, a zero vector where one is missing; None when the store keeps none."""
        ...


class AccessPolicy(Protocol):
    """Decides at question time which channels a person may read."""

    def readable(self, asking_user: str, channels: frozenset[str]) -> Collection[str]:
        """Those of `channels` that `asking_user` may read now."""
        ...
