"""Whether what Milvus searches agrees with the messages it keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tmem_integrations.errors import MessageError
from tmem_integrations.stores.milvus_catalogue import Built
from tmem_integrations.stores.milvus_rows import Entity, to_entity, to_message
from tmem_integrations.stores.milvus_table import MilvusTable

_COMPARED = (
    "key", "channel", "topic", "author", "author_id", "place", "sent", "known", "terms",
)  # fmt: skip


def find_problems(
    table: MilvusTable, condition: str, channels: frozenset[str], built: Built, tenant: str | None
) -> Iterator[str]:
    """Compare each row's message with what filters and searches read of it.

    Args:
        table: The messages.
        condition: Which of them.
        channels: Those that are listed.
        built: How the words were split.
        tenant: Whose messages.

    Yields:
        One sentence per problem. Message ids are named, texts are not.
    """
    met: set[str] = set()
    for page in table.pages(condition, [*_COMPARED, "id", "arrival", "record", "words"]):
        for row in page:
            yield from _compare(row, built, tenant, met)
    for name in sorted(met - channels):
        yield f"Channel {name!r} has messages but is not listed."
    for name in sorted(channels - met):
        yield f"Channel {name!r} is listed but has no messages."


def _compare(row: Entity, built: Built, tenant: str | None, met: set[str]) -> Iterator[str]:
    try:
        message = to_message(row)
    except (KeyError, TypeError, ValueError, MessageError) as error:
        yield f"Message {row['id']!r} cannot be read: {error}"
        return
    if message.channel is not None:
        met.add(message.channel)
    wanted = to_entity(message, row["arrival"], language=built.language, tenant=tenant)
    for name in _COMPARED:
        if row[name] != wanted[name]:
            yield f"Message {message.id!r} has another {name} in the index than in its record."
    words, kept = wanted["words"], row["words"]
    if words.keys() != kept.keys() or not np.allclose(
        [words[n] for n in words], [kept[n] for n in words], rtol=1e-5
    ):
        yield f"Message {message.id!r} has other words in the lexical index."
