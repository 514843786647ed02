"""`tmem ask`: the text that a language model would get."""

from __future__ import annotations

import sys

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.sources import retrieve

NOTHING_FOUND = 1


def ask(
    question: options.Question,
    source: options.Source,
    asker: options.Asker = None,
    members: options.Members = None,
    as_of: options.AsOf = None,
    channels: options.Channels = None,
    max_messages: options.MaxMessages = None,
    max_tokens: options.MaxTokens = None,
    format: options.Format = None,
    timezone: options.Timezone = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer a question with the messages that tell it, and how they changed.

    Prints the text that goes into a prompt: what was first said, what updated it, what explains it.

    Example: [cyan]tmem ask "When do we launch?" --in team/ --as sam --as-of 2026-03-12[/cyan]

    Exit code 1 when nothing was found; the reason is on stderr.
    """
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
        max_tokens=max_tokens,
    )
    if as_json:
        print_json({"question": question, "text": answer.text, **answer.metadata()})
    elif answer.text:
        print(_shown(answer.text))
    for remark in (answer.trace.explanation, *answer.degraded):
        if remark is not None:
            print_note(remark)
    if not len(answer.forest):
        raise typer.Exit(NOTHING_FOUND)


def _shown(text: str) -> str:
    """As it is into a pipe or file; safe to look at on a terminal."""
    if not sys.stdout.isatty():
        return text
    from tmem_integrations.visual.terminal import safe_text

    return safe_text(text)
