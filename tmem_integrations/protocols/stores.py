"""What a store must do: keep messages, and what was made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols.history import HistoryView, Vectors


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

    @property
    def language(self) -> str | None:
        """How words are split, see `text.split_terms`."""
        ...

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
