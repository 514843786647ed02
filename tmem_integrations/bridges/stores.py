"""Where messages are kept, as a caller gives it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, cast

from tmem_integrations.errors import ConfigError
from tmem_integrations.protocols import Embedder, MessageStore
from tmem_integrations.stores.folder import require_folder


def open_folder(
    folder: str | PathLike[str], embedder: Embedder | None, *, read_only: bool
) -> MessageStore:
    """Open the store in an existing folder.

    Raises:
        StoreError: If there is none.
        StoreLockedError: If it is open for writing already.
        StoreMismatchError: If it was built with another embedding model.
    """
    from tmem_integrations.stores.chroma import ChromaStore

    require_folder(Path(folder).expanduser(), read_only=True)
    model = None if embedder is None else embedder.name
    return ChromaStore.open(folder, model=model, read_only=read_only)


@contextmanager
def closed_on_error(store: MessageStore) -> Iterator[None]:
    """Close a store that was opened for something that failed, or its folder would stay locked."""
    try:
        yield
    except BaseException:
        store.close()
        raise


@contextmanager
def opened_store(store: Any, embedder: Embedder | None) -> Iterator[MessageStore | None]:
    """`open_store`, closed again if what it was opened for fails; one of the caller stays open."""
    opened = open_store(store, embedder)
    if opened is None or opened is store:
        yield opened
        return
    with closed_on_error(opened):
        yield opened


def open_store(store: Any, embedder: Embedder | None) -> MessageStore | None:
    """Open the store a caller names.

    Args:
        store: A folder, which is made where it is missing; a Chroma client or collection; a
            `MessageStore`; None for none.
        embedder: Whose vectors it keeps.

    Raises:
        ConfigError: If it is none of these.
        StoreLockedError: If the folder is open for writing already.
        StoreMismatchError: If it was built with another embedding model.
    """
    if store is None or all(hasattr(store, name) for name in ("upsert", "view", "channels")):
        if embedder is not None and hasattr(store, "claim"):
            store.claim(embedder.name)
        return cast("MessageStore | None", store)

    from tmem_integrations.stores.chroma import ChromaStore

    model = None if embedder is None else embedder.name
    if isinstance(store, str | PathLike):
        if store == "":  # An unset variable would make the working directory a store.
            raise ConfigError(
                "store must be a folder, got an empty name; None keeps all in memory."
            )
        return ChromaStore.open(store, model=model)
    if hasattr(store, "list_collections"):
        return ChromaStore.from_client(store, model=model)
    if type(store).__name__ == "Collection":  # Chroma's, which only its store may import
        return ChromaStore.from_collection(store, model=model)
    raise ConfigError(
        f"store must be a folder, a Chroma client or collection, a MessageStore or None, got {store!r:.200}."
    )
