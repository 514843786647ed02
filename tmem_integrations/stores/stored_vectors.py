"""The vectors of a store: out of their copy, and out of the database what the copy does not know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.batches import batches
from tmem_integrations.errors import StoreError
from tmem_integrations.protocols import Vectors
from tmem_integrations.stores.replica import Replica
from tmem_integrations.stores.table import Table
from tmem_integrations.stores.vector_copy import VectorCopy
from tmem_integrations.stores.versions import Row, vectors_as_of


class StoredVectors:
    """Vectors of the messages of a table.

    Args:
        table: Where they are.
        replica: Knows the messages.
        copy: Quicker to read, and kept in step here; None where there is none.
    """

    def __init__(self, table: Table, replica: Replica, copy: VectorCopy | None) -> None:
        self.copy = copy
        self._table = table
        self._replica = replica

    def load(self, slots: NDArray[np.int64], as_of: datetime | None) -> Vectors | None:
        """(n, d) vectors of the texts that slots were given to, of now or then, zero where one is missing;
        None when the store keeps none."""
        dimension, legs = self._replica.manifest.dimension, self._replica.legs
        if dimension is None:
            return None
        if self.copy is None:
            return self._read(legs.ids(slots), as_of, dimension)
        messages = legs.at(slots, as_of)
        if as_of is not None and (changed := set(legs.edited(legs.ids(slots)))):
            # An edit may leave the text and change the vector; the copy holds that of now.
            messages = [None if m is None or m.id in changed else m for m in messages]
        arrivals = legs.timeline.columns.arrival[slots]
        vectors, known = self.copy.read(arrivals, messages, dimension)
        if not known.all():
            vectors[~known] = self._read(legs.ids(slots[~known]), as_of, dimension)
        return vectors

    def keep(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Copy what was written to the table."""
        if self.copy is not None and self._replica.manifest.dimension is not None:
            self.copy.write([row.arrival for row in rows], [row.message for row in rows], vectors)

    def take_back(self, ids: Sequence[str]) -> None:
        """Blank the copies of messages that are there, before they change or go.

        Raises:
            StoreError: If the copy cannot be written.
        """
        dimension, legs = self._replica.manifest.dimension, self._replica.legs
        if self.copy is not None and dimension is not None:
            self.copy.blank([legs.arrival(one) for one in ids], dimension)

    def discard(self) -> None:
        """Drop the whole copy.

        Raises:
            StoreError: If it cannot be removed.
        """
        if self.copy is not None:
            self.copy.discard()

    def _read(self, ids: Sequence[str], as_of: datetime | None, dimension: int) -> Vectors:
        found: dict[str, NDArray[np.float32]] = {}
        for batch in batches(dict.fromkeys(ids), self._table.batch_size):
            found.update(self._read_batch(batch))
            if as_of is not None and (changed := self._replica.legs.edited(batch)):
                found.update(vectors_as_of(self._table.read(changed).values(), as_of))
        vectors = np.zeros((len(ids), dimension), np.float32)
        for index, one in enumerate(ids):
            if one in found and len(found[one]):
                vectors[index] = found[one]
        return vectors

    def _read_batch(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        try:
            return self._table.read_vectors(ids)
        except StoreError:
            # Within a write Chroma knows ids whose vectors it has not yet, or has no more: once the write is
            # done it can tell.
            with self._replica.lock:
                return self._table.read_vectors(ids)
