"""`tmem check`: whether a folder is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.sources import open_store

if TYPE_CHECKING:
    from tmem_integrations.stores.chroma import ChromaStore

PROBLEMS_FOUND = 1


def check(folder: options.Folder, as_json: options.AsJson = False) -> None:
    """Check that every index of a folder holds the same messages, and nothing of those forgotten.

    Example: [cyan]tmem check --in team/[/cyan]

    Exit code 1 when there are problems; each is one line.
    """
    with open_store(folder, read_only=True) as store:
        problems = (*store.check(), *_orphans(store))
        n_messages = len(store)
    if as_json:
        print_json({"messages": n_messages, "problems": list(problems)})
    else:
        for problem in problems:
            print(problem)
        print_note(f"{n_messages} messages, {len(problems) or 'no'} problems")
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)


def _orphans(store: ChromaStore) -> tuple[str, ...]:
    """What a model said, and what was derived, of messages that are not there any more."""
    from tmem_integrations.memory import verdict_cache_of
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
