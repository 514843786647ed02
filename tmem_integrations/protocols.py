"""What a store, an embedder, a model must do: the seats that can be filled from outside.

Rows are handles of messages, valid for one `HistoryView`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message, Query, Scope

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
Vectors = NDArray[np.float32]

PartitionKind = Literal["topic", "channel", "none"]
Partition = tuple[PartitionKind, str]

# A transient failure may pass; a retried one may too, but the client has tried again already; one of
# the content goes with what was asked; a permanent one stays.
Failure = Literal["transient", "retried", "content", "permanent"]


def partition_of(message: Message) -> Partition:
    """What the message may be clustered and linked with: its topic, else its channel, else one bucket.

    Examples:
        The kind keeps a topic named like a channel apart from it: `("topic", "ops")`.
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


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did. Identity is the id; the same message again is unchanged."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0

    def __add__(self, other: IngestReport) -> IngestReport:
        return IngestReport(
            self.added + other.added,
            self.updated + other.updated,
            self.unchanged + other.unchanged,
        )


DerivedKey = tuple[str, str]
FILED = "Turn"
"""Kind of the rows that say in which group a message is filed."""


@dataclass(frozen=True, slots=True)
class DerivedRow:
    """Something made of messages, as a store keeps it.

    Attributes:
        kind: What it is; `FILED` for the place of a message.
        id: Among rows of its kind; of a `FILED` row that of its message.
        body: The record, as text.
        made_of: Groups of messages it was made of; of a `FILED` row the one group of its message.
    """

    kind: str
    id: str
    body: str
    made_of: frozenset[str]

    @property
    def key(self) -> DerivedKey:
        """What tells it from all other rows."""
        return self.kind, self.id


class DerivedRows(Protocol):
    """What was made of the messages of a store. Every method may raise `StoreError`."""

    @property
    def lock(self) -> AbstractContextManager[Any]:
        """Held while messages change together with what was made of them: who holds it sees no message
        go."""
        ...

    def erased(self, since: int) -> tuple[int, Sequence[DerivedKey]]:
        """The keys erased through this object since a place in its log, and the place up to which they go;
        the log begins at 0."""
        ...

    def write_mark(self) -> int:
        """A number that is the same as long as no other process wrote."""
        ...

    def rows(self) -> Sequence[DerivedRow]:
        """All rows, in order of first writing where the order is kept."""
        ...

    def write(self, rows: Sequence[DerivedRow], dropped: Iterable[DerivedKey] = ()) -> None:
        """Remove some rows and add or replace others."""
        ...

    def erase(self, message_ids: Collection[str], *, keeps_filed: bool = False) -> int:
        """Remove all that was made of messages; returns how many rows.

        Args:
            message_ids: Of messages that are edited or deleted next.
            keeps_filed: Only edited: in which group each is filed is kept.
        """
        ...

    def scrub(self) -> None:
        """Remove from the files what erased rows may have left there."""
        ...

    def close(self) -> None:
        """Release it. Closing twice is fine."""
        ...


@dataclass(frozen=True, slots=True)
class ImportTimes:
    """When a message came into the store, whenever it was sent; None where that is not known.

    Attributes:
        stored_at: When it was stored first.
        changed_at: When it was stored as it is now.
    """

    stored_at: datetime | None
    changed_at: datetime | None


class MessageStore(Protocol):
    """Messages of record with all their indices. A write is seen by every later view, in every leg.

    Attributes:
        derived: What was made of them; the store erases it before it changes or deletes a message.
    """

    derived: DerivedRows

    def upsert(self, messages: Sequence[Message], vectors: Vectors | None = None) -> IngestReport:
        """Add or replace by id, in order of arrival; a replaced message keeps its arrival.

        The text that an edit replaces stays, for questions `as_of` a time before the edit: before its
        `edited_at`, or before now where it has none or none later than what it replaces. All else of a
        message has no past.

        Args:
            messages: A repeated id counts as an edit: the last one holds.
            vectors: (n, d) unit vectors of their texts.

        Raises:
            IngestError: If a part could not be written; names what is stored.
        """
        ...

    def delete(self, ids: Collection[str]) -> int:
        """Remove messages from every leg, all that they ever said; returns how many were there."""
        ...

    def get(self, ids: Iterable[str]) -> dict[str, Message]:
        """Messages by id, as they are now; unknown ids are left out."""
        ...

    def ids(self, scope: Scope) -> list[str]:
        """Ids of all messages that `scope` admits."""
        ...

    def view(self, scope: Scope) -> HistoryView:
        """The part of the history that `scope` admits, as of now."""
        ...

    def channels(self) -> frozenset[str]:
        """All channels that occur."""
        ...

    def import_times(self, ids: Sequence[str]) -> dict[str, ImportTimes]:
        """When messages were stored, by id; unknown ids are left out."""
        ...

    def __len__(self) -> int: ...

    def close(self) -> None:
        """Release locks and files. Closing twice is fine."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def name(self) -> str:
        """Model name: a store refuses vectors of another one."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32 unit vectors; a text without content gives a zero vector."""
        ...

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same without blocking the event loop."""
        ...


class TokenCounter(Protocol):
    """How many tokens a text costs the reader."""

    def count(self, text: str) -> int:
        """Tokens of `text`; never raises on odd text."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered.

    Attributes:
        text: The answer; empty when the call failed or was refused.
        error: Why there is no usable text, else None.
        failure: What can be done about the error; None when that is unknown.
        retry_after: Seconds the service asks to wait before the next call.
    """

    text: str
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    failure: Failure | None = None
    retry_after: float | None = None


class LanguageModel(Protocol):
    """Prompts to replies. A failed call gives a `Reply` with an error, never an exception."""

    @property
    def name(self) -> str: ...

    def ask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """One reply per prompt, in order, with bounded concurrency.

        Args:
            prompts: What to ask.
            timeout: Seconds after which a call is a reply with an error.
            schema: JSON schema of the answers; a model without structured output ignores it.
        """
        ...

    async def aask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """The same without blocking the event loop."""
        ...


@dataclass(frozen=True, slots=True)
class Ranking:
    """How a reranker orders messages.

    Attributes:
        order: Positions of the messages worth keeping, best first.
        error: Why there is no order, else None.
    """

    order: tuple[int, ...] = ()
    error: str | None = None


class Reranker(Protocol):
    """Orders messages by their worth to a question. A failure gives a `Ranking` with an error."""

    def rerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        """Positions of those worth keeping, best first; what is left out is dropped."""
        ...

    async def arerank(self, question: str, messages: Sequence[Message]) -> Ranking:
        """The same without blocking the event loop."""
        ...


@dataclass(frozen=True, slots=True)
class Reached:
    """A message that an associative memory reached.

    Attributes:
        message_id: The message.
        via: What reached it, such as "horizon".
    """

    message_id: str
    via: str


class Associative(Protocol):
    """Finds messages that share no word with a question. It is told of every write."""

    @property
    def store(self) -> MessageStore:
        """Whose messages it was derived from."""
        ...

    @property
    def embedder(self) -> Embedder:
        """What its vectors are made with."""
        ...

    @property
    def policy(self) -> AccessPolicy | None:
        """Who may read which channel; None when everybody may read all."""
        ...

    @property
    def redact(self) -> Callable[[Message, Query], Message | None] | None:
        """What of a message an asker gets; None for all of it."""
        ...

    def reach(
        self, question: str, scope: Scope, vector: Vectors | None, most: int
    ) -> tuple[Reached, ...]:
        """Messages that `scope` admits, best first.

        Args:
            question: The question.
            scope: What it may read.
            vector: (d,) of the question; None without an embedder.
            most: At most this many.
        """
        ...

    def file(self, messages: Sequence[Message]) -> None:
        """Take in new and changed messages that are stored already."""
        ...

    def forget(self, ids: Collection[str]) -> None:
        """Take back all that was derived from messages."""
        ...


class AccessPolicy(Protocol):
    """Decides at question time which channels a person may read."""

    def readable(self, asking_user: str, channels: frozenset[str]) -> Collection[str]:
        """Those of `channels` that `asking_user` may read now."""
        ...
