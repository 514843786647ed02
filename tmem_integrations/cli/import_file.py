"""`tmem import`: chat files into a folder that can be asked again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note, progress_bar
from tmem_integrations.cli.sources import in_chunks, open_folder
from tmem_integrations.errors import ConfigError

if TYPE_CHECKING:
    from tmem_integrations.importers import ImportOptions, ImportReport
    from tmem_integrations.importers.frame import DateOrder
    from tmem_integrations.messages import Message
    from tmem_integrations.protocols import IngestReport

    FilesRead = dict[Path, tuple[str, ImportReport]]

NOTHING_FOUND = 1


def import_file(
    files: Annotated[list[Path], typer.Argument(help="Chat files.", show_default=False)],
    into: Annotated[
        Path, typer.Option(help="Folder of the memory; made when missing.", show_default=False)
    ],
    format: options.Format = None,
    timezone: Annotated[
        str | None,
        typer.Option(help="Zone of times that carry none, as Europe/Berlin.", show_default=False),
    ] = None,
    channel: Annotated[
        str | None,
        typer.Option(help="Channel, for logs that do not name theirs.", show_default=False),
    ] = None,
    date: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Day of the first line, for logs with times only.",
            show_default=False,
        ),
    ] = None,
    date_order: Annotated[
        str | None,
        typer.Option(
            help="dmy, mdy or ymd, for dates of digits that do not tell it themselves.",
            show_default=False,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="Key of a field in JSONL or CSV, as text=body or author=user.name; may be repeated.",
            show_default=False,
        ),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Count bad lines instead of stopping at the first.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Import chat files into a folder.

    Importing the same file again adds what is new, changes what was edited and doubles nothing. All
    files are read once before anything is stored, so a bad line leaves the folder as it was.

    Examples:

    [cyan]tmem import chat.jsonl --into team/[/cyan]

    [cyan]tmem import "#ops.log" --into team/ --timezone Europe/Berlin[/cyan]

    [cyan]tmem import dump.jsonl --into team/ --column text=body --column timestamp=ts[/cyan]

    Formats, told by content: exports of Slack, Discord (DiscordChatExporter), WhatsApp, Telegram and
    Microsoft Teams; mbox mailing lists; IRC logs of weechat, irssi, ZNC, The Lounge, mIRC and ubottu;
    JSONL and CSV (id, text, timestamp and, where known, author, author_id, role, channel, topic, …).
    """
    from tmem_integrations.importers import ImportOptions

    settings = ImportOptions(
        timezone=timezone,
        date=date.date() if date else None,
        channel=channel,
        columns=tuple(map(_read_column, column or ())),
        date_order=_read_order(date_order),
        skip_bad=skip_bad,
    )
    files_read = _read_once(files, format, settings)
    n_messages = sum(report.read for _, report in files_read.values())
    stored = _store(files_read, into, settings, n_messages) if n_messages else None
    if as_json:
        print_json(_as_dict(files_read, stored))
    else:
        _print_report(files_read, into, stored)
    if stored is None:
        raise typer.Exit(NOTHING_FOUND)


def _read_column(text: str) -> tuple[str, str]:
    field, sign, key = text.partition("=")
    if not (field and sign and key):
        raise ConfigError(f"--column must be field=key, such as text=body, got {text!r}.")
    return field, key


def _read_order(text: str | None) -> DateOrder | None:
    orders: dict[str, DateOrder] = {"dmy": "dmy", "mdy": "mdy", "ymd": "ymd"}
    if text is not None and text not in orders:
        raise ConfigError(f"--date-order must be dmy, mdy or ymd, got {text!r}.")
    return None if text is None else orders[text]


def _read_once(files: list[Path], format: str | None, settings: ImportOptions) -> FilesRead:
    """Read every file to its end and keep nothing, so that errors come before anything is stored."""
    from tmem_integrations.importers import ImportReport, detect, read_file

    found: FilesRead = {}
    for path in files:
        name, report = format or detect(path), ImportReport()
        with progress_bar() as bar:
            task = bar.add_task(f"Reading {path.name}", total=path.stat().st_size)
            for _ in read_file(path, format=name, options=settings, report=report):
                bar.update(task, completed=report.bytes_read)
        found[path] = (name, report)
    return found


def _store(
    files: FilesRead, into: Path, settings: ImportOptions, n_messages: int
) -> tuple[IngestReport, int]:
    """Store all messages; what it did and how many are there now."""
    from tmem_integrations.protocols import IngestReport

    memory = open_folder(into, read_only=False, timezone=None)
    total = IngestReport()
    try:
        with progress_bar() as bar:
            task = bar.add_task("Storing", total=n_messages)
            for chunk in in_chunks(_messages(files, settings)):
                total += memory.add(chunk)
                bar.advance(task, len(chunk))
        return total, len(memory)
    finally:
        memory.close()


def _messages(files: FilesRead, settings: ImportOptions) -> Iterator[Message]:
    from tmem_integrations.importers import read_file

    for path, (name, _) in files.items():
        yield from read_file(path, format=name, options=settings)


def _as_dict(files: FilesRead, stored: tuple[IngestReport, int] | None) -> dict[str, Any]:
    done: dict[str, Any] = {
        "files": [
            {"path": str(path), "format": name, **report.to_dict()}
            for path, (name, report) in files.items()
        ]
    }
    if stored is not None:
        ingest, n_messages = stored
        done["stored"] = asdict(ingest)
        done["messages"] = n_messages
    return done


def _print_report(files: FilesRead, into: Path, stored: tuple[IngestReport, int] | None) -> None:
    for path, (name, report) in files.items():
        print(f"{path} ({name}): {report.read} messages")
        for reason, tally in report.skipped.items():
            print_note(f"  skipped {tally.count} × {reason}: {tally.examples[0]}")
        for reason, tally in report.warnings.items():
            print_note(f"  warning {tally.count} × {reason}: {tally.examples[0]}")
    if stored is None:
        print_note("Nothing to store.")
        return
    ingest, n_messages = stored
    print(
        f"{into}: {ingest.added} new, {ingest.updated} changed, {ingest.unchanged} as before; "
        f"{n_messages} messages in all"
    )
    print_note(f'Now ask it: tmem show "…" --in {into}')
