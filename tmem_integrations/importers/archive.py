"""An export that is a folder or a zip of it: the same names, the same bytes."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tmem_integrations.errors import ImportFormatError


class Archive(Protocol):
    """Files by their name with forward slashes."""

    def names(self) -> list[str]:
        """All files, sorted."""
        ...

    def read(self, name: str) -> bytes:
        """The bytes of one of them."""
        ...


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a folder or a zip.

    Raises:
        ImportFormatError: If it is neither.
    """
    if path.is_dir():
        yield _Folder(path)
        return
    try:
        with zipfile.ZipFile(path) as file:
            yield _Zip(path, file)
    except (zipfile.BadZipFile, OSError) as error:
        raise ImportFormatError(f"{path}: expected a folder or a zip, found: {error}.") from error


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path = path

    def names(self) -> list[str]:
        files = (found for found in self._path.rglob("*") if found.is_file())
        return sorted(found.relative_to(self._path).as_posix() for found in files)

    def read(self, name: str) -> bytes:
        return (self._path / name).read_bytes()


class _Zip:
    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self._path = path
        self._file = file

    def names(self) -> list[str]:
        return sorted(name for name in self._file.namelist() if not name.endswith("/"))

    def read(self, name: str) -> bytes:
        try:
            return self._file.read(name)
        # Among them: a password, a method that zipfile does not know, a damaged stream.
        except (RuntimeError, NotImplementedError, zlib.error, EOFError, ValueError) as error:
            raise ImportFormatError(
                f"{self._path}, {name}: cannot be unpacked: {error}."
            ) from error
