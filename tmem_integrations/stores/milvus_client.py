"""A connection to Milvus: a cluster by its address, or milvus-lite on a file of this machine.

Milvus-lite is a server of its own, in a thread of this process. It is started for the first store on a
file, serves all others of this process, and ends with the last of them, since only then another
process may open the file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tmem_integrations.errors import (
    ConfigError,
    MissingExtraError,
    StoreError,
    StoreLockedError,
)

if TYPE_CHECKING:
    from pymilvus import MilvusClient


_SCHEMES = ("http://", "https://", "tcp://", "unix:")
# pymilvus says so when nobody answers at the address.
_UNREACHABLE = 2
_NOT_LOADED = 101
T = TypeVar("T")
# pymilvus asks every ten seconds whether an idle connection still is one; gRPC servers, milvus-lite's
# too, hang up on who asks that often. And gRPC waits up to two minutes before it tries again to reach a
# server that was away.
_GRPC_OPTIONS = {
    "grpc.keepalive_time_ms": 300_000,
    "grpc.keepalive_permit_without_calls": False,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 500,
    "grpc.max_reconnect_backoff_ms": 1_000,
}


@dataclass
class _Server:
    """milvus-lite on one file.

    Attributes:
        n_users: How many stores of this process use it.
        writing: Held by who writes.
    """

    server: Any
    database: Any
    port: int
    n_users: int = 0
    writing: threading.RLock = field(default_factory=threading.RLock)


_servers: dict[Path, _Server] = {}
_servers_lock = threading.Lock()


class Milvus:
    """A client of its own, for one store.

    Attributes:
        is_lite: Whether it is milvus-lite that answers, in this process or elsewhere.
        writing: To be held by who writes: milvus-lite takes no two writes at once, and loses rows of one
            that comes while it flushes.

    Args:
        uri: Address such as "http://localhost:19530", or a file that ends in ".db".
        token: "user:password" or an API key.
        database: Of the cluster; its default one when empty.
        timeout: Seconds after which a call is given up.

    Raises:
        ConfigError: If `uri` is neither address nor file.
        MissingExtraError: If pymilvus, or for a file milvus-lite, is not installed.
        StoreLockedError: If another process has the file open.
        StoreError: If nobody answers.
    """

    client: MilvusClient

    def __init__(self, uri: str, *, token: str | None, database: str, timeout: float) -> None:
        try:
            from pymilvus import MilvusClient
        except ModuleNotFoundError as error:
            raise MissingExtraError("pymilvus", "milvus", "A store in Milvus") from error
        # What it logs as an error it also raises.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        self.uri = uri
        self.timeout = timeout
        self.file = _file_of(uri)
        self.writing: AbstractContextManager[Any] = nullcontext()
        address = uri
        if self.file is not None:
            address = _start(self.file)
            self.writing = _servers[self.file].writing
        try:
            with self.errors():
                self.client = MilvusClient(
                    address,
                    token=token or "",
                    db_name=database,
                    timeout=timeout,
                    dedicated=True,
                    grpc_options=_GRPC_OPTIONS,
                )
                version: str = self.client.get_server_version(timeout=timeout)
        except BaseException:
            self._stop()
            raise
        self.is_lite = version.startswith("milvus_lite")

    @property
    def is_alone(self) -> bool:
        """Whether nobody else can write: it is a file, which belongs to this process, and its only store."""
        return self.file is not None and _servers[self.file].n_users == 1

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what Milvus raises into a `StoreError` that names the address."""
        import grpc
        from pymilvus import MilvusException

        try:
            yield
        except grpc.RpcError as error:
            raise StoreError(
                f"Milvus at {self.uri} did not answer within {self.timeout:g} s; give it more with "
                "timeout=, or look at its load."
            ) from error
        except MilvusException as error:
            text = error.message
            # With retries at an end the code is that of gRPC.
            is_lost = error.code == _UNREACHABLE or isinstance(error.code, grpc.StatusCode)
            if is_lost or "Retry t" in text:
                raise StoreError(
                    f"Milvus at {self.uri} cannot be reached within {self.timeout:g} s; check the "
                    "address, and that it is running."
                ) from error
            raise StoreError(f"Store {self.uri}: Milvus says: {text}") from error

    def read(self, collection: str, call: Callable[[], T]) -> T:
        """Make a call that reads a collection; one that is not ready to be read, since its server was
        started anew or somebody released it, is loaded first."""
        from pymilvus import MilvusException

        with self.errors():
            try:
                return call()
            except MilvusException as error:
                if error.code != _NOT_LOADED:
                    raise
                self.client.load_collection(collection, timeout=self.timeout)
                return call()

    def close(self) -> None:
        """Close the connection, and milvus-lite with the last one to its file."""
        try:
            self.client.close()
        finally:
            self._stop()

    def _stop(self) -> None:
        if self.file is not None:
            _release(self.file)


def _file_of(uri: str) -> Path | None:
    """The file of milvus-lite; None for an address."""
    if uri.startswith(_SCHEMES):
        return None
    if not uri.endswith(".db"):
        raise ConfigError(
            f"A Milvus store needs an address such as 'http://localhost:19530' or a file that ends in "
            f"'.db', got {uri!r}."
        )
    return Path(uri).expanduser().absolute()


def _start(file: Path) -> str:
    """The address of milvus-lite on a file, started if it is not running."""
    try:
        from milvus_lite.adapter.grpc.server import start_server_in_thread
        from milvus_lite.exceptions import DataDirLockedError, MilvusLiteError
    except ModuleNotFoundError as error:
        raise MissingExtraError("milvus-lite", "milvus", "A Milvus store in a file") from error

    with _servers_lock:
        if file not in _servers:
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                _servers[file] = _Server(*start_server_in_thread(str(file)))
            except DataDirLockedError as error:
                raise StoreLockedError(
                    f"'{file}' is open in another process; milvus-lite serves one at a time. Close it "
                    "there, or let both use a Milvus server."
                ) from error
            except (MilvusLiteError, OSError, ValueError) as error:
                raise StoreError(f"'{file}' cannot be opened as a Milvus store: {error}") from error
        _servers[file].n_users += 1
        return f"http://127.0.0.1:{_servers[file].port}"


def _release(file: Path) -> None:
    with _servers_lock:
        running = _servers[file]
        running.n_users -= 1
        if running.n_users == 0:
            del _servers[file]
            running.server.stop(grace=None).wait()
            running.database.close()
