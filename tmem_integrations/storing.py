"""Messages into a store, each with its vector, and vectors for those that have none.

Some at a time: that bounds memory, and what a crash can lose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from tmem_integrations.batches import batches
from tmem_integrations.errors import IngestError, StoreError
from tmem_integrations.messages import Message, Scope
from tmem_integrations.protocols import Embedder, IngestReport, MessageStore, Vectors

_CHUNK = 2_000


def store_in_chunks(
    messages: Collection[Message], write: Callable[[Sequence[Message]], IngestReport]
) -> IngestReport:
    """Write messages some at a time.

    Args:
        messages: In order of arrival.
        write: Stores a chunk.

    Raises:
        StoreError: If the first chunk could not be written, and nothing is stored.
        IngestError: If the store failed part-way; it names what is stored.
    """
    total = IngestReport()
    stored: list[str] = []
    for chunk in batches(messages, _CHUNK):
        try:
            total += write(chunk)
        except StoreError as error:
            partly = isinstance(error, IngestError)
            stored += error.stored if isinstance(error, IngestError) else ()
            if not stored and not partly:
                raise
            raise IngestError(
                f"{len(stored)} of {len(messages)} messages are stored; run the same call again for "
                f"the rest. {error.__cause__ if partly else error}",
                stored=tuple(stored),
            ) from error
        stored.extend(m.id for m in chunk)
    return total


def store_changes(
    messages: Sequence[Message], store: MessageStore, embedder: Embedder | None
) -> tuple[IngestReport, list[str]]:
    """Store what is new or changed; an unchanged message costs no embedding, unless it lost its vector.

    Returns:
        What was done, and the ids of the messages that were there and said something else.
    """
    known = store.get(m.id for m in messages)
    fresh = [m for m in messages if known.get(m.id) != m]
    vectors = embedder.embed([m.text for m in fresh]) if embedder and fresh else None
    lost, made = _remade([m.id for m in messages if known.get(m.id) == m], store, embedder)
    report = IngestReport(unchanged=len(messages) - len(fresh) - len(lost))
    if lost:
        report += store.upsert(lost, made)
    if fresh:
        report += store.upsert(fresh, vectors)
    return report, [m.id for m in fresh if m.id in known]


def remake_vectors(
    store: MessageStore, embedder: Embedder | None
) -> Iterator[tuple[list[Message], Vectors | None]]:
    """Messages of a store without a vector whose text has one, and their vectors, some at a time."""
    for ids in batches(store.ids(Scope()), _CHUNK):
        yield _remade(ids, store, embedder)


def _remade(
    ids: Sequence[str], store: MessageStore, embedder: Embedder | None
) -> tuple[list[Message], Vectors | None]:
    if embedder is None or not ids:
        return [], None
    view = store.view(Scope())
    rows = view.rows_of(ids)
    kept = view.vectors(rows)
    if kept is None:
        return [], None
    blank = rows[~kept.any(axis=1)]
    lost = [m for m in view.load(blank) if m is not None and m.text.strip()]
    if not lost:
        return [], None
    made = embedder.embed([m.text for m in lost])
    places = [place for place, vector in enumerate(made) if vector.any()]
    return [lost[place] for place in places], made[places]
