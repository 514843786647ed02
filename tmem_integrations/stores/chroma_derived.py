"""Derived rows in a collection of Chroma: for stores on a server or of a client, which have no folder.

A write removes rows first and adds others then. Who is killed in between leaves messages of which
something is to be made anew, never something without its messages. What is erased leaves the files as
deleted messages do: when Chroma cuts its log, and its owner vacuums the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from chromadb.api.models.Collection import Collection as ChromaCollection
from chromadb.api.types import Metadata, Where

from tmem_integrations.batches import batches
from tmem_integrations.protocols import FILED, DerivedKey, DerivedRow
from tmem_integrations.stores.chroma_client import ChromaClient, chroma_errors, cut_log
from tmem_integrations.stores.derived import ErasureLog

_LARGEST_BATCH = 2_000
_VERSION = "tmem_derived_version"
# One key of metadata a group: a list could be asked too, but not of every Chroma since 1.0.
_GROUP = "of:"


class ChromaRows(ErasureLog):
    """`DerivedRows` in a collection beside that of the messages, which is made with the first row.

    Args:
        client: That of the messages.
        collection: Name of the collection of the messages.
        name: How errors call the store.
    """

    def __init__(self, client: ChromaClient, collection: str, name: str) -> None:
        super().__init__()
        self._client = client
        self._name = f"{collection}-derived"
        self._where = name
        self._version = 0
        self._n_foreign = 0

    def write_mark(self) -> int:
        """A number that is the same as long as no other process wrote."""
        with chroma_errors(self._where):
            collection = self._find()
            version = 0 if collection is None else _version_of(collection)
            if version != self._version:
                self._version, self._n_foreign = version, self._n_foreign + 1
            return self._n_foreign

    def rows(self) -> list[DerivedRow]:
        """All rows."""
        with chroma_errors(self._where):
            collection = self._find()
            return [] if collection is None else list(_pages(collection))

    def write(self, rows: Sequence[DerivedRow], dropped: Iterable[DerivedKey] = ()) -> None:
        """Remove some rows, then add or replace others."""
        with chroma_errors(self._where), self.lock:
            collection = self._find() or self._client.create(self._name, {_VERSION: 0})
            _delete(collection, [_id_of(key) for key in dropped])
            for batch in batches(rows, _LARGEST_BATCH):
                # An upsert keeps the keys it does not name: a replaced row would keep its old groups.
                _delete(collection, [_id_of(row.key) for row in batch])
                collection.add(
                    ids=[_id_of(row.key) for row in batch],
                    embeddings=np.zeros((len(batch), 1), np.float32),
                    metadatas=[_from_row(row) for row in batch],
                )
            self._tell(collection)

    def erase(self, message_ids: Collection[str], *, keeps_filed: bool = False) -> int:
        """Remove all that was made of messages; returns how many rows.

        Args:
            message_ids: Of messages that are edited or deleted next.
            keeps_filed: Only edited: in which group each is filed is kept.
        """
        with chroma_errors(self._where), self.lock:
            collection = self._find()
            if collection is None:
                return 0
            places = [_id_of((FILED, one)) for one in message_ids]
            filed = [
                row
                for part in batches(places, _LARGEST_BATCH)
                for row in _pages(collection, ids=part)
            ]
            keys: dict[DerivedKey, None] = {}
            for group in {group for row in filed for group in row.made_of}:
                made = _pages(collection, where={_GROUP + group: True})
                keys |= dict.fromkeys(row.key for row in made if row.kind != FILED)
            # Last: whoever is killed before finds the rest by them.
            if not keeps_filed:
                keys |= dict.fromkeys(row.key for row in filed)
            if keys:
                _delete(collection, [_id_of(key) for key in keys])
                self._tell(collection)
                self._erased += keys
            return len(keys)

    def scrub(self) -> None:
        """Push erased rows out of Chroma's log."""
        with chroma_errors(self._where):
            collection = self._find()
            if collection is not None:
                cut_log(collection)

    def close(self) -> None:
        """Nothing: the client is closed with the messages."""

    def _find(self) -> ChromaCollection | None:
        return self._client.get(self._name) if self._name in self._client.names() else None

    def _tell(self, collection: ChromaCollection) -> None:
        """Let other processes see that something changed."""
        self._version = _version_of(collection) + 1
        collection.modify(metadata={_VERSION: self._version})


def _version_of(collection: ChromaCollection) -> int:
    return int((collection.metadata or {}).get(_VERSION, 0))


def _pages(
    collection: ChromaCollection, *, ids: list[str] | None = None, where: Where | None = None
) -> Iterator[DerivedRow]:
    offset = 0
    while page := collection.get(
        ids=ids, where=where, limit=_LARGEST_BATCH, offset=offset, include=["metadatas"]
    )["metadatas"]:
        yield from map(_to_row, cast("list[dict[str, Any]]", page))
        offset += len(page)


def _delete(collection: ChromaCollection, ids: Sequence[str]) -> None:
    for batch in batches(ids, _LARGEST_BATCH):
        collection.delete(ids=batch)


def _id_of(key: DerivedKey) -> str:
    return ":".join(key)


def _from_row(row: DerivedRow) -> Metadata:
    groups = {_GROUP + group: True for group in row.made_of}
    return {"kind": row.kind, "id": row.id, "body": row.body, **groups}


def _to_row(data: dict[str, Any]) -> DerivedRow:
    groups = frozenset(key.removeprefix(_GROUP) for key in data if key.startswith(_GROUP))
    return DerivedRow(data["kind"], data["id"], data["body"], groups)
