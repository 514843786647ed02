"""The legs a history is searched with, words and timeline, and its messages, kept in step."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message, Scope
from tmem_integrations.stores.lexical import LexicalIndex, Postings
from tmem_integrations.stores.rows import Row
from tmem_integrations.stores.timeline import Timeline
from tmem_integrations.text import index_text, split_terms


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

    def slot(self, message_id: str) -> int:
        """Slot of a message that is there."""
        return self._slots[message_id]

    def slots(self, ids: Sequence[str]) -> list[int]:
        """Slots of messages, in order; unknown ids are left out."""
        return [slot for one in ids if (slot := self._slots.get(one)) is not None]

    def ids(self, slots: NDArray[np.int64]) -> list[str]:
        """Id of the message each slot was given to."""
        return [self._ids[slot] for slot in slots.tolist()]

    def messages(self, ids: Iterable[str]) -> dict[str, Message]:
        """Messages by id, as they are now; unknown ids are left out."""
        with self._lock:
            slots = [(one, self._slots.get(one)) for one in ids]
            held = [(one, self._messages[slot]) for one, slot in slots if slot is not None]
        return {one: message for one, message in held if message is not None}

    def put(self, rows: Sequence[Row]) -> None:
        """Add messages or replace those with the same id.

        Args:
            rows: With distinct ids.
        """
        terms = [self.terms(row) for row in rows]
        with self._lock:
            self._remove([row.message.id for row in rows])
            slots = self.timeline.add([r.message for r in rows], [r.arrival for r in rows])
            self.lexical.add(slots, terms)
            self._place([r.message for r in rows], slots, [r.arrival for r in rows])

    def dump(self) -> tuple[list[Message], list[int], Postings]:
        """All messages that are there with their order of arrival and their words; nothing is left of
        those removed.
        """
        with self._lock:
            alive = np.flatnonzero(self.timeline.columns.alive)
            arrivals = self.timeline.columns.arrival[alive].tolist()
            messages = [self._messages[slot] for slot in alive.tolist()]
            return [m for m in messages if m is not None], arrivals, self.lexical.dump()

    def restore(
        self, messages: Sequence[Message], arrivals: Sequence[int], postings: Postings
    ) -> None:
        """Take over what `dump` gave; only while nothing is held."""
        with self._lock:
            self.lexical.restore(postings)
            self._place(messages, self.timeline.add(messages, arrivals), arrivals)

    def remove(self, ids: Collection[str]) -> None:
        """Forget messages; unknown ids are passed over."""
        with self._lock:
            self._remove(ids)

    def mask(self, scope: Scope) -> NDArray[np.bool_]:
        """(n,) which slots the scope admits as of now."""
        with self._lock:
            return self.timeline.mask(scope)

    def terms(self, row: Row) -> list[str]:
        """The search terms of a message."""
        text = index_text(row.message)
        return split_terms(text, language=self.language, single_characters=True)

    def _place(
        self, messages: Sequence[Message], slots: Sequence[int], arrivals: Sequence[int]
    ) -> None:
        ids = [message.id for message in messages]
        self._ids.extend(ids)
        self._messages.extend(messages)
        self._slots.update(zip(ids, slots, strict=True))
        self._next_arrival = max(self._next_arrival, *(one + 1 for one in arrivals), 0)

    def _remove(self, ids: Collection[str]) -> None:
        slots = [self._slots.pop(one) for one in ids if one in self._slots]
        if slots:
            self.timeline.remove(slots)
            self.lexical.remove(slots)
            for slot in slots:
                self._messages[slot] = None
