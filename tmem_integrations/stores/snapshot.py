"""What is held in memory of a store, as one file beside it, so that opening need not read every row.

It is a cache: rows written since are read from the database on top, and a file that is missing, damaged or
of another store or program costs time, nothing else. Deleted and replaced text must not survive in
it, so whoever takes text away throws the file away first.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zipfile
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import snowballstemmer

from tmem_integrations import text as text_module
from tmem_integrations.errors import MessageError, StoreError
from tmem_integrations.messages import Message
from tmem_integrations.stores.legs import Dump, Legs
from tmem_integrations.stores.lexical import Postings
from tmem_integrations.times import from_microseconds, to_microseconds

_log = logging.getLogger(__name__)
_NAME = "legs.npz"
_UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, TypeError, MessageError, zipfile.BadZipFile,
)  # fmt: skip
_TIMES = ("sent_at", "edited_at")
# A store of fewer messages is read as fast from its rows.
MIN_MESSAGES = 1_000
# Written again once so large a part of the messages came after it.
_STALE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Loaded:
    """Legs as they were at a version of the store."""

    legs: Legs
    version: int


class Snapshot:
    """The file of one folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._unfinished = folder / f"{_NAME}.tmp"
        self._n_saved = 0

    def read(
        self, store_id: str, language: str | None, *, oldest: int, newest: int
    ) -> Loaded | None:
        """The legs that were saved; None where there are none to be had.

        Args:
            store_id: Of the collection; one that was made anew has another.
            language: How words are split.
            oldest: First version of the store that may be begun from.
            newest: Last such version.
        """
        try:
            # Read as a whole: an open file could not be replaced everywhere.
            with np.load(BytesIO(self._path.read_bytes()), allow_pickle=False) as file:
                head = json.loads(file["head"].tobytes())
                is_ours = head["key"] == _key(store_id, language)
                if not is_ours or not oldest <= head["version"] <= newest:
                    return None
                rows = json.loads(file["rows"].tobytes())
                postings = Postings(
                    terms=rows.pop("terms"),
                    starts=file["starts"],
                    slots=file["slots"],
                    counts=file["counts"],
                    lengths=file["lengths"],
                )
                known, until, arrivals = (file[n].tolist() for n in ("known", "until", "arrivals"))
            legs = Legs(language)
            legs.restore(Dump(_to_messages(rows), known, until, arrivals, postings))
        except FileNotFoundError:
            return None
        except _UNREADABLE as error:
            _log.warning("%s cannot be used, so all messages are read: %r", self._path, error)
            return None
        self._n_saved = len(legs)
        return Loaded(legs, int(head["version"]))

    def is_stale(self, legs: Legs) -> bool:
        """Whether so much was added since it was written that writing it again pays."""
        fresh = len(legs) - self._n_saved
        return len(legs) >= MIN_MESSAGES and fresh > _STALE_SHARE * len(legs)

    def save(self, legs: Legs, version: int, store_id: str) -> None:
        """Write the legs; a disk that refuses costs the next opening time, nothing else."""
        dump = legs.dump()
        postings = dump.postings
        head = {"key": _key(store_id, legs.language), "version": version}
        try:
            with self._unfinished.open("wb") as file:
                np.savez(
                    file,
                    head=_bytes(head),
                    rows=_bytes({**_to_columns(dump.messages), "terms": postings.terms}),
                    known=np.asarray(dump.known, dtype=np.int64),
                    until=np.asarray(dump.until, dtype=np.int64),
                    arrivals=np.asarray(dump.arrivals, dtype=np.int64),
                    starts=postings.starts,
                    slots=postings.slots,
                    counts=postings.counts,
                    lengths=postings.lengths,
                )
            os.replace(self._unfinished, self._path)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._path, error)
            return
        self._n_saved = len(legs)

    def discard(self) -> None:
        """Throw it away, before text is taken out of the store.

        Raises:
            StoreError: If the file cannot be removed: it would go on holding that text.
        """
        self._n_saved = 0
        try:
            self._path.unlink(missing_ok=True)
            self._unfinished.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self._path} holds text that is to be removed and cannot be deleted: {error}."
            ) from error


def _key(store_id: str, language: str | None) -> list[str | None]:
    """What the terms in the file depend on: another program may split words otherwise."""
    code = b"".join(Path(module).read_bytes() for module in (text_module.__file__, __file__))
    program = hashlib.sha256(code).hexdigest()
    return [store_id, language, program, str(getattr(snowballstemmer, "__version__", ""))]


def _bytes(value: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), dtype=np.uint8)


def _to_columns(messages: list[Message]) -> dict[str, list[Any]]:
    """A list per field that some message has."""
    columns: dict[str, list[Any]] = {}
    for field in fields(Message):
        values = [getattr(message, field.name) for message in messages]
        if field.name in _TIMES:
            values = [None if value is None else to_microseconds(value) for value in values]
        if any(value is not None for value in values):
            columns[field.name] = values
    return columns


def _to_messages(columns: dict[str, list[Any]]) -> list[Message]:
    """Inverse of `_to_columns`; equal names become one string."""
    for name, values in columns.items():
        if name in _TIMES:
            columns[name] = [None if one is None else from_microseconds(one) for one in values]
        elif name not in ("id", "text"):
            same: dict[Any, Any] = {}
            columns[name] = [same.setdefault(one, one) for one in values]
    names = list(columns)
    return [
        Message(**dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)
    ]
