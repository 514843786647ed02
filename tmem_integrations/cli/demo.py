"""`tmem demo`: the same question to a flat list and to the forest, side by side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import console, print_json, print_note
from tmem_integrations.errors import ImportFormatError

if TYPE_CHECKING:
    from rich.text import Text

    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.messages import Message
    from tmem_integrations.retrieval import Retrieval

NOTHING_FOUND = 1
# Both sides show as many messages, so neither wins by showing more.
_N_MESSAGES = 12
_WIDE = 140
_LINE_LENGTH = 160
_NEXT = """
Next:
  tmem demo "Where and when is the team dinner?" --as wei   another question
  tmem demo --save demo.jsonl                               this chat as a file
  tmem import demo.jsonl --into team/                       or your own chat
  tmem show "When do we launch?" --in team/                 the forest
  tmem ask "When do we launch?" --in team/                  a prompt's context
"""


def demo(
    question: Annotated[
        str | None,
        typer.Argument(help="Another question on the bundled history.", show_default=False),
    ] = None,
    asker: Annotated[
        str,
        typer.Option(
            "--as",
            help="Who asks: sam, who is new, or mara, tomas, jonas, wei, yue, priya, lena, omar.",
        ),
    ] = "sam",
    save: Annotated[
        Path | None,
        typer.Option(help="Write the bundled history to a JSONL file.", show_default=False),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Ask a bundled chat history, and compare a flat list with the forest.

    Three weeks of a software team, 8 people, 4 channels (one private): a launch date that moves, and a
    rollback. Needs no key, no network and no file.

    Examples:

    [cyan]tmem demo[/cyan]

    [cyan]tmem demo "Where and when is the team dinner?" --as wei[/cyan]

    [cyan]tmem demo --save demo.jsonl[/cyan] to try the other commands on it
    """
    from tmem_integrations import demo as bundled

    if save is not None:
        _save(save)
        return
    asked = question or bundled.QUESTION
    with closing(_remember_bundled()) as memory:
        forest = memory.retrieve(asked, asking_user=asker, max_messages=_N_MESSAGES)
        flat = flat_search(memory, asked, asker)
    if as_json:
        print_json(
            {
                "question": asked,
                "flat": [message.id for message in flat],
                "text": forest.text,
                **forest.metadata(),
            }
        )
    else:
        _print_comparison(asked, asker, flat, forest, ZoneInfo(bundled.TIMEZONE))
    if not len(forest.forest):
        raise typer.Exit(NOTHING_FOUND)


def _remember_bundled() -> TemporalMemory:
    from tmem_integrations import demo as bundled
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.models.embeddings import StaticEmbedder

    return TemporalMemory.from_messages(
        bundled.load_history(),
        embedder=StaticEmbedder(),
        timezone=bundled.TIMEZONE,
        access=bundled.MEMBERS,
    )


def flat_search(memory: TemporalMemory, question: str, asker: str) -> list[Message]:
    """What a plain search shows: the best messages by BM25 over text and metadata, best first."""
    import numpy as np

    query = memory.query(question, asking_user=asker)
    view = memory.store.view(memory.scope(query))
    matches = view.search(question)
    best = np.argsort(-matches.scores, kind="stable")[:_N_MESSAGES]
    return [message for message in view.load(matches.rows[best]) if message is not None]


def _save(path: Path) -> None:
    import json

    from tmem_integrations.demo import load_history

    lines = (json.dumps(message.to_dict(), ensure_ascii=False) for message in load_history())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be written: {error.strerror}.") from error
    print(f"Wrote {path}")
    print_note(f"Next: tmem import {path} --into team/")


def answers_to(question: str, asker: str) -> frozenset[str]:
    """Ids of the messages known to answer a question of the bundled set; empty for any other."""
    from tmem_integrations.demo import load_questions

    asked = (question, asker)
    cases = [case for case in load_questions() if (case.question, case.asking_user) == asked]
    return frozenset(cases[0].evidence) if cases else frozenset()


def _print_comparison(
    question: str, asker: str, flat: Sequence[Message], forest: Retrieval, zone: tzinfo
) -> None:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from tmem_integrations.visual.terminal import ForestView, safe_text

    answers = answers_to(question, asker)
    left = Panel(
        _flat_list(flat, answers, zone),
        title="flat search: the most alike words",
        title_align="left",
    )
    right = Panel(
        ForestView(forest.forest, zone=zone),
        title="forest: what was said first, and what changed it",
        title_align="left",
    )
    out = console()
    out.print(Text.assemble("\n", (f"{asker} asks: {safe_text(question)}", "bold"), "\n"))
    if out.width >= _WIDE:
        table = Table.grid(expand=True)
        table.add_column(ratio=2)
        table.add_column(ratio=3)
        table.add_row(left, right)
        out.print(table)
    else:
        out.print(left, right)
    if answers:
        out.print(_verdict("Flat search", answers & {message.id for message in flat}, answers))
        out.print(_verdict("The forest", answers & set(forest.message_ids), answers))
    out.print(Text(_NEXT, style="dim"))


def _flat_list(messages: Sequence[Message], answers: Collection[str], zone: tzinfo) -> Text:
    from rich.text import Text

    from tmem_integrations.visual.terminal import safe_text, show_time

    shown = Text()
    for rank, message in enumerate(messages, 1):
        text = safe_text(" ".join(message.text.split()))
        cut = f"{text[:_LINE_LENGTH]}…" if len(text) > _LINE_LENGTH else text
        shown.append(f"{rank:>2} {show_time(message.sent_at, zone)} ", "dim")
        shown.append(safe_text(f"{message.author or 'unknown'}\n"), "bold")
        shown.append(f"   {cut}\n", "bold green" if message.id in answers else "")
    shown.rstrip()
    return shown


def _verdict(name: str, found: Collection[str], answers: Collection[str]) -> Text:
    from rich.text import Text

    if not found:
        return Text(f"✘ {name}: the answer is not among its {_N_MESSAGES} messages.", "bold red")
    share = f"{len(found)} of the {len(answers)} messages that give the answer are"
    return Text(f"✔ {name}: {share} among its {_N_MESSAGES}.", "bold green")
