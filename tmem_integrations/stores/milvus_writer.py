"""Writing a history to Milvus: rows of messages, and what several of them must agree on.

Milvus changes one row at a time and knows no transaction over several. So a message is one row, with its
words, its vector and all that it said before; what several rows must agree on (versions of a message,
which channels occur, how far readers may see) is marked before and settled after a change, and set right
by the next writer when one was killed, or failed, in between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np

from tmem_integrations.batches import batches
from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import DerivedRows, IngestReport, Vectors
from tmem_integrations.stores.changes import differs, to_bytes
from tmem_integrations.stores.milvus_catalogue import Built, Catalogue
from tmem_integrations.stores.milvus_rows import (
    ROW_FIELDS,
    Entity,
    digest,
    to_entities,
    to_row,
    to_vector,
)
from tmem_integrations.stores.milvus_scope import all_of, condition_of, one_of
from tmem_integrations.stores.milvus_table import MilvusTable
from tmem_integrations.stores.versions import Row, edited

BATCH = 1_000
"""How many messages are written at a time."""


class MilvusWriter:
    """The messages of one tenant, to be changed by one thread at a time.

    Args:
        table: The messages.
        catalogue: What is said of them.
        within: The condition that keeps to the tenant; empty without tenants.
        tenant: Whose they are; None without tenants.
        built: How the messages are built; replaced by who builds them anew.
    """

    def __init__(
        self,
        table: MilvusTable,
        catalogue: Catalogue,
        *,
        within: str,
        tenant: str | None,
        built: Built,
    ) -> None:
        self.built = built
        self._table = table
        self._catalogue = catalogue
        self._within = within
        self._tenant = tenant
        # Whether all that several rows must agree on is so.
        self._is_settled = False

    def recover(self) -> None:
        """Finish what a killed or failed writer began, once: its last rows become visible, versions of
        messages and channels are made to agree."""
        if self._is_settled:
            return
        clock = self._catalogue.read_clock()
        for mark, owners in self._catalogue.half_edited().items():
            self._mend(owners)
            self._catalogue.end_editing(mark)
        for channel in self._catalogue.channels(unsettled=True):
            self._settle(channel)
        latest = self._latest(clock.arrival)
        if latest > clock.arrival or not clock.state:
            self._show(latest)
        self._is_settled = True

    def read(self, ids: Iterable[str]) -> dict[str, tuple[Row, Vectors | None]]:
        """Rows by id with the vector of the present text; unknown ids are left out."""
        keys = [self._key(one) for one in dict.fromkeys(ids)]
        fields = [*ROW_FIELDS, *(["vector"] if self.built.dimension is not None else [])]
        found = self._table.read(keys, fields)
        entities = [found[key] for key in keys if key in found]
        return {
            entity["id"]: (to_row(entity), to_vector(entity) if "vector" in entity else None)
            for entity in entities
        }

    def write(
        self, messages: Sequence[Message], vectors: Vectors | None, derived: DerivedRows
    ) -> IngestReport:
        """Write those messages of a batch that are new or have changed, then show them to readers.

        Args:
            messages: With distinct ids.
            vectors: (n, d) of their texts; None gives new and changed messages none.
            derived: What was made of the messages; of those that change it is erased.
        """
        self.recover()
        stored = self.read([message.id for message in messages])
        clock = self._catalogue.read_clock()
        arrival = max([clock.arrival, *(row.arrival for row, _ in stored.values())])
        now = datetime.now(UTC)
        changed: list[tuple[Row, Vectors | None]] = []
        moved: set[str | None] = set()
        came: set[str | None] = set()
        rewritten: list[str] = []
        n_added, n_updated = 0, 0
        for index, message in enumerate(messages):
            row, kept = stored.get(message.id, (None, None))
            vector = None if vectors is None else vectors[index]
            if row is None:
                arrival, n_added = arrival + 1, n_added + 1
                new = Row(message, arrival, 0, stored_at=now)
            elif row.message != message or differs(vector, kept):
                n_updated += 1
                new = edited(row, message, version=0, now=now, vector=to_bytes(kept))
                if row.message != message:
                    rewritten.append(message.id)
                    moved |= {row.message.channel} - {message.channel}
            else:
                continue
            changed.append((new, vector))
            came.add(message.channel)
        report = IngestReport(n_added, n_updated, len(messages) - len(changed))
        if not changed:
            return report
        derived.erase(rewritten, keeps_filed=True)
        named = {name for name in came if name is not None}
        known = self._catalogue.listed(named)
        if n_updated:
            self._catalogue.write_clock(clock.arrival, changing=True)
        with self._settling(moved | (named - known)):
            self._put(changed, stored)
            # Another writer may have taken one from the list meanwhile, when it had no message yet.
            for channel in named & known - self._catalogue.listed(named & known):
                self._settle(channel)
            self._show(arrival)
        return report

    def erase(self, ids: Sequence[str]) -> int:
        """Remove messages with all that they said; returns how many were there."""
        self.recover()
        found = self.read(ids)
        if not found:
            return 0
        clock = self._catalogue.read_clock()
        self._catalogue.write_clock(clock.arrival, changing=True)
        with self._settling({row.message.channel for row, _ in found.values()}):
            self._table.erase([self._key(one) for one in found], field="owner")
            self._show(clock.arrival)
        return len(found)

    def _show(self, arrival: int) -> None:
        """Let readers see what arrived until then, and what another writer, whose clock this one may have
        set back, wrote after it."""
        latest = arrival
        while True:
            arrival = latest
            self._catalogue.write_clock(arrival)
            if not self._table.is_alone:
                latest = self._latest(arrival)
            if latest == arrival:
                return

    def _latest(self, arrival: int) -> int:
        """The last arrival of all rows, if it is later than this one."""
        ahead = self._table.pages(all_of([self._within, f"arrival > {arrival}"]), ["arrival"])
        return max((row["arrival"] for page in ahead for row in page), default=arrival)

    def _mend(self, owners: Sequence[str]) -> None:
        """Make the versions of messages anew from their present rows."""
        fields = [*ROW_FIELDS, *(["vector"] if self.built.dimension is not None else [])]
        found = self._table.read(owners, fields)
        entities = [
            entity
            for kept in found.values()
            for entity in self._entities(
                to_row(kept), to_vector(kept) if "vector" in kept else None
            )
        ]
        self._table.write(entities)
        self._drop_versions(owners, {entity["key"] for entity in entities})

    def _put(self, rows: Sequence[tuple[Row, Vectors | None]], there: Collection[str]) -> None:
        """Write all versions of some messages.

        Args:
            rows: With the vector of the present text.
            there: Ids of messages that may have versions already.
        """
        entities = [entity for row, vector in rows for entity in self._entities(row, vector)]
        owners = [self._key(row.message.id) for row, _ in rows if row.message.id in there]
        with self._catalogue.editing(owners):
            self._table.write(entities)
            self._drop_versions(owners, {entity["key"] for entity in entities})

    def _drop_versions(self, owners: Sequence[str], kept: Collection[str]) -> None:
        """Erase versions of messages that are no longer kept."""
        for part in batches(owners, BATCH):
            pages = self._table.pages(one_of("owner", part), ["key"])
            self._table.erase([r["key"] for page in pages for r in page if r["key"] not in kept])

    def _entities(self, row: Row, vector: Vectors | None) -> list[Entity]:
        if self.built.dimension is None:
            vector = None
        elif vector is None:
            vector = np.zeros(self.built.dimension, np.float32)
        return to_entities(row, vector, language=self.built.language, tenant=self._tenant)

    @contextmanager
    def _settling(self, channels: Iterable[str | None]) -> Iterator[None]:
        """Around a change after which some channels may be new, or may hold nothing any more. One that ends
        halfway, by whatever error, is left to `recover`."""
        names = [name for name in channels if name is not None]
        self._is_settled = False
        self._catalogue.unsettle(names)
        yield
        for name in names:
            self._settle(name)
        self._is_settled = True

    def _settle(self, channel: str) -> None:
        occurs = self._occurs(channel)
        self._catalogue.settle(channel, occurs=occurs)
        # Another writer may have come between, which saw the list as it was before.
        if not occurs and self._occurs(channel):
            self._catalogue.settle(channel, occurs=True)

    def _occurs(self, channel: str) -> bool:
        scope = Scope(readable=frozenset({channel}))
        condition = all_of([self._within, condition_of(scope)])
        return bool(self._table.query(condition, ["key"], limit=1))

    def _key(self, message_id: str) -> str:
        return digest("id", message_id, self._tenant or "")
