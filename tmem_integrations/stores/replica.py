"""The legs of a table, kept in step with it whoever writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tmem_integrations.stores.legs import Legs
from tmem_integrations.stores.snapshot import Loaded, Snapshot
from tmem_integrations.stores.table import Manifest, Table


class Replica:
    """What is held in memory of a table.

    The manifest's version tells whether the table was written since, and each row carries the version
    that changed it last, so catching up reads the new rows only. After deletions all ids are compared.

    Args:
        table: The rows of record.
        snapshot: Where to begin from; None where nothing can be kept beside the table.
        language: See `Legs`.

    Raises:
        StoreError: If the table cannot be read.
    """

    def __init__(
        self, table: Table, *, language: str | None, snapshot: Snapshot | None = None
    ) -> None:
        self.lock = threading.RLock()
        self._table = table
        self._language = language
        self._snapshot = snapshot
        # A file that was passed over once must not be taken for a fitting one when versions have risen.
        self._is_snapshot_void = False
        # Set when a write of ours failed half-way: the table may hold what the legs do not.
        self._is_doubtful = False
        # Rows move up when others are deleted, so reading page by page may have passed some over.
        self._must_compare = False
        self._own_writes: tuple[Manifest, ...] = ()
        # Read before the manifest: a write between the two is noticed next time.
        self._mark = table.write_mark()
        self.manifest = table.read_manifest()
        self.legs = self._load(self.manifest)

    def refresh(self) -> None:
        """Take in what others wrote."""
        mark = self._table.write_mark()
        if mark is not None and mark == self._mark and not self._is_doubtful:
            return
        if self._is_current(self._table.read_manifest()):
            self._mark = mark
            return
        with self.lock:
            mark = self._table.write_mark()
            manifest = self._table.read_manifest()
            if not self._is_current(manifest):
                self._table.forget_cached()
                self._catch_up(manifest)
                self.manifest = manifest
                self._is_doubtful = False
            # Last: whoever sees this mark finds the legs complete.
            self._mark = mark

    @contextmanager
    def write(self, *, deletes: bool = False, leaves_remains: bool = False) -> Iterator[int]:
        """Change table and legs inside the block, then tell others.

        Args:
            deletes: Rows are removed: others are told before, too.
            leaves_remains: Old text may stay in the files.

        Yields:
            The version that the rows written in the block carry.
        """
        with self.lock:
            if deletes or leaves_remains or self._is_snapshot_void:
                self._discard_snapshot()
            old = self.manifest
            version = old.version + 1
            new = replace(
                old,
                version=version,
                last_deletion=version if deletes or old.is_deleting else old.last_deletion,
                is_deleting=False,
                has_remains=old.has_remains or leaves_remains,
            )
            announced = replace(new, version=old.version, is_deleting=True)
            self._own_writes = (announced, new)
            try:
                if deletes:
                    self._table.write_manifest(announced)
                yield version
                self._table.write_manifest(new)
                self.manifest = new
            except BaseException:
                self._is_doubtful = True
                raise
            finally:
                self._own_writes = ()

    def start_over(self, model: str | None, dimension: int | None) -> None:
        """Give an empty table another model or dimension."""
        with self.lock:
            self._discard_snapshot()
            version = self.manifest.version + 1
            manifest = Manifest(version=version, model=model, dimension=dimension)
            self._table.start_over(manifest)
            self.manifest = manifest

    def mark_scrubbed(self) -> None:
        """Note that nothing deleted is left in the files."""
        with self.lock:
            manifest = replace(self.manifest, has_remains=False)
            self._own_writes = (manifest,)
            self._table.write_manifest(manifest)
            self.manifest = manifest
            self._own_writes = ()

    def _is_current(self, manifest: Manifest) -> bool:
        return not self._is_doubtful and manifest in (self.manifest, *self._own_writes)

    def save_snapshot(self) -> None:
        """Write down what is held, where enough has changed."""
        with self.lock:
            if self._snapshot is None or self._is_doubtful or self._must_compare:
                return
            if self._snapshot.is_stale(self.legs):
                self._snapshot.save(self.legs, self.manifest.version, self._table.store_id)

    def _discard_snapshot(self) -> None:
        if self._snapshot is not None:
            self._snapshot.discard()
            self._is_snapshot_void = False

    def _load(self, manifest: Manifest) -> Legs:
        begun = self._begin(manifest)
        legs = begun.legs if begun else Legs(self._language)
        # Asking for newer rows makes Chroma load its index of vectors, even where there are none.
        if begun is None or begun.version < manifest.version:
            for page in self._table.pages(newer_than=begun.version if begun else None):
                legs.put(page)
        self._must_compare = self._was_disturbed(manifest)
        if self._must_compare:
            self._compare(legs)
        return legs

    def _begin(self, manifest: Manifest) -> Loaded | None:
        """Legs of an earlier version, if nothing was deleted since."""
        if self._snapshot is None:
            return None
        begun = None
        if not manifest.is_deleting:
            begun = self._snapshot.read(
                self._table.store_id,
                self._language,
                oldest=manifest.last_deletion,
                newest=manifest.version,
            )
        self._is_snapshot_void = begun is None
        return begun

    def _catch_up(self, manifest: Manifest) -> None:
        if manifest.version < self.manifest.version:
            self.legs = self._load(manifest)
            return
        for page in self._table.pages(newer_than=self.manifest.version):
            self.legs.put(page)
        deleted = manifest.is_deleting or manifest.last_deletion > self.manifest.version
        if deleted or self._must_compare or self._is_doubtful:
            self._compare(self.legs)
        self._must_compare = self._was_disturbed(manifest)

    def _was_disturbed(self, before: Manifest) -> bool:
        """Whether rows may have been deleted since a manifest was read."""
        after = self._table.read_manifest()
        return before.is_deleting or after.is_deleting or after.last_deletion > before.version

    def _compare(self, legs: Legs) -> None:
        """Drop what was deleted and add what was passed over."""
        ids = self._table.ids()
        legs.remove([one for one in legs if one not in ids])
        missing = [one for one in ids if one not in legs]
        for start in range(0, len(missing), self._table.batch_size):
            rows = self._table.read(missing[start : start + self._table.batch_size])
            legs.put(list(rows.values()))
