"""Names as small numbers, so that a filter on names is one look-up per message."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1


class Codes:
    """Names of one kind, numbered from 0 as they come."""

    def __init__(self) -> None:
        self._codes: dict[object, int] = {}

    def number(self, name: object) -> int:
        """The code of a name, a new one if needed; None is unknown."""
        return UNKNOWN if name is None else self._codes.setdefault(name, len(self._codes))

    def find(self, name: object) -> int | None:
        """The code of a name; None where it was never seen."""
        return self._codes.get(name)

    def table(self, names: Iterable[object]) -> NDArray[np.bool_]:
        """(n + 1,) whether a code stands for one of the names; the last, for -1, does not."""
        table = np.zeros(len(self._codes) + 1, np.bool_)
        table[[code for code in map(self.find, names) if code is not None]] = True
        return table

    def names(self, codes: NDArray[np.int32]) -> frozenset[object]:
        """The names of codes that occur."""
        # A copy: a writer may add names meanwhile.
        known = list(self._codes)
        used = np.zeros(len(known) + 1, np.bool_)
        used[codes] = True
        return frozenset(known[code] for code in np.flatnonzero(used[:-1]).tolist())
