"""The folder of a store on disk: whether it is one, who writes to it, and what lies in its files."""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import uuid
from contextlib import closing
from pathlib import Path

from filelock import FileLock, Timeout

from tmem_integrations.errors import StoreError, StoreLockedError

DATABASE = "chroma.sqlite3"
_LOCK = "tmem.lock"
_BUSY_SECONDS = 5.0
# Of an index of Chroma: version, offset, room for vectors, how many there are, bytes of one.
_HEADER = struct.Struct("<iQQQQ")
_LENGTH_BYTES = 4


def require_folder(folder: Path, *, read_only: bool) -> None:
    """Make sure that a folder is a store or may become one.

    Raises:
        StoreError: If it is a file, cannot be made, has lost its database, cannot be written, or is to be read
            and is none.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file; a store needs a folder of its own.")
    if (folder / DATABASE).exists():
        if not all(os.access(path, os.W_OK) for path in (folder, folder / DATABASE)):
            raise StoreError(
                f"{folder} cannot be written, and Chroma opens no database that it cannot write, not even "
                "to read it; copy the folder to where it can be written, or change its permissions."
            )
        return
    if folder.is_dir() and any(_is_index(path) for path in folder.iterdir()):
        raise StoreError(
            f"{folder} has lost its {DATABASE}: it is a store half deleted. Restore the file, or remove "
            "the folder and import again."
        )
    if read_only:
        raise StoreError(f"{folder} holds no store to read; open it to write, or check the path.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made a store: {error}.") from error


def lock_folder(folder: Path) -> FileLock:
    """Become the one writer of a folder.

    Raises:
        StoreLockedError: If there is one already, in this or another process.
        StoreError: If the folder cannot be written.
    """
    # Not bound to a thread: whoever closes the store releases it.
    lock = FileLock(folder / _LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreLockedError(
            f"{folder} is open for writing already, here or in another process; close that store, or open "
            "this one with read_only=True."
        ) from error
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {error}. To read it only, open it with read_only=True."
        ) from error
    return lock


class WriteWatch:
    """Notices that somebody wrote to the database of a folder, in microseconds: SQLite keeps a number that
    changes with each commit of another connection.
    """

    def __init__(self, folder: Path) -> None:
        self._lock = threading.Lock()
        self._address = f"{(folder / DATABASE).as_uri()}?mode=ro"
        self._database: sqlite3.Connection | None = None
        self._is_closed = False

    def mark(self) -> int | None:
        """A number that is the same as long as nobody wrote; None when it cannot be told."""
        with self._lock:
            if self._is_closed:
                return None
            try:
                if self._database is None:
                    # Never waits: whoever is kept from looking takes it that something was written.
                    self._database = sqlite3.connect(
                        self._address, uri=True, timeout=0, check_same_thread=False
                    )
                (number,) = self._database.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error:
                return None
        return int(number)

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        with self._lock:
            self._is_closed = True
            database, self._database = self._database, None
            if database is not None:
                database.close()


def vacuum(folder: Path) -> None:
    """Rewrite the database, so that nothing of deleted rows is left in it.

    Raises:
        StoreError: If another process is using it.
    """
    try:
        with closing(sqlite3.connect(folder / DATABASE, timeout=_BUSY_SECONDS)) as database:
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise StoreError(
            f"{folder} still holds remains of deleted messages, since its database is in use: {error}."
        ) from error


def blank_spare(folder: Path) -> None:
    """Overwrite the room for further vectors in the files of Chroma's indices.

    Chroma writes it as it lies in memory, not cleared: now and then with text of messages, deleted ones
    among them. Files that are not laid out as expected are left alone.
    """
    for header in folder.glob("*/header.bin"):
        if not _is_index(header.parent):
            continue
        fields = header.read_bytes()[: _HEADER.size]
        if len(fields) < _HEADER.size:
            continue
        version, _, room, n_vectors, size = _HEADER.unpack(fields)
        if version != 1 or n_vectors > room:
            continue
        for name, width in (("data_level0.bin", size), ("length.bin", _LENGTH_BYTES)):
            path = header.parent / name
            n_bytes = path.stat().st_size if path.exists() else 0
            if n_vectors * width < n_bytes <= room * width:
                with path.open("r+b") as file:
                    file.seek(n_vectors * width)
                    file.write(bytes(n_bytes - n_vectors * width))


def _is_index(path: Path) -> bool:
    """Whether it is one of the folders in which Chroma keeps vectors."""
    try:
        uuid.UUID(path.name)
    except ValueError:
        return False
    return path.is_dir()
