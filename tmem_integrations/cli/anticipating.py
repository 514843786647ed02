"""A folder's memory that anticipates: `tmem import --anticipate` files, every question then uses it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tmem_integrations.cli.output import progress_bar

if TYPE_CHECKING:
    from tmem_integrations.anticipation.memory import AnticipatoryMemory
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.messages import Message, Scope
    from tmem_integrations.protocols import Embedder, Reached, Vectors


def is_filed(memory: TemporalMemory) -> bool:
    """Whether messages of this memory were filed under what they may matter to, by whomever."""
    from tmem_integrations.protocols import FILED

    return any(row.kind == FILED for row in memory.store.derived.rows())


def use_what_is_filed(memory: TemporalMemory) -> None:
    """Let questions reach what shares no word with them, where the folder of a memory has it filed."""
    from tmem_integrations.stores.derived import FILE

    folder: Path | None = getattr(memory.store, "folder", None)
    if memory.embedder is not None and folder is not None and (folder / FILE).exists():
        memory.associative = _WhenNeeded(memory, memory.embedder)


class _WhenNeeded:
    """An `Associative` that reads what is filed when the first question needs it: most have words enough.

    Args:
        memory: Whose messages are filed.
        embedder: Of that memory.
    """

    def __init__(self, memory: TemporalMemory, embedder: Embedder) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._filed: AnticipatoryMemory | None = None
        self.embedder = embedder
        self.store = memory.store
        self.policy = memory.policy
        self.redact = memory.redact

    def reach(
        self, question: str, scope: Scope, vector: Vectors | None, most: int
    ) -> tuple[Reached, ...]:
        """See `Associative.reach`."""
        return self._read().reach(question, scope, vector, most)

    def file(self, messages: Sequence[Message]) -> None:
        """See `Associative.file`."""
        self._read().file(messages)

    def forget(self, ids: Collection[str]) -> None:
        """See `Associative.forget`."""
        self._read().forget(ids)

    def _read(self) -> AnticipatoryMemory:
        from tmem_integrations.anticipation.memory import AnticipatoryMemory

        with self._lock:
            if self._filed is None:
                self._filed = AnticipatoryMemory(self._memory)
            return self._filed


def file_by_rules(memory: TemporalMemory) -> int:
    """File all that is stored and not filed yet, or was edited since; returns how many scenes there are.

    Raises:
        StoreError: If it cannot be kept.
    """
    from tmem_integrations.anticipation.memory import AnticipatoryMemory

    with progress_bar() as bar:
        task = bar.add_task("Filing", total=None)

        def show(step: str, done: int, total: int) -> None:
            bar.update(task, description=f"Filing: {step}", completed=done, total=total)

        filed = AnticipatoryMemory(memory, on_step=show)
        filed.sync()
        filed.prepare()
    n_scenes: int = filed.stats()["scenes"]
    return n_scenes
