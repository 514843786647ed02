"""One batch of messages into table and legs: what is new, what has changed, what stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.messages import Message
from tmem_integrations.protocols import IngestReport, Vectors
from tmem_integrations.stores.changes import differs, to_bytes
from tmem_integrations.stores.replica import Replica
from tmem_integrations.stores.stored_vectors import StoredVectors
from tmem_integrations.stores.table import Table
from tmem_integrations.stores.versions import Row, edited


def write_batch(
    table: Table,
    replica: Replica,
    stored_vectors: StoredVectors,
    messages: Sequence[Message],
    vectors: Vectors | None,
) -> IngestReport:
    """Write those messages of a batch that are new or have changed.

    Args:
        messages: With distinct ids, no more than the table takes at once.
        vectors: (n, d) of their texts; None gives new and changed messages a zero vector.

    Raises:
        StoreError: If the table fails; the legs follow what it holds then.
    """
    stored = replica.legs.messages(message.id for message in messages)
    has_vectors = replica.manifest.dimension is not None
    kept = table.read_vectors(list(stored)) if has_vectors else {}
    changed = []
    for index, message in enumerate(messages):
        old = stored.get(message.id)
        new_vector = None if vectors is None else vectors[index]
        if old is None or old != message or differs(new_vector, kept.get(message.id)):
            changed.append(index)
    if not changed:
        return IngestReport(unchanged=len(messages))
    new_messages = [messages[index] for index in changed]
    replaced = table.read([m.id for m in new_messages if m.id in stored])
    with replica.write(leaves_remains=bool(replaced)) as version:
        rows = _rows(new_messages, replaced, kept, replica.legs.next_arrival, version)
        width = replica.manifest.dimension or 1
        new = np.zeros((len(rows), width), np.float32) if vectors is None else vectors[changed]
        stored_vectors.take_back(list(replaced))
        table.write(rows, new)
        stored_vectors.keep(rows, new)
        replica.legs.put(rows)
    n_updated = len(replaced)
    return IngestReport(len(changed) - n_updated, n_updated, len(messages) - len(changed))


def _rows(
    messages: Sequence[Message],
    replaced: Mapping[str, Row],
    vectors: Mapping[str, NDArray[np.float32]],
    arrival: int,
    version: int,
) -> list[Row]:
    """Rows to be written: what is there keeps its arrival and what it said, new ones come after.

    Args:
        replaced: Rows of those that are there.
        vectors: Of their texts until now.
        arrival: Number of the next new message.
    """
    now = datetime.now(UTC)
    rows = []
    for message in messages:
        if message.id in replaced:
            vector = to_bytes(vectors.get(message.id))
            old = replaced[message.id]
            rows.append(edited(old, message, version=version, now=now, vector=vector))
        else:
            rows.append(Row(message, arrival, version, stored_at=now))
            arrival += 1
    return rows
