"""The legs of a table, kept in step with it whoever writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tmem_integrations.errors import StoreError
from tmem_integrations.stores.legs import Legs
from tmem_integrations.stores.table import Manifest, Table

_ATTEMPTS = 3


class Replica:
    """What is held in memory of a table.

    The manifest's version tells whether the table was written since; each row carries the version that
    changed it last. So catching up reads the new rows only, and deletions show in the count.

    Args:
        table: The rows of record.
        name: How errors call the store.
        language: See `Legs`.

    Raises:
        StoreError: If the table cannot be read.
    """

    def __init__(self, table: Table, *, name: str, language: str | None) -> None:
        self.lock = threading.RLock()
        self._table = table
        self._name = name
        self._language = language
        # Set when a write failed half-way: the table may hold what the legs do not.
        self._is_doubtful = False
        self._being_written: int | None = None
        self.manifest = table.read_manifest()
        self.legs = self._load()

    def refresh(self) -> None:
        """Take in what others wrote."""
        version = self._table.read_manifest().version
        if not self._is_doubtful and version in (self.manifest.version, self._being_written):
            return
        with self.lock:
            manifest = self._table.read_manifest()
            if self._is_doubtful or manifest.version != self.manifest.version:
                self._table.forget_cached()
                self._catch_up(manifest)
                self.manifest = manifest
                self._is_doubtful = False

    @contextmanager
    def write(self, *, leaves_remains: bool = False) -> Iterator[int]:
        """Change table and legs inside the block, then tell others.

        Yields:
            The version that the rows written in the block carry.
        """
        with self.lock:
            version = self.manifest.version + 1
            remains = self.manifest.has_remains or leaves_remains
            manifest = replace(self.manifest, version=version, has_remains=remains)
            try:
                yield version
                self._being_written = version
                self._table.write_manifest(manifest)
                self.manifest = manifest
            except BaseException:
                self._is_doubtful = True
                raise
            finally:
                self._being_written = None

    def start_over(self, model: str | None, dimension: int | None) -> None:
        """Give an empty table another model or dimension."""
        with self.lock:
            version = self.manifest.version + 1
            manifest = Manifest(version=version, model=model, dimension=dimension)
            self._table.start_over(manifest)
            self.manifest = manifest

    def _load(self) -> Legs:
        for _ in range(_ATTEMPTS):
            legs = Legs(self._language)
            for page in self._table.pages():
                legs.put(page)
            if len(legs) == self._table.count():
                return legs
        raise StoreError(f"Store {self._name} changes while it is read; try again.")

    def _catch_up(self, manifest: Manifest) -> None:
        if manifest.version < self.manifest.version:
            self.legs = self._load()
            return
        for page in self._table.pages(newer_than=self.manifest.version):
            self.legs.put(page)
        if len(self.legs) == self._table.count():
            return
        ids = self._table.ids()
        self.legs.remove([one for one in self.legs if one not in ids])
        if len(self.legs) != len(ids):
            self.legs = self._load()
