"""A folder's memory that anticipates: `tmem import --anticipate` files, every question then uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tmem_integrations.cli.output import progress_bar

if TYPE_CHECKING:
    from tmem_integrations.memory import TemporalMemory


def is_filed(memory: TemporalMemory) -> bool:
    """Whether messages of this memory were filed under what they may matter to, by whomever."""
    from tmem_integrations.protocols import FILED

    return any(row.kind == FILED for row in memory.store.derived.rows())


def use_what_is_filed(memory: TemporalMemory) -> None:
    """Let questions reach what shares no word with them, where a memory has it filed."""
    if memory.embedder is None or not is_filed(memory):
        return
    from tmem_integrations.anticipation.memory import AnticipatoryMemory

    memory.associative = AnticipatoryMemory(memory)


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
