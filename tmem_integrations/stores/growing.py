"""An array that grows at its end without disturbing those who read it."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Item = TypeVar("Item", bound=np.generic)


class GrowingArray(Generic[Item]):
    """One-dimensional, amortised constant time per appended item.

    What `values` returned once never changes and never grows: later items are written behind its end, or
    into a new buffer. So one writer may append while others read.
    """

    def __init__(self, dtype: type[Item]) -> None:
        self._buffer: NDArray[Item] = np.empty(16, dtype=dtype)
        self._values: NDArray[Item] = self._buffer[:0]

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> NDArray[Item]:
        """(n,) everything appended so far; not to be written to."""
        return self._values

    def extend(self, items: ArrayLike) -> None:
        """Append all items."""
        new = np.asarray(items, dtype=self._buffer.dtype)
        start, end = len(self._values), len(self._values) + len(new)
        if end > len(self._buffer):
            buffer = np.empty(max(end, 2 * len(self._buffer)), dtype=self._buffer.dtype)
            buffer[:start] = self._values
            self._buffer = buffer
        self._buffer[start:end] = new
        self._values = self._buffer[:end]

    def replace(self, values: NDArray[Item]) -> None:
        """Hold other values from now on; earlier readers keep what they have."""
        self._buffer = self._values = values
