"""Rows of record in a Chroma collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any, cast

import numpy as np
from chromadb.api.models.Collection import Collection
from chromadb.api.types import Include, Metadata
from numpy.typing import NDArray

from tmem_integrations.errors import StoreError, StoreMismatchError
from tmem_integrations.protocols import Vectors
from tmem_integrations.stores.chroma_client import (
    ChromaClient,
    CollectionMetadata,
    chroma_errors,
    cut_log,
)
from tmem_integrations.stores.rows import from_metadata, to_metadata
from tmem_integrations.stores.table import SCHEMA, Manifest
from tmem_integrations.stores.versions import Row

# One read may name so many ids; Chroma turns each into a variable of an SQL statement.
_LARGEST_BATCH = 5_000
# Pages of a read are larger: Chroma walks over all rows before a page, and metadata need one variable a row
# where writing needs six.
_BATCHES_A_PAGE = 4
SCHEMA_KEY = "tmem_schema"


class ChromaTable:
    """A `Table` in a collection of Chroma.

    Args:
        connect: Opens Chroma; called again when what it holds in memory is outdated.
        collection: Name of the collection; made when Chroma holds none at all, or `create` is set.
        name: How errors call the store.
        create: Make the collection next to others where it is missing.
        read_only: Never make it.
        write_mark: See `Table.write_mark`; None where somebody may write unnoticed.
        after_flush: Removes deleted rows from the files; None where there are no files of ours.

    Raises:
        StoreError: If Chroma cannot be opened, or the collection is missing or not ours.
        StoreMismatchError: If the collection has another schema.
    """

    def __init__(
        self,
        connect: Callable[[], ChromaClient],
        *,
        collection: str,
        name: str,
        create: bool = True,
        read_only: bool = False,
        write_mark: Callable[[], int | None] | None = None,
        after_flush: Callable[[], None] | None = None,
    ) -> None:
        self._connect = connect
        self._name = collection
        self._where = name
        self._write_mark = write_mark
        self._after_flush = after_flush
        self._is_outdated = False
        # Client and collection are replaced together; a call keeps both until it is done.
        with chroma_errors(name):
            client = connect()
            try:
                found = self._find(client, create=create, read_only=read_only)
                self._batch_size = min(client.max_batch_size(), _LARGEST_BATCH)
            except BaseException:
                client.close()
                raise
        self._connection: tuple[ChromaClient, Collection] | None = (client, found)

    @property
    def store_id(self) -> str:
        """Of these rows; a table that starts over has another."""
        return str(self._open()[1].id)

    @property
    def batch_size(self) -> int:
        """How many rows one `write` may have."""
        return self._batch_size

    def write_mark(self) -> int | None:
        """A number that is the same as long as nobody wrote; None when only the manifest can tell."""
        self._open()
        return None if self._write_mark is None else self._write_mark()

    def read_manifest(self) -> Manifest:
        """The manifest as it is in the database now."""
        with chroma_errors(self._where):
            client, _ = self._open()
            collection = client.get(self._name)
        if self._connection is not None and self._connection[0] is client:
            self._connection = (client, collection)
        return _to_manifest(collection.metadata, self._where)

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        with chroma_errors(self._where):
            _, collection = self._open()
            collection.modify(metadata=_from_manifest(manifest))

    def start_over(self, manifest: Manifest) -> None:
        """Replace an empty table by one that takes vectors of the manifest's dimension."""
        with chroma_errors(self._where):
            client, collection = self._open()
            if collection.count():
                raise StoreError(f"Store {self._where} is not empty and cannot start over.")
            client.drop(self._name)
            self._connection = (client, client.create(self._name, _from_manifest(manifest)))

    def count(self) -> int:
        """How many rows there are."""
        with chroma_errors(self._where):
            return self._open()[1].count()

    def write(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Add or replace rows of distinct ids."""
        with chroma_errors(self._where):
            _, collection = self._open()
            collection.upsert(
                ids=[row.message.id for row in rows],
                # No documents: Chroma indexes each three letters of them, which takes more time and room
                # than all else of a row, and nobody searches there.
                embeddings=vectors,
                metadatas=[cast(Metadata, to_metadata(row)) for row in rows],
            )

    def erase(self, ids: Sequence[str]) -> None:
        """Remove rows that are there, their vectors too."""
        with chroma_errors(self._where):
            _, collection = self._open()
            width = collection.get_model().dimension
            if width is not None:
                # Chroma only marks a deleted vector; its numbers would stay in the files.
                collection.update(ids=list(ids), embeddings=np.zeros((len(ids), width), np.float32))
            collection.delete(ids=list(ids))

    def read(self, ids: Sequence[str]) -> dict[str, Row]:
        """Rows by id; unknown ids are left out."""
        if not ids:
            return {}
        return {row.message.id: row for row in self._get(ids=list(ids))}

    def pages(self, *, newer_than: int | None = None) -> Iterator[list[Row]]:
        """All rows, or those changed after a version, in pieces."""
        where = None if newer_than is None else {"version": {"$gt": newer_than}}
        size, offset = _BATCHES_A_PAGE * self._batch_size, 0
        while page := self._get(where=where, limit=size, offset=offset):
            yield page
            offset += len(page)

    def ids(self) -> set[str]:
        """The ids of all rows."""
        found: set[str] = set()
        size, offset = _BATCHES_A_PAGE * self._batch_size, 0
        with chroma_errors(self._where):
            collection = self._open()[1]
            while page := collection.get(limit=size, offset=offset, include=[])["ids"]:
                found.update(page)
                offset += len(page)
        return found

    def read_vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors by id; unknown ids are left out."""
        if not ids:
            return {}
        if self._is_outdated:
            self._reconnect()
        try:
            return self._get_vectors(ids)
        except StoreError as error:
            # Written between our last look and now: look afresh once.
            self._reconnect()
            try:
                return self._get_vectors(ids)
            except StoreError:
                raise StoreError(
                    f"Store {self._where}: vectors are missing from its files; delete the store and import "
                    f"its messages again. ({error})"
                ) from error

    def forget_cached(self) -> None:
        """Another process wrote: the vectors in memory are not the stored ones any more."""
        self._is_outdated = True

    def scrub(self) -> None:
        """Push deleted rows out of Chroma's log, then out of the files. A server's files only its owner can
        rewrite, with `chroma vacuum`.
        """
        with chroma_errors(self._where):
            cut_log(self._open()[1])
        if self._after_flush is not None:
            self._after_flush()

    def close(self) -> None:
        """Release it. Closing twice is fine."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection[0].close()

    def _find(self, client: ChromaClient, *, create: bool, read_only: bool) -> Collection:
        names = client.names()
        if self._name in names:
            return client.get(self._name)
        if read_only or (names and not create):
            others = f"; it holds {', '.join(sorted(names))}" if names else ""
            raise StoreError(
                f"Store {self._where} has no collection {self._name!r}{others}. Choose another place, or "
                "name the collection of a store that is there."
            )
        return client.create(self._name, _from_manifest(Manifest()))

    def _open(self) -> tuple[ChromaClient, Collection]:
        if self._connection is None:
            raise StoreError(f"Store {self._where} is closed; open it again.")
        return self._connection

    def _reconnect(self) -> None:
        with chroma_errors(self._where):
            client = self._connect()
            self._is_outdated = False
            self._connection = (client, client.get(self._name))

    def _get(self, **selection: Any) -> list[Row]:
        with chroma_errors(self._where):
            connection = self._open()
            found = connection[1].get(include=["metadatas"], **selection)
        try:
            return [
                from_metadata(one, metadata or {})
                for one, metadata in zip(found["ids"], found["metadatas"] or (), strict=True)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"Store {self._where}: a row of collection {self._name!r} is no message: {error!r}."
            ) from error

    def _get_vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        include: Include = ["embeddings"]
        with chroma_errors(self._where):
            connection = self._open()
            found = connection[1].get(ids=list(ids), include=include)
        vectors = found["embeddings"]
        if vectors is None:
            return {}
        rows = np.asarray(vectors, dtype=np.float32)
        return dict(zip(found["ids"], rows, strict=True))


def _from_manifest(manifest: Manifest) -> CollectionMetadata:
    known = {name: value for name, value in asdict(manifest).items() if value is not None}
    return {SCHEMA_KEY: SCHEMA, **known}


def _to_manifest(metadata: CollectionMetadata | None, where: str) -> Manifest:
    known = metadata or {}
    if SCHEMA_KEY not in known:
        raise StoreError(
            f"Store {where}: the collection holds somebody else's documents; choose another name."
        )
    if known[SCHEMA_KEY] != SCHEMA:
        raise StoreMismatchError(
            f"Store {where} was built with schema {known[SCHEMA_KEY]}, this version reads {SCHEMA}; "
            "install the version that built it, or import the messages again."
        )
    names = {field.name for field in fields(Manifest)}
    return Manifest(**{name: value for name, value in known.items() if name in names})
