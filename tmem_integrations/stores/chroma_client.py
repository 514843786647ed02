"""Chroma, in this process or on a server, with the few calls a store needs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx
from chromadb.api import ClientAPI, ServerAPI
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings, System
from chromadb.errors import ChromaError

from tmem_integrations.errors import StoreError

# Deleted text stays in Chroma's log until so many writes came after it.
SYNC_THRESHOLD = 100
# Chroma is asked for vectors by id only; a thin graph makes ingest more than twice as fast.
_CONFIGURATION: CreateCollectionConfiguration = {
    "hnsw": {
        "space": "l2",
        "ef_construction": 16,
        "ef_search": 16,
        "max_neighbors": 4,
        "sync_threshold": SYNC_THRESHOLD,
    },
    "embedding_function": None,
}

CollectionMetadata = dict[str, Any]


class ChromaClient(Protocol):
    """Collections by name."""

    def names(self) -> list[str]: ...

    def get(self, name: str) -> Collection: ...

    def create(self, name: str, metadata: CollectionMetadata) -> Collection: ...

    def drop(self, name: str) -> None: ...

    def max_batch_size(self) -> int: ...

    def close(self) -> None: ...


@contextmanager
def chroma_errors(where: str) -> Iterator[None]:
    """Turn what Chroma raises into a `StoreError` that names the store."""
    try:
        yield
    except (ChromaError, httpx.HTTPError, ValueError, OSError) as error:
        raise StoreError(f"Store {where}: Chroma says: {error}") from error


class LocalChroma:
    """An instance of Chroma of its own in this process.

    Chroma's own clients share one instance per path, and one for all that is in memory: then they see
    each other's collections, must agree in all settings, and go on reading vectors from memory after
    another process wrote. So this one is built from Chroma's parts.

    Args:
        folder: Where it keeps its files; None keeps all in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        settings = Settings(
            anonymized_telemetry=False,
            is_persistent=folder is not None,
            persist_directory=str(folder or ""),
        )
        system = System(settings)
        # Chroma finds the implementation of an abstract class by its settings.
        self._server: ServerAPI = system.instance(ServerAPI)  # type: ignore[type-abstract]
        system.start()
        # Stopped when the last call in flight has let go of it, or the process ends.
        self._stop = weakref.finalize(self, system.stop)

    def names(self) -> list[str]:
        """Names of all collections."""
        return [model.name for model in self._server.list_collections()]

    def get(self, name: str) -> Collection:
        """The collection as it is now."""
        return Collection(self._server, self._server.get_collection(name), embedding_function=None)

    def create(self, name: str, metadata: CollectionMetadata) -> Collection:
        """A new collection that is given its vectors."""
        model = self._server.create_collection(
            name, metadata=metadata, configuration=_CONFIGURATION.copy()
        )
        return Collection(self._server, model, embedding_function=None)

    def drop(self, name: str) -> None:
        """Delete a collection with all its rows."""
        self._server.delete_collection(name)

    def max_batch_size(self) -> int:
        """How many rows one call may write."""
        return self._server.get_max_batch_size()

    def close(self) -> None:
        """Let go of files and memory once no call is in flight."""


class SharedChroma:
    """A client of Chroma that somebody else made or that talks to a server.

    Args:
        owned: Whether it is closed with the store.
    """

    def __init__(self, client: ClientAPI, *, owned: bool) -> None:
        self._client = client
        self._owned = owned

    def names(self) -> list[str]:
        """Names of all collections."""
        return [collection.name for collection in self._client.list_collections()]

    def get(self, name: str) -> Collection:
        """The collection as it is now."""
        return self._client.get_collection(name, embedding_function=None)

    def create(self, name: str, metadata: CollectionMetadata) -> Collection:
        """A new collection that is given its vectors."""
        return self._client.create_collection(
            name, metadata=metadata, configuration=_CONFIGURATION.copy(), embedding_function=None
        )

    def drop(self, name: str) -> None:
        """Delete a collection with all its rows."""
        self._client.delete_collection(name)

    def max_batch_size(self) -> int:
        """How many rows one call may write."""
        return self._client.get_max_batch_size()

    def close(self) -> None:
        """Close the client if it is ours."""
        close = getattr(self._client, "close", None)
        if self._owned and close is not None:
            self._owned = False
            close()
