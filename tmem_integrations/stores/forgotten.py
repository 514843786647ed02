"""What was forgotten in a folder, by a hash of each id: so that importing an export again does not bring it back.

Of a message nothing is kept but this hash. Whoever knows an id can tell that it was forgotten here; nobody
can read from the file what it was.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from tmem_integrations.errors import StoreError

FILE = "forgotten.txt"
_DIGEST_BYTES = 16
# Of a line: whoever was killed while writing left part of one.
_BEGINNING = re.compile(rb"[0-9a-f]{0,%d}" % (2 * _DIGEST_BYTES))


class ForgottenIds:
    """Hashes of ids in a file, one a line; there is no file before the first.

    Args:
        folder: Of the store.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def among(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of `ids` that were forgotten.

        Raises:
            StoreError: If the file cannot be read or is damaged.
        """
        known = self._read()
        return frozenset(one for one in ids if _digest(one) in known) if known else frozenset()

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the file, one sentence each; empty when all is well."""
        try:
            self._read()
        except StoreError as error:
            return (str(error),)
        return ()

    def add(self, ids: Collection[str]) -> None:
        """Remember ids; they are on the disk when this returns.

        Raises:
            StoreError: If the file cannot be written; then nothing was forgotten yet, and the same call
                again goes on.
        """
        new = dict.fromkeys(map(_digest, ids)).keys() - self._read()
        if not new:
            return
        try:
            with self._path.open("ab") as file:
                # Whoever was killed here before left part of a line.
                file.write(b"\n" + "".join(f"{one}\n" for one in sorted(new)).encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}.") from error

    def remove(self, ids: Iterable[str]) -> None:
        """Know ids no longer as forgotten.

        Raises:
            StoreError: If the file cannot be written; it is as it was then.
        """
        known = self._read()
        left = known - set(map(_digest, ids))
        if left == known:
            return
        beside = self._path.with_suffix(".new")
        try:
            with beside.open("wb") as file:
                file.write("".join(f"{one}\n" for one in sorted(left)).encode())
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}.") from error

    def _read(self) -> frozenset[str]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error.strerror}.") from error
        known = []
        for number, line in enumerate(lines, start=1):
            digest = line.strip()
            if not _BEGINNING.fullmatch(digest):
                raise StoreError(
                    f"{self._path}, line {number}: expected {2 * _DIGEST_BYTES} digits of a hash, found "
                    f"{digest[:40]!r}. Put back a copy of the file, or take the line out: what it stood "
                    "for may come back with an import then."
                )
            # What is shorter was not written to its end, and what it is of was not forgotten.
            if len(digest) == 2 * _DIGEST_BYTES:
                known.append(digest.decode())
        return frozenset(known)


def forgotten_ids_of(store: object) -> ForgottenIds | None:
    """What was forgotten in a store; None for a store that is in no folder, which keeps nothing of it."""
    folder: Path | None = getattr(store, "folder", None)
    return None if folder is None else ForgottenIds(folder)


def _digest(message_id: str) -> str:
    content = message_id.encode("utf-8", "backslashreplace")
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()
