"""`tmem show`: the forest as a tree in the terminal."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Annotated

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import console, print_note
from tmem_integrations.cli.reading import Reading, reads_files
from tmem_integrations.cli.sources import opened
from tmem_integrations.cli.times import read_moment
from tmem_integrations.errors import ConfigError

NOTHING_FOUND = 1


@reads_files
def show(
    question: options.Question,
    source: options.Source,
    reading: Reading,
    asker: options.Asker = None,
    members: options.Members = None,
    as_of: options.AsOf = None,
    channels: options.Channels = None,
    max_messages: options.MaxMessages = None,
    timezone: options.Timezone = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page to look into the answer instead.", show_default=False),
    ] = None,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a Mermaid flowchart instead.")
    ] = False,
) -> None:
    """Draw the forest of a question: who said what when, and what it replaced.

    What was superseded is dimmed, the latest update of each tree is marked. For programs there is
    [cyan]tmem ask --json[/cyan].

    Examples:

    [cyan]tmem show "When do we launch?" --in team/ --as sam --timezone Europe/Berlin[/cyan]

    [cyan]tmem show "When do we launch?" --in team/ --html launch.html[/cyan] writes one page, offline: when it was
    said, why each message is there, the model's text, the flat list

    Exit code 1 when nothing was found; the reason is on stderr.
    """
    from tmem_integrations.times import zone_of
    from tmem_integrations.visual.terminal import ForestView

    with opened(source, asker=asker, members=members, timezone=timezone, reading=reading) as memory:
        answer = memory.retrieve(
            question,
            asking_user=asker,
            as_of=read_moment(as_of, timezone, "--as-of"),
            channels=channels or None,
            max_messages=max_messages,
        )
    if answer.trace.explanation is not None:
        print_note(answer.trace.explanation)
    if html is not None:
        _write_page(html, answer.to_html())
    if not len(answer.forest):
        raise typer.Exit(NOTHING_FOUND)
    if mermaid:
        print(answer.to_mermaid(), end="")
    elif html is None:
        console().print(ForestView(answer.forest, zone=zone_of(timezone) or UTC))


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--html {path}: cannot be written: {error.strerror}.") from error
    print_note(f"Wrote {path}; open it in a browser.")
