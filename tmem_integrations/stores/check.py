"""Whether what finds messages agrees with what is stored."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tmem_integrations.errors import StoreError
from tmem_integrations.protocols import partition_of
from tmem_integrations.stores.legs import Legs
from tmem_integrations.stores.table import Manifest, Table
from tmem_integrations.stores.vector_copy import FILE, VectorCopy
from tmem_integrations.stores.versions import Row, versions_of
from tmem_integrations.times import to_microseconds


def find_problems(
    table: Table, manifest: Manifest, legs: Legs, copy: VectorCopy | None = None
) -> Iterator[str]:
    """Compare each row of record with the legs, and the copy of its vector with the vector.

    Yields:
        One sentence per problem. Message ids are named, texts are not.
    """
    seen: set[str] = set()
    arrivals: dict[int, str] = {}
    for page in table.pages():
        for row in page:
            seen.add(row.message.id)
            yield from _compare(row, legs)
            other = arrivals.setdefault(row.arrival, row.message.id)
            if other != row.message.id:
                yield f"Messages {other!r} and {row.message.id!r} have one arrival number."
        if manifest.dimension is not None:
            yield from _check_vectors(table, manifest.dimension, page, copy)
    for message_id in legs:
        if message_id not in seen:
            yield f"Message {message_id!r} is found but not stored."
    if table.count() != len(seen):
        yield f"The database counts {table.count()} messages but gives {len(seen)}."


def _compare(row: Row, legs: Legs) -> Iterator[str]:
    message = row.message
    if message.id not in legs:
        yield f"Message {message.id!r} is stored but not found."
        return
    columns, found = legs.timeline.columns, legs.versions(message.id)
    if [version for _, version in found] != versions_of(row):
        yield f"Message {message.id!r} is not shown as it is stored."
    for slot, version in found:
        if not columns.alive[slot] or columns.sent[slot] != to_microseconds(message.sent_at):
            yield f"Message {message.id!r} has another time on the timeline."
        if legs.timeline.partition_code(partition_of(message)) != columns.partition[slot]:
            yield f"Message {message.id!r} is in another partition on the timeline."
        if legs.lexical.lengths(np.array([slot]))[0] != len(legs.terms(version.message)):
            yield f"Message {message.id!r} has other words in the lexical index."


def _check_vectors(
    table: Table, dimension: int, page: list[Row], copy: VectorCopy | None
) -> Iterator[str]:
    ids = [row.message.id for row in page]
    try:
        vectors = table.read_vectors(ids)
    except StoreError as error:
        yield f"The vectors of {len(ids)} messages from {ids[0]!r} on cannot be read: {error}"
        return
    for message_id in ids:
        if message_id not in vectors:
            yield f"Message {message_id!r} has no vector."
        elif len(vectors[message_id]) != dimension:
            yield (
                f"Message {message_id!r} has a vector of {len(vectors[message_id])} d "
                f"instead of {dimension} d."
            )
    if copy is None:
        return
    arrivals = np.array([row.arrival for row in page], dtype=np.int64)
    copied, known = copy.read(arrivals, [row.message for row in page], dimension)
    for message_id, is_known, own in zip(ids, known.tolist(), copied, strict=True):
        if is_known and message_id in vectors and not np.array_equal(own, vectors[message_id]):
            yield f"Message {message_id!r} has another vector in {FILE}; that file may be deleted."
