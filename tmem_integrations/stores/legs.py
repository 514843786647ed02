"""The legs a history is searched with, words and timeline, and its messages, kept in step."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message, Scope
from tmem_integrations.stores.lexical import LexicalIndex, Postings
from tmem_integrations.stores.timeline import Timeline
from tmem_integrations.stores.versions import NEVER, Row, Version, versions_of
from tmem_integrations.text import index_text, split_terms
from tmem_integrations.times import to_microseconds


@dataclass(frozen=True, slots=True)
class Dump:
    """All that legs hold, numbered anew from 0; nothing is left of what was removed.

    Attributes:
        messages: (n,) in each version that they had.
        known: (n,) see `Columns`.
        until: (n,) likewise.
        arrivals: (n,) order of arrival of each.
        postings: Their words.
    """

    messages: list[Message]
    known: list[int]
    until: list[int]
    arrivals: list[int]
    postings: Postings


class Legs:
    """Which messages there are, what they say, and how they are found.

    Args:
        language: How words are split and conflated, see `text.split_terms`.
    """

    def __init__(self, language: str | None = None) -> None:
        self.language = language
        self.timeline = Timeline()
        self.lexical = LexicalIndex()
        self._ids: list[str] = []
        # By slot. Reading a few hundred from a database would cost more than all the rest of a question.
        self._messages: list[Message | None] = []
        self._slots: dict[str, int] = {}
        # Of what edited messages said before, oldest first.
        self._earlier: dict[str, list[int]] = {}
        self._next_arrival = 0
        # Nobody may look between the removal of an edited message and its return.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._slots

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._slots))

    @property
    def next_arrival(self) -> int:
        """Arrival number of the next new message."""
        return self._next_arrival

    def arrival(self, message_id: str) -> int:
        """Arrival number of a message that is there."""
        return int(self.timeline.columns.arrival[self._slots[message_id]])

    def slots(self, ids: Iterable[str], as_of: datetime | None = None) -> list[int]:
        """Slots of messages, in order, as they are now or were then; those that were not there are left
        out."""
        with self._lock:
            return self._find(ids, as_of)

    def versions(self, message_id: str) -> list[tuple[int, Version]]:
        """Slot and content of each version of a message that is there, oldest first."""
        with self._lock:
            slots = [*self._earlier.get(message_id, ()), self._slots[message_id]]
            return [(slot, self._version(slot)) for slot in slots]

    def edited(self, ids: Iterable[str]) -> list[str]:
        """Those of some messages that said something else before."""
        return [one for one in ids if one in self._earlier]

    def ids(self, slots: NDArray[np.int64]) -> list[str]:
        """Id of the message each slot was given to."""
        return [self._ids[slot] for slot in slots.tolist()]

    def messages(self, ids: Iterable[str], as_of: datetime | None = None) -> dict[str, Message]:
        """Messages by id, as they are now or were then; those that were not there are left out."""
        with self._lock:
            held = [self._messages[slot] for slot in self._find(ids, as_of)]
        return {message.id: message for message in held if message is not None}

    def at(self, slots: NDArray[np.int64], as_of: datetime | None = None) -> list[Message | None]:
        """The message each slot was given to, as it is now or was then; None where it was not there."""
        with self._lock:
            return [self._messages[slot] or self._moved(slot, as_of) for slot in slots.tolist()]

    def put(self, rows: Sequence[Row]) -> None:
        """Add messages or replace those with the same id.

        Args:
            rows: With distinct ids.
        """
        placed = [(version, row.arrival) for row in rows for version in versions_of(row)]
        messages = [version.message for version, _ in placed]
        known, until = [v.known for v, _ in placed], [v.until for v, _ in placed]
        arrivals = [arrival for _, arrival in placed]
        terms = [self.terms(message) for message in messages]
        with self._lock:
            self._remove([row.message.id for row in rows])
            slots = self.timeline.add(messages, arrivals, known, until)
            self.lexical.add(slots, terms)
            self._place(messages, slots, arrivals, until)

    def dump(self) -> Dump:
        """All that is held."""
        with self._lock:
            alive = np.flatnonzero(self.timeline.columns.alive)
            columns = self.timeline.columns
            messages = [self._messages[slot] for slot in alive.tolist()]
            return Dump(
                [m for m in messages if m is not None],
                columns.known[alive].tolist(),
                columns.until[alive].tolist(),
                columns.arrival[alive].tolist(),
                self.lexical.dump(),
            )

    def restore(self, dump: Dump) -> None:
        """Take over what `dump` gave; only while nothing is held."""
        with self._lock:
            self.lexical.restore(dump.postings)
            slots = self.timeline.add(dump.messages, dump.arrivals, dump.known, dump.until)
            self._place(dump.messages, slots, dump.arrivals, dump.until)

    def remove(self, ids: Collection[str]) -> None:
        """Forget messages; unknown ids are passed over."""
        with self._lock:
            self._remove(ids)

    def mask(self, scope: Scope) -> NDArray[np.bool_]:
        """(n,) which slots the scope admits as of now."""
        with self._lock:
            return self.timeline.mask(scope)

    def terms(self, message: Message) -> list[str]:
        """The search terms of a message."""
        text = index_text(message)
        return split_terms(text, language=self.language, single_characters=True)

    def _find(self, ids: Iterable[str], as_of: datetime | None) -> list[int]:
        if as_of is None:
            return [slot for one in ids if (slot := self._slots.get(one)) is not None]
        moment, columns = to_microseconds(as_of), self.timeline.columns
        every = (
            slot
            for one in ids
            if one in self._slots
            for slot in (*self._earlier.get(one, ()), self._slots[one])
        )
        return [slot for slot in every if columns.known[slot] <= moment < columns.until[slot]]

    def _version(self, slot: int) -> Version:
        message, columns = self._messages[slot], self.timeline.columns
        assert message is not None
        return Version(message, int(columns.known[slot]), int(columns.until[slot]))

    def _place(
        self,
        messages: Sequence[Message],
        slots: Sequence[int],
        arrivals: Sequence[int],
        until: Sequence[int],
    ) -> None:
        ids = [message.id for message in messages]
        self._ids.extend(ids)
        self._messages.extend(messages)
        # Of several versions of a message the last one is what it says now.
        self._slots.update(zip(ids, slots, strict=True))
        for one, slot, end in zip(ids, slots, until, strict=True):
            if end != NEVER:
                self._earlier.setdefault(one, []).append(slot)
        self._next_arrival = max(self._next_arrival, *(one + 1 for one in arrivals), 0)

    def _moved(self, slot: int, as_of: datetime | None) -> Message | None:
        """What became of the message of a slot that is not in use any more."""
        found = self._find([self._ids[slot]], as_of)
        return self._messages[found[0]] if found else None

    def _remove(self, ids: Collection[str]) -> None:
        slots = [self._slots.pop(one) for one in ids if one in self._slots]
        slots += [slot for one in ids for slot in self._earlier.pop(one, ())]
        if slots:
            self.timeline.remove(slots)
            self.lexical.remove(slots)
            for slot in slots:
                self._messages[slot] = None
