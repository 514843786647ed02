"""Chroma, in this process or on a server, with the few calls a store needs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, Self

import httpx
from chromadb.api import ClientAPI, ServerAPI
from chromadb.api.collection_configuration import CreateCollectionConfiguration
from chromadb.api.models.Collection import Collection
from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT, Settings, System
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
    except Exception as error:
        # Chroma raises a bare Exception for an answer that is not its own, such as a proxy's "Bad Gateway".
        is_plain = type(error) is Exception
        if not is_plain and not isinstance(
            error, ChromaError | httpx.HTTPError | ValueError | OSError
        ):
            raise
        hint = ""
        if "hnsw" in str(error).lower():
            hint = (
                ". Files of its index are damaged or missing: restore them, or delete the store and "
                "import its messages again."
            )
        raise StoreError(f"Store {where}: Chroma says: {error}{hint}") from error


def cut_log(collection: Collection) -> None:
    """Have Chroma cut its log, in which deleted rows stay: it does so once there is more than the threshold."""
    # Writes that change nothing.
    collection.delete(ids=[f"tmem-no-such-row-{n}" for n in range(SYNC_THRESHOLD + 1)])


class OwnChroma:
    """An instance of Chroma that is used by one store alone.

    Chroma's own clients share one instance per path, and one for all that is in memory: then they see
    each other's collections, must agree in all settings, and go on reading vectors from memory after
    another process wrote. So this one is built from Chroma's parts.
    """

    def __init__(self, settings: Settings, *, tenant: str, database: str) -> None:
        self._tenant, self._database = tenant, database
        system = System(settings)
        # Chroma finds the implementation of an abstract class by its settings.
        self._server: ServerAPI = system.instance(ServerAPI)  # type: ignore[type-abstract]
        system.start()
        # Stopped when the last call in flight has let go of it, or the process ends.
        weakref.finalize(self, system.stop)

    @classmethod
    def local(cls, folder: Path | None) -> Self:
        """In this process.

        Args:
            folder: Where it keeps its files; None keeps all in memory.
        """
        settings = Settings(
            anonymized_telemetry=False,
            is_persistent=folder is not None,
            persist_directory=str(folder or ""),
        )
        return cls(settings, tenant=DEFAULT_TENANT, database=DEFAULT_DATABASE)

    @classmethod
    def remote(
        cls,
        host: str,
        port: int,
        *,
        ssl: bool,
        headers: dict[str, str] | None,
        tenant: str,
        database: str,
        timeout: float,
    ) -> Self:
        """On a server.

        Args:
            headers: Sent with each request.
            timeout: Seconds to wait for an answer.
        """
        settings = Settings(
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=host,
            chroma_server_http_port=port,
            chroma_server_ssl_enabled=ssl,
            chroma_server_headers=dict(headers or {}),
        )
        chroma = cls(settings, tenant=tenant, database=database)
        session = chroma._session()
        if session is not None:
            session.timeout = timeout
        return chroma

    def names(self) -> list[str]:
        """Names of all collections."""
        return [
            model.name
            for model in self._server.list_collections(tenant=self._tenant, database=self._database)
        ]

    def get(self, name: str) -> Collection:
        """The collection as it is now."""
        model = self._server.get_collection(name, tenant=self._tenant, database=self._database)
        return Collection(self._server, model, embedding_function=None)

    def create(self, name: str, metadata: CollectionMetadata) -> Collection:
        """A new collection that is given its vectors."""
        model = self._server.create_collection(
            name,
            metadata=metadata,
            configuration=_CONFIGURATION.copy(),
            tenant=self._tenant,
            database=self._database,
        )
        return Collection(self._server, model, embedding_function=None)

    def drop(self, name: str) -> None:
        """Delete a collection with all its rows."""
        self._server.delete_collection(name, tenant=self._tenant, database=self._database)

    def max_batch_size(self) -> int:
        """How many rows one call may write."""
        return self._server.get_max_batch_size()

    def close(self) -> None:
        """Close the connection to a server; files and memory are let go with the last call in flight."""
        session = self._session()
        if session is not None:
            session.close()

    def _session(self) -> httpx.Client | None:
        """The connection to a server. Chroma has no setting for its timeout and never closes it."""
        session = getattr(self._server, "_session", None)
        return session if isinstance(session, httpx.Client) else None


class SharedChroma:
    """A client of Chroma that somebody else made and will close."""

    def __init__(self, client: ClientAPI) -> None:
        self._client = client

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
        """Nothing: the client is not ours."""
