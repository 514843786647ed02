"""Whether what Milvus searches agrees with the messages it keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tmem_integrations.errors import MessageError
from tmem_integrations.stores.milvus_catalogue import Built
from tmem_integrations.stores.milvus_rows import Entity, to_entities, to_row
from tmem_integrations.stores.milvus_table import MilvusTable
from tmem_integrations.stores.versions import NEVER

_COMPARED = (
    "key", "owner", "channel", "topic", "author", "author_id", "place", "sent", "known", "until", "arrival",
    "terms", "record", "earlier",
)  # fmt: skip


def find_problems(
    table: MilvusTable, condition: str, channels: frozenset[str], built: Built, tenant: str | None
) -> Iterator[str]:
    """Compare the rows of each message with what its present row says they are.

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
    fields = [*_COMPARED, "id", "words"]
    claimed: set[str] = set()
    past: dict[str, str] = {}
    for page in table.pages(condition, fields):
        past |= {row["key"]: row["id"] for row in page if row["until"] != NEVER}
        for row in page:
            if row["until"] == NEVER:
                yield from _compare(row, table, built, tenant, met, claimed)
    for key in past.keys() - claimed:
        yield f"Message {past[key]!r} has a version in the index that is not in its record."
    for name in sorted(met - channels):
        yield f"Channel {name!r} has messages but is not listed."
    for name in sorted(channels - met):
        yield f"Channel {name!r} is listed but has no messages."


def _compare(
    present: Entity,
    table: MilvusTable,
    built: Built,
    tenant: str | None,
    met: set[str],
    claimed: set[str],
) -> Iterator[str]:
    try:
        row = to_row(present)
    except (KeyError, TypeError, ValueError, MessageError) as error:
        yield f"Message {present['id']!r} cannot be read: {error}"
        return
    if row.message.channel is not None:
        met.add(row.message.channel)
    *past, now = to_entities(row, None, language=built.language, tenant=tenant)
    stored = table.read([one["key"] for one in past], [*_COMPARED, "words"])
    claimed.update(stored)
    for wanted, kept in ((now, present), *((one, stored.get(one["key"])) for one in past)):
        if kept is None:
            yield f"Message {row.message.id!r} has a version in its record that is not in the index."
            continue
        for name in _COMPARED:
            if kept[name] != wanted[name]:
                yield f"Message {row.message.id!r} has another {name} in the index than in its record."
        if not _same_words(wanted["words"], kept["words"]):
            yield f"Message {row.message.id!r} has other words in the lexical index."


def _same_words(wanted: dict[int, float], kept: dict[int, float]) -> bool:
    same = wanted.keys() == kept.keys()
    return same and np.allclose([wanted[n] for n in wanted], [kept[n] for n in wanted], rtol=1e-5)
