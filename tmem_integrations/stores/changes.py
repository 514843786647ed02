"""What an ingest asks of any store: which message holds, whether it is a change, what of it is stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from tmem_integrations.errors import IngestError, InputError, MessageError, StoreError
from tmem_integrations.messages import Message
from tmem_integrations.protocols import IngestReport, Vectors

# Vectors pass through float32 on their way to a database and back.
_SAME_VECTOR = 1e-6


def last_of_each(messages: Sequence[Message]) -> tuple[list[int], IngestReport]:
    """Of a repeated id the last message holds, at the place of the first.

    Returns:
        Positions of the messages that hold, and what the others count as.

    Raises:
        MessageError: If something is no message.
    """
    latest: dict[str, int] = {}
    report = IngestReport()
    for index, message in enumerate(messages):
        if not isinstance(message, Message):
            raise MessageError(f"upsert takes Message records, got {message!r:.100}.")
        if message.id in latest:
            same = messages[latest[message.id]] == message
            report += IngestReport(unchanged=1) if same else IngestReport(updated=1)
        latest[message.id] = index
    return list(latest.values()), report


def distinct_ids(ids: Collection[str]) -> list[str]:
    """The ids that are to be deleted, each once.

    Raises:
        InputError: If `ids` is a text.
    """
    if isinstance(ids, str):
        raise InputError(f"delete takes several ids, got the text {ids!r}; pass [{ids!r}].")
    return list(dict.fromkeys(ids))


def differs(new: Vectors | None, kept: Vectors | None) -> bool:
    """Whether a message needs its vector written; without a new one it keeps what it has."""
    if new is None:
        return False
    return kept is None or not np.allclose(kept, new, rtol=0, atol=_SAME_VECTOR)


def to_bytes(vector: Vectors | None) -> bytes:
    """A vector as `versions.Earlier` keeps it: float32; empty where there is none."""
    return b"" if vector is None or not vector.any() else vector.astype("<f4").tobytes()


def stored_in_part(
    name: str,
    error: StoreError,
    done: Sequence[str],
    batch: Sequence[Message],
    there: Mapping[str, Message],
    n_messages: int,
) -> IngestError:
    """The error of an ingest that failed in one of its batches.

    Args:
        name: How errors call the store.
        error: What the batch failed with.
        done: Ids of the messages of earlier batches.
        batch: The one that failed.
        there: What is stored of it.
        n_messages: How many there were to store.
    """
    stored = (*done, *(m.id for m in batch if there.get(m.id) == m))
    return IngestError(
        f"Store {name}: {len(stored)} of {n_messages} messages are stored; run the same ingest again "
        f"for the rest. {error}",
        stored=stored,
    )
