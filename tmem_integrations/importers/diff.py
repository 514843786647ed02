"""Importing again is a diff: what is new, what was edited, what is gone at the source, what is as before.

A message is gone when the source says so, or when an import covers its place and it is not there. A
place is covered between the first and the last message read of its channel: an export of one week
tells nothing of other weeks, and an older export nothing of what came later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import IMPORTERS
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols import MessageStore
from tmem_integrations.stores.forgotten import forgotten_ids_of

_N_EXAMPLES = 5
_MOMENT = timedelta(microseconds=1)
# How many parts of an importer's id name the place of a message; of others two do.
_PLACE_PARTS = {"slack": 3, "discord": 3, "teams": 3}


@dataclass(slots=True)
class ImportDiff:
    """How messages read compare with those stored.

    Attributes:
        new: Messages that are not stored.
        late: Those of the new ones that are older than what is stored of their channel, such as a reply
            that was not exported before.
        edited: Stored messages whose text is another now.
        changed: Stored messages of the same text of which something else changed, such as the author's
            name.
        unchanged: Stored messages that are the same.
        older: Messages read in an older version than the stored one, which stays.
        forgotten: Messages that were forgotten here, and are left out.
        gone: Ids of stored messages that are no longer at the source.
        edited_ids: The first few of the edited.
    """

    new: int = 0
    late: int = 0
    edited: int = 0
    changed: int = 0
    unchanged: int = 0
    older: int = 0
    forgotten: int = 0
    gone: tuple[str, ...] = ()
    edited_ids: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, int]:
        """Counts, for JSON."""
        names = ("new", "late", "edited", "changed", "unchanged", "older", "forgotten")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "gone": len(self.gone)}


@dataclass(slots=True)
class _Covered:
    """What an import says of one channel."""

    first: datetime
    last: datetime
    sources: set[str] = field(default_factory=set)


class Comparison:
    """Compares what is read, piece by piece, with what is stored; changes nothing.

    Args:
        store: What earlier imports filled; None when there is nothing yet.
        bring_back: Take what was forgotten as new.
    """

    def __init__(self, store: MessageStore | None, *, bring_back: bool = False) -> None:
        self.diff = ImportDiff()
        self._store = store
        self._bring_back = bring_back
        self._channels = frozenset[str]() if store is None else store.channels()
        self._read: set[str] = set()
        self._places: dict[str, set[str]] = {}
        self._covered: dict[str, _Covered] = {}
        # Up to when new messages are late and from when they are not, as far as asked.
        self._late_until: dict[str, datetime] = {}
        self._last_from: dict[str, datetime] = {}

    def take(self, messages: Iterable[Message]) -> None:
        """Compare the next messages.

        Raises:
            ImportFormatError: If two channels would become one: they have one name, and a channel is the
                border of access.
        """
        chunk = list(messages)
        stored = {} if self._store is None else self._store.get(m.id for m in chunk)
        left_out = frozenset[str]()
        if self._store is not None and not self._bring_back:
            left_out = forgotten_among(self._store, chunk, stored)
        for message in chunk:
            self._read.add(message.id)
            self._check_place(message)
            self._cover(message)
            if message.id in left_out:
                self.diff.forgotten += 1
            else:
                self._count(message, stored.get(message.id))

    def finish(self, deleted: Iterable[str] = ()) -> ImportDiff:
        """Find what is gone, after all was read.

        Args:
            deleted: Ids that the source says were deleted: `ImportReport.deleted`.
        """
        if self._store is not None:
            told = [one for one in dict.fromkeys(deleted) if one not in self._read]
            gone = dict.fromkeys(self._store.get(told))
            for channel, covered in self._covered.items():
                query = Query(
                    text="",
                    channels=frozenset([channel]),
                    after=covered.first,
                    before=covered.last + _MOMENT,
                )
                for one in self._store.ids(Scope(query)):
                    if one not in self._read and source_of(one) in covered.sources:
                        gone[one] = None
            self.diff.gone = tuple(gone)
        return self.diff

    def _count(self, message: Message, old: Message | None) -> None:
        if old is None:
            self.diff.new += 1
            self.diff.late += self._is_late(message)
        elif old == message:
            self.diff.unchanged += 1
        elif is_older(message, old):
            self.diff.older += 1
        elif old.text != message.text:
            self.diff.edited += 1
            if len(self.diff.edited_ids) < _N_EXAMPLES:
                self.diff.edited_ids.append(message.id)
        else:
            self.diff.changed += 1

    def _check_place(self, message: Message) -> None:
        channel, place = message.channel, place_of(message.id)
        if channel is None or place is None:
            return
        if channel not in self._places:
            self._places[channel] = self._stored_places(channel)
        others = self._places[channel] - {place}
        if others:
            raise ImportFormatError(
                f"Channel {channel!r} of {place} would become one with that of {min(others)}, and so "
                "would who may read them. Import one of them with --workspace NAME (ImportOptions."
                f"workspace), which calls it 'NAME/{channel}', or into a folder of its own."
            )
        self._places[channel].add(place)

    def _stored_places(self, channel: str) -> set[str]:
        if self._store is None or channel not in self._channels:
            return set()
        ids = self._store.ids(Scope(Query(text="", channels=frozenset([channel]))))
        places = {place_of(one) for one in ids}
        return {place for place in places if place is not None}

    def _cover(self, message: Message) -> None:
        # Where no channel is known, nothing is: what else the source holds cannot be told.
        if message.channel is None:
            return
        sent = message.sent_at
        covered = self._covered.setdefault(message.channel, _Covered(sent, sent))
        covered.first = min(covered.first, sent)
        covered.last = max(covered.last, sent)
        covered.sources.add(source_of(message.id))

    def _is_late(self, message: Message) -> bool:
        channel, sent = message.channel, message.sent_at
        if self._store is None or channel is None or channel not in self._channels:
            return False
        if channel in self._late_until and sent <= self._late_until[channel]:
            return True
        if channel in self._last_from and sent >= self._last_from[channel]:
            return False
        query = Query(text="", channels=frozenset([channel]), after=sent + _MOMENT)
        is_late = bool(self._store.ids(Scope(query)))
        (self._late_until if is_late else self._last_from)[channel] = sent
        return is_late


def is_older(message: Message, stored: Message) -> bool:
    """Whether what was read is what a message said before its last known edit."""
    return stored.edited_at is not None and (
        message.edited_at is None or message.edited_at < stored.edited_at
    )


def to_be_stored(
    store: MessageStore, messages: Iterable[Message], *, bring_back: bool = False
) -> list[Message]:
    """The messages but those of which a later version is stored, since an old export undoes no edit, and
    those that were forgotten, unless they are to be brought back.
    """
    chunk = list(messages)
    stored = store.get(m.id for m in chunk)
    left_out = frozenset() if bring_back else forgotten_among(store, chunk, stored)
    return [
        m
        for m in chunk
        if m.id not in left_out and (m.id not in stored or not is_older(m, stored[m.id]))
    ]


def forgotten_among(
    store: MessageStore, messages: Iterable[Message], stored: Collection[str]
) -> frozenset[str]:
    """Ids of the messages that were forgotten in a store and are not there again.

    Args:
        store: Where.
        messages: As read.
        stored: Ids of those that are there: whoever adds a message anew wants it.
    """
    ids = forgotten_ids_of(store)
    return frozenset() if ids is None else ids.among(m.id for m in messages if m.id not in stored)


def no_longer_forgotten(store: MessageStore, messages: Iterable[Message]) -> None:
    """Know messages no longer as forgotten, now that they are stored again."""
    ids = forgotten_ids_of(store)
    if ids is not None:
        ids.remove(m.id for m in messages)


def source_of(message_id: str) -> str:
    """What an importer's ids begin with; ids of one's own have no source but themselves.

    Examples:
        >>> source_of("slack/T1/C1/1772442000.000100"), source_of("m1")
        ('slack', '')
    """
    return message_id.partition("/")[0] if "/" in message_id else ""


def place_of(message_id: str) -> str | None:
    """Where an importer found a message: workspace and channel as the source numbers them.

    Returns:
        None for ids of one's own.

    Examples:
        >>> place_of("slack/T1/C1/1772442000.000100"), place_of("telegram/7/12"), place_of("m/1")
        ('slack/T1/C1', 'telegram/7', None)
    """
    parts = message_id.split("/")
    n_parts = _PLACE_PARTS.get(parts[0], 2)
    if parts[0] not in IMPORTERS or len(parts) <= n_parts:
        return None
    return "/".join(parts[:n_parts])
