"""The store of messages in Chroma: in memory, in a folder, or on a server."""

from __future__ import annotations

import itertools
from os import PathLike
from pathlib import Path
from typing import Self

from chromadb.api import ClientAPI
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection
from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT
from filelock import FileLock

from tmem_integrations.models import verdicts
from tmem_integrations.stores import derived
from tmem_integrations.stores.chroma_client import (
    ChromaClient,
    OwnChroma,
    SharedChroma,
    chroma_errors,
)
from tmem_integrations.stores.chroma_derived import ChromaRows
from tmem_integrations.stores.chroma_table import SCHEMA_KEY, ChromaTable
from tmem_integrations.stores.folder import (
    WriteWatch,
    blank_spare,
    lock_folder,
    require_folder,
    vacuum,
)
from tmem_integrations.stores.indexed import IndexedStore
from tmem_integrations.stores.snapshot import Snapshot
from tmem_integrations.stores.vector_copy import VectorCopy

COLLECTION = "tmem"
_in_memory = itertools.count(1)


class ChromaStore(IndexedStore):
    """A `MessageStore` in Chroma; make it with one of its constructors.

    All constructors share some arguments. `model` and `dimension` say what made the vectors and are
    checked against what the store was built with; None does not check. `language` says how words are
    split, see `text.split_terms`; `read_only` refuses to write.

    One store may be used by many threads at once: questions read what was there when their view was made
    while others write, and writes wait for each other. Processes do not share a store object, least of
    all across a fork; each opens the folder or server itself, all but one of them to read.

    Attributes:
        folder: Where it is; None when it is not in a folder of this machine.
    """

    folder: Path | None = None
    _folder_lock: FileLock | None = None
    _watch: WriteWatch | None = None

    @property
    def is_persistent(self) -> bool:
        """Whether it can be opened again from its `folder`."""
        return self.folder is not None

    @classmethod
    def in_memory(
        cls,
        *,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
    ) -> Self:
        """A new store that is gone when it is closed. No other store or client of Chroma sees it."""
        name = f"in memory {next(_in_memory)}"
        client = OwnChroma.local(None)
        table = ChromaTable(
            # Another one would hold nothing of this one.
            lambda: client,
            collection=COLLECTION,
            name=name,
            # Nobody else can write.
            write_mark=lambda: 0,
        )
        return cls(
            table, name=name, model=model, dimension=dimension, language=language, copy=VectorCopy(),
        )  # fmt: skip

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str],
        *,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open the store in a folder, or make it there.

        A folder has one writer at a time, until it closes the store, and any number of readers. A reader
        sees what the writer wrote with its next call.

        Raises:
            StoreLockedError: If it is open for writing already.
            StoreMismatchError: If it was built with another model, dimension or schema.
            StoreError: If the folder is a file, cannot be written, is damaged, or holds something else.
        """
        path = Path(folder).expanduser().absolute()
        require_folder(path, read_only=read_only)
        lock = None if read_only else lock_folder(path)
        table: ChromaTable | None = None
        watch = WriteWatch(path)
        try:
            table = ChromaTable(
                lambda: OwnChroma.local(path),
                collection=COLLECTION,
                name=f"'{folder}'",
                create=False,
                read_only=read_only,
                write_mark=watch.mark,
                after_flush=lambda: _clean(path),
            )
            store = cls(
                table, name=f"'{folder}'", model=model, dimension=dimension, language=language,
                read_only=read_only, snapshot=Snapshot(path), copy=VectorCopy(path),
                derived=derived.SqliteRows(path / derived.FILE, read_only=read_only),
                verdicts=path / verdicts.FILE,
            )  # fmt: skip
        except BaseException:
            watch.close()
            if table is not None:
                table.close()
            if lock is not None:
                lock.release()
            raise
        store.folder, store._folder_lock, store._watch = path, lock, watch
        return store

    @classmethod
    def connect(
        cls,
        host: str = "localhost",
        port: int = 8000,
        *,
        ssl: bool = False,
        headers: dict[str, str] | None = None,
        tenant: str = DEFAULT_TENANT,
        database: str = DEFAULT_DATABASE,
        collection: str = COLLECTION,
        timeout: float = 60.0,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open the store in a collection of a Chroma server, or make it there.

        Nothing keeps two processes from writing at once here: let one of them write, and the others open
        it with `read_only=True`. While the server is away, questions and writes raise a `StoreError` that
        names it; when it is back the same store goes on.

        Args:
            headers: Sent with each request, such as a token.
            timeout: Seconds to wait for an answer of the server.

        Raises:
            StoreMismatchError: If it was built with another model, dimension or schema.
            StoreError: If the server cannot be reached or the collection is not ours.
        """
        name = f"{host}:{port}/{collection}"
        with chroma_errors(name):
            client = OwnChroma.remote(
                host,
                port,
                ssl=ssl,
                headers=headers,
                tenant=tenant,
                database=database,
                timeout=timeout,
            )
        return cls._in_collection(
            client, collection, name, model=model, dimension=dimension, language=language,
            read_only=read_only,
        )  # fmt: skip

    @classmethod
    def from_client(
        cls,
        client: ClientAPI,
        collection_name: str = COLLECTION,
        *,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open the store in a collection of a client of yours, or make it there. The client stays open
        when the store is closed.

        A client of a folder goes on reading vectors from memory when another process writes there; where
        that may be, use `open`.

        Raises:
            StoreMismatchError: If it was built with another model, dimension or schema.
            StoreError: If the collection holds something else.
        """
        return cls._in_collection(
            SharedChroma(client), collection_name, f"'{collection_name}'", model=model,
            dimension=dimension, language=language, read_only=read_only,
        )  # fmt: skip

    @classmethod
    def from_collection(
        cls,
        collection: Collection,
        *,
        model: str | None = None,
        dimension: int | None = None,
        language: str | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open the store in a collection of yours, or make it there when the collection is empty.

        An empty one is replaced by one of the same name with the settings of a store; what you hold is
        void then.

        Raises:
            StoreMismatchError: If it was built with another model, dimension or schema.
            StoreError: If the collection holds something else.
        """
        name = collection.name
        with chroma_errors(f"'{name}'"):
            # A collection knows its server, but not the client it came from.
            client = Client.from_system(
                collection._client._system,
                tenant=collection.tenant,
                database=collection.database,
            )
            current = client.get_collection(name, embedding_function=None)
            is_ours = SCHEMA_KEY in (current.metadata or {})
            if not is_ours and not read_only and current.count() == 0:
                client.delete_collection(name)
        return cls.from_client(
            client, name, model=model, dimension=dimension, language=language, read_only=read_only
        )

    @classmethod
    def _in_collection(
        cls,
        client: ChromaClient,
        collection: str,
        name: str,
        *,
        model: str | None,
        dimension: int | None,
        language: str | None,
        read_only: bool,
    ) -> Self:
        table = ChromaTable(lambda: client, collection=collection, name=name, read_only=read_only)
        try:
            return cls(
                table, name=name, model=model, dimension=dimension, language=language,
                read_only=read_only, derived=ChromaRows(client, collection, name),
            )  # fmt: skip
        except BaseException:
            table.close()
            raise

    def close(self) -> None:
        """Release locks and files. Closing twice is fine."""
        try:
            super().close()
        finally:
            if self._watch is not None:
                self._watch.close()
            if self._folder_lock is not None:
                self._folder_lock.release()


def _clean(folder: Path) -> None:
    vacuum(folder)
    blank_spare(folder)
