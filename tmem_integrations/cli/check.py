"""`tmem check`: whether a folder is whole."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.sources import open_folder
from tmem_integrations.counting import counted

if TYPE_CHECKING:
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.stores.chroma import ChromaStore

PROBLEMS_FOUND = 1


def check(
    folder: options.Folder,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make vectors that are missing, then check.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Check that every index of a folder holds the same messages, and nothing of those forgotten.

    Example: [cyan]tmem check --in team/[/cyan]

    Exit code 1 when there are problems; each is one line.
    """
    n_mended = 0
    if repair:
        with closing(open_folder(folder, read_only=False)) as memory:
            n_mended = memory.mend_vectors()
    with closing(open_folder(folder, read_only=True)) as memory:
        problems = _problems(memory)
        n_messages = len(memory)
    if as_json:
        mended = {"mended": n_mended} if repair else {}
        print_json({"messages": n_messages, "problems": problems, **mended})
    else:
        for problem in problems:
            print(problem)
        if repair:
            print_note(counted(n_mended, "vector", "was made", "were made"))
        n_problems = counted(len(problems), "problem") if problems else "no problems"
        print_note(f"{counted(n_messages, 'message')}, {n_problems}")
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)


def _problems(memory: TemporalMemory) -> list[str]:
    from tmem_integrations.errors import StoreError
    from tmem_integrations.stores.chroma import ChromaStore
    from tmem_integrations.stores.forgotten import forgotten_ids_of

    store = memory.store
    assert isinstance(store, ChromaStore)
    forgotten = forgotten_ids_of(store)
    damaged = () if forgotten is None else forgotten.problems()
    problems = [*store.check(), *_orphans(store), *damaged]
    try:
        lost = memory.lost_vectors()
    except StoreError:
        # Vectors that cannot be read have been told as a problem of the store.
        lost = ()
    return [
        *problems,
        *(f"Message {one!r} has lost its vector; --repair makes it anew." for one in lost),
    ]


def _orphans(store: ChromaStore) -> tuple[str, ...]:
    """What a model said, and what was derived, of messages that are not there any more."""
    from tmem_integrations.models.verdicts import verdict_cache_of
    from tmem_integrations.protocols import FILED

    verdicts = verdict_cache_of(store)
    judged = frozenset[str]() if verdicts is None else verdicts.message_ids()
    gone = sorted(judged - store.get(judged).keys())
    filed = [row.id for row in store.derived.rows() if row.kind == FILED]
    lost = sorted(set(filed) - store.get(filed).keys())
    return (
        *(f"Verdicts about message {one!r} are kept, but it is not stored." for one in gone),
        *(f"What was derived from message {one!r} is kept, but it is not stored." for one in lost),
    )
