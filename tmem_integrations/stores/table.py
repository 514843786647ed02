"""What a database must do to keep the messages of record for an `IndexedStore`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.protocols import Vectors
from tmem_integrations.stores.versions import Row

SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a store says of itself.

    Attributes:
        version: Raised by every write, so that others notice it.
        last_deletion: Version of the last write that removed rows.
        is_deleting: A write that removes rows has begun and not ended.
        model: Name of the model that made the vectors.
        dimension: Of the vectors; None when the store keeps none.
        has_remains: Deleted or replaced text may still lie in the files.
    """

    version: int = 0
    last_deletion: int = 0
    is_deleting: bool = False
    model: str | None = None
    dimension: int | None = None
    has_remains: bool = False


class Table(Protocol):
    """Rows with vectors in a database. Every method may raise `StoreError`."""

    @property
    def store_id(self) -> str:
        """Of these rows; a table that starts over has another."""
        ...

    @property
    def batch_size(self) -> int:
        """How many rows one `write` may have."""
        ...

    def read_manifest(self) -> Manifest:
        """The manifest as it is in the database now."""
        ...

    def write_mark(self) -> int | None:
        """A number that is the same as long as nobody wrote, far cheaper to read than the manifest; None
        when only the manifest can tell."""
        ...

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest."""
        ...

    def start_over(self, manifest: Manifest) -> None:
        """Replace an empty table by one that takes vectors of the manifest's dimension."""
        ...

    def count(self) -> int:
        """How many rows there are."""
        ...

    def write(self, rows: Sequence[Row], vectors: Vectors) -> None:
        """Add or replace rows of distinct ids.

        Args:
            vectors: (n, d) as the manifest says; (n, 1) when it keeps none.
        """
        ...

    def erase(self, ids: Sequence[str]) -> None:
        """Remove rows that are there, their vectors too."""
        ...

    def read(self, ids: Sequence[str]) -> dict[str, Row]:
        """Rows by id; unknown ids are left out."""
        ...

    def pages(self, *, newer_than: int | None = None) -> Iterator[list[Row]]:
        """All rows, or those changed after a version, in pieces."""
        ...

    def ids(self) -> set[str]:
        """The ids of all rows."""
        ...

    def read_vectors(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Vectors by id; unknown ids are left out."""
        ...

    def forget_cached(self) -> None:
        """Another process wrote: read nothing from memory that may be old."""
        ...

    def scrub(self) -> None:
        """Remove from the files what deleted and replaced rows left there."""
        ...

    def close(self) -> None:
        """Release it. Closing twice is fine."""
        ...
