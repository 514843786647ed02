"""One batch of messages into table and legs: what is new, what has changed, what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message
from tmem_integrations.protocols import IngestReport, Vectors
from tmem_integrations.stores.legs import Legs
from tmem_integrations.stores.replica import Replica
from tmem_integrations.stores.rows import Row
from tmem_integrations.stores.table import Table

# Vectors pass through float32 on their way to the database and back.
_SAME_VECTOR = 1e-6


def write_batch(
    table: Table, replica: Replica, messages: Sequence[Message], vectors: Vectors | None
) -> IngestReport:
    """Write those messages of a batch that are new or have changed.

    Args:
        messages: With distinct ids, no more than the table takes at once.
        vectors: (n, d) of their texts; None gives new and changed messages a zero vector.

    Raises:
        StoreError: If the table fails; the legs follow what it holds then.
    """
    stored = replica.legs.messages(message.id for message in messages)
    kept = {} if vectors is None else table.read_vectors(list(stored))
    changed = []
    for index, message in enumerate(messages):
        old = stored.get(message.id)
        new_vector = None if vectors is None else vectors[index]
        if old is None or old != message or _differs(new_vector, kept.get(message.id)):
            changed.append(index)
    if not changed:
        return IngestReport(unchanged=len(messages))
    replaces = [messages[index].id in stored for index in changed]
    with replica.write(leaves_remains=any(replaces)) as version:
        rows = _number([messages[index] for index in changed], replica.legs, version)
        width = replica.manifest.dimension or 1
        new = np.zeros((len(rows), width), np.float32) if vectors is None else vectors[changed]
        table.write(rows, new)
        replica.legs.put(rows)
    n_updated = sum(replaces)
    return IngestReport(len(changed) - n_updated, n_updated, len(messages) - len(changed))


def _differs(new: NDArray[np.float32] | None, kept: NDArray[np.float32] | None) -> bool:
    """Whether a message needs its vector written; without a new one it keeps what it has."""
    if new is None:
        return False
    return kept is None or not np.allclose(kept, new, rtol=0, atol=_SAME_VECTOR)


def _number(messages: Sequence[Message], legs: Legs, version: int) -> list[Row]:
    """Give new messages the next arrival numbers; those that are there keep theirs."""
    arrival = legs.next_arrival
    rows = []
    for message in messages:
        if message.id in legs:
            rows.append(Row(message, legs.arrival(message.id), version))
        else:
            rows.append(Row(message, arrival, version))
            arrival += 1
    return rows
