"""`tmem show`: the forest as a tree in the terminal."""

from __future__ import annotations

from datetime import UTC

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import console, print_note
from tmem_integrations.cli.sources import retrieve

NOTHING_FOUND = 1


def show(
    question: options.Question,
    source: options.Source,
    asker: options.Asker = None,
    members: options.Members = None,
    as_of: options.AsOf = None,
    channels: options.Channels = None,
    max_messages: options.MaxMessages = None,
    format: options.Format = None,
    timezone: options.Timezone = None,
) -> None:
    """Draw the forest of a question: who said what when, and what it replaced.

    What was superseded is dimmed, the latest update of each tree is marked. For programs there is
    [cyan]tmem ask --json[/cyan].

    Example: [cyan]tmem show "When do we launch?" --in team/ --as sam --timezone Europe/Berlin[/cyan]

    Exit code 1 when nothing was found; the reason is on stderr.
    """
    from tmem_integrations.messages import zone_of
    from tmem_integrations.visual.terminal import ForestView

    answer = retrieve(
        question,
        source,
        asker=asker,
        members=members,
        format=format,
        timezone=timezone,
        as_of=as_of,
        channels=channels or None,
        max_messages=max_messages,
    )
    if answer.trace.explanation is not None:
        print_note(answer.trace.explanation)
    if not len(answer.forest):
        raise typer.Exit(NOTHING_FOUND)
    console().print(ForestView(answer.forest, zone=zone_of(timezone) or UTC))
