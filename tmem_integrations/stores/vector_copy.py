"""A copy of the stored vectors as plain rows, since a database takes long to hand over a thousand of them.

A row stands at the arrival number of its message and ends in a seal over numbers, id and text. A row that
is blank, torn, outdated or another message's does not fit its seal and counts as unknown, so that the
database is asked: the copy may lack anything, and says nothing wrong. Whoever takes a vector away blanks
its row first.
"""

from __future__ import annotations

import logging
import os
import threading
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Vectors

_log = logging.getLogger(__name__)
FILE = "vectors.rows"

Rows = NDArray[np.void]


class VectorCopy:
    """Vectors by arrival number.

    Args:
        folder: Where the file is; None keeps the rows in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / FILE
        self._held: Rows | None = None
        self._lock = threading.Lock()

    def read(
        self, arrivals: NDArray[np.int64], messages: Sequence[Message | None], dimension: int
    ) -> tuple[Vectors, NDArray[np.bool_]]:
        """The vectors of messages as they are given.

        Args:
            arrivals: (n,) their arrival numbers.
            messages: (n,) None is never known.
            dimension: d of the stored vectors.

        Returns:
            (n, d) vectors, and (n,) whether each is known; an unknown one is zero.
        """
        vectors = np.zeros((len(arrivals), dimension), np.float32)
        known = np.array([message is not None for message in messages], dtype=np.bool_)
        found = self._rows(arrivals[known], _layout(dimension))
        there = [m for m, is_known in zip(messages, known.tolist(), strict=True) if is_known and m]
        fits = found["seal"] == _seals(there, found["vector"])
        known[known] = fits
        vectors[known] = found["vector"][fits]
        return vectors, known

    def write(self, arrivals: Sequence[int], messages: Sequence[Message], vectors: Vectors) -> None:
        """Keep vectors; a disk that refuses costs later questions time, nothing else.

        Args:
            arrivals: (n,) distinct.
            messages: (n,) what the vectors are made of.
            vectors: (n, d).
        """
        rows = np.zeros(len(arrivals), _layout(vectors.shape[1]))
        rows["vector"] = vectors
        rows["seal"] = _seals(messages, rows["vector"])
        try:
            self._put(np.asarray(arrivals, dtype=np.int64), rows)
        except OSError as error:
            _log.warning("%s cannot be written: %s", self._path, error)

    def blank(self, arrivals: Sequence[int], dimension: int) -> None:
        """Overwrite rows, before what they were made of is changed or removed.

        Raises:
            StoreError: If the file refuses: it would go on holding what is to be removed.
        """
        layout = _layout(dimension)
        try:
            n_begun = self._n_begun(layout)
            there = np.array([one for one in arrivals if one < n_begun], dtype=np.int64)
            if len(there):
                self._put(there, np.zeros(len(there), layout), is_final=True)
        except OSError as error:
            raise StoreError(
                f"{self._path} holds what is to be removed and cannot be written: {error}."
            ) from error

    def discard(self) -> None:
        """Drop all rows.

        Raises:
            StoreError: If the file cannot be removed.
        """
        self._held = None
        if self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{self._path} cannot be removed: {error}.") from error

    def _rows(self, places: NDArray[np.int64], layout: np.dtype[Any]) -> Rows:
        """(n,) the rows at `places`, blank where there is none or the file cannot be read.

        The file is not mapped: whoever cuts it short would end the process that reads.
        """
        rows = np.zeros(len(places), layout)
        if self._path is None:
            if self._held is not None:
                there = places < len(self._held)
                rows[there] = self._held[places[there]]
            return rows
        try:
            with self._path.open("rb", buffering=0) as stream:
                for run in _runs(places):
                    stream.seek(int(places[run.start]) * layout.itemsize)
                    stream.readinto(rows[run].view(np.uint8).data)
        except FileNotFoundError:
            pass
        except OSError as error:
            _log.warning("%s cannot be read, so the database is asked: %s", self._path, error)
        return rows

    def _n_begun(self, layout: np.dtype[Any]) -> int:
        """How many rows there are, with one that ends within: a full disk leaves part of a vector."""
        if self._path is None:
            return 0 if self._held is None else len(self._held)
        try:
            return -(-self._path.stat().st_size // layout.itemsize)
        except FileNotFoundError:
            return 0

    def _put(self, places: NDArray[np.int64], rows: Rows, *, is_final: bool = False) -> None:
        """Write rows at their places; `is_final` returns when they are on the disk."""
        with self._lock:
            if self._path is None:
                self._hold(places, rows)
                return
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            with os.fdopen(file, "r+b") as stream:
                for run in _runs(places):
                    stream.seek(int(places[run.start]) * rows.itemsize)
                    stream.write(rows[run].tobytes())
                if is_final:
                    stream.flush()
                    os.fsync(stream.fileno())

    def _hold(self, places: NDArray[np.int64], rows: Rows) -> None:
        size = int(places.max()) + 1
        held = self._held
        if held is None or len(held) < size:
            grown = np.zeros(max(size, 0 if held is None else 2 * len(held)), rows.dtype)
            if held is not None:
                grown[: len(held)] = held
            self._held = held = grown
        held[places] = rows


def _runs(places: NDArray[np.int64]) -> list[slice]:
    """Where places follow each other.

    Examples:
        >>> _runs(np.array([4, 5, 9]))
        [slice(0, 2, None), slice(2, 3, None)]
        >>> _runs(np.array([], dtype=np.int64))
        []
    """
    ends = (np.flatnonzero(np.diff(places) != 1) + 1).tolist()
    borders = dict.fromkeys([0, *ends, len(places)])
    return [slice(first, end) for first, end in pairwise(borders)]


def _layout(dimension: int) -> np.dtype[Any]:
    return np.dtype([("vector", "<f4", (dimension,)), ("seal", "<u8")])


def _seals(messages: Sequence[Message], vectors: Vectors) -> NDArray[np.uint64]:
    """(n,) one number each, that a changed vector, id or text changes. A blank row, whose seal is 0, fits none but
    one text in four billion, and that one must have no content."""
    of_texts = np.array(
        [zlib.crc32(f"{m.id}\0{m.text}".encode("utf-8", "surrogatepass")) for m in messages],
        dtype=np.uint64,
    )
    words = np.ascontiguousarray(vectors).view(np.uint32)
    sums = words.sum(axis=1, dtype=np.uint32).astype(np.uint64)
    sealed: NDArray[np.uint64] = (of_texts << np.uint64(32)) | sums
    return sealed
