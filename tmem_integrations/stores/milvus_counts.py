"""What has been counted of a history as it is now: questions that follow each other need not ask again.

A count is right for one state of the history and one scope. The catalogue names the state anew after every
change, and not at all during one that touches what readers see.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

_MAX_SCOPES = 64
_MAX_TERMS = 20_000


@dataclass(slots=True)
class Counts:
    """What was counted under one scope.

    Attributes:
        n_messages: How many messages the scope admits; None until it was asked.
        frequencies: How many of them hold a term.
    """

    n_messages: int | None = None
    frequencies: dict[str, int] = field(default_factory=dict)


class CountCache:
    """The counts of the last scopes that were asked about, for one state of the history."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = ""
        self._kept: OrderedDict[str, Counts] = OrderedDict()

    def of(self, state: str, condition: str) -> Counts:
        """Where to look up, and note, the counts of a scope.

        Args:
            state: Names what is stored; empty while it changes, and then nothing is kept.
            condition: The scope.
        """
        if not state:
            return Counts()
        with self._lock:
            if state != self._state:
                self._state = state
                self._kept.clear()
            counts = self._kept.get(condition)
            if counts is None or len(counts.frequencies) > _MAX_TERMS:
                counts = self._kept[condition] = Counts()
            self._kept.move_to_end(condition)
            while len(self._kept) > _MAX_SCOPES:
                self._kept.popitem(last=False)
            return counts
