"""`tmem check`: whether a folder is whole."""

from __future__ import annotations

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.sources import open_store

PROBLEMS_FOUND = 1


def check(folder: options.Folder, as_json: options.AsJson = False) -> None:
    """Check that every index of a folder holds the same messages.

    Example: [cyan]tmem check --in team/[/cyan]

    Exit code 1 when there are problems; each is one line.
    """
    with open_store(folder, read_only=True) as store:
        problems = store.check()
        n_messages = len(store)
    if as_json:
        print_json({"messages": n_messages, "problems": list(problems)})
    else:
        for problem in problems:
            print(problem)
        print_note(f"{n_messages} messages, {len(problems) or 'no'} problems")
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)
