"""Importers: from a file that a chat program wrote to messages.

One module per source; each has an `IMPORTER` and a public `read_<source>`. The format is detected
from the content; what fits none or several is asked for, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import (
    csv,
    discord,
    irc,
    jsonl,
    mbox,
    slack,
    teams,
    telegram,
    vtt,
    whatsapp,
)
from tmem_integrations.importers.csv import read_csv
from tmem_integrations.importers.discord import read_discord
from tmem_integrations.importers.frame import (
    Columns,
    Importer,
    ImportOptions,
    first_lines,
    found,
)
from tmem_integrations.importers.irc import read_irc
from tmem_integrations.importers.jsonl import read_jsonl
from tmem_integrations.importers.mbox import read_mbox
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.importers.slack import read_slack
from tmem_integrations.importers.teams import read_teams
from tmem_integrations.importers.telegram import read_telegram
from tmem_integrations.importers.vtt import read_vtt
from tmem_integrations.importers.whatsapp import read_whatsapp
from tmem_integrations.messages import Message

__all__ = [
    "IMPORTERS",
    "ImportOptions",
    "ImportReport",
    "Importer",
    "detect",
    "read_csv",
    "read_discord",
    "read_file",
    "read_irc",
    "read_jsonl",
    "read_mbox",
    "read_slack",
    "read_teams",
    "read_telegram",
    "read_vtt",
    "read_whatsapp",
]

IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        module.IMPORTER.name: module.IMPORTER
        for module in (jsonl, csv, slack, discord, whatsapp, telegram, teams, irc, mbox, vtt)
    }
)


def detect(path: str | Path, *, columns: Columns = ()) -> str:
    """Name of the importer that recognises a file by its content.

    Args:
        path: The file, or the folder of an export.
        columns: Our field names and the file's keys, as in `ImportOptions`.

    Raises:
        ImportFormatError: If none or several do; says how to choose.
    """
    path = Path(path)
    if not path.exists():
        raise ImportFormatError(f"{path}: expected a file, found nothing there.")
    names = [name for name, importer in IMPORTERS.items() if importer.is_of(path, columns)]
    if len(names) == 1:
        return names[0]
    known = ", ".join(IMPORTERS)
    if names:
        raise ImportFormatError(
            f"{path}: expected one format, found signs of {' and '.join(names)}; "
            "choose one with format= or --format."
        )
    first = first_lines(path, 1)
    begins = f"a file that begins with {found(first[0])}" if first else "a file without text lines"
    raise ImportFormatError(
        f"{path}: expected one of the formats {known}, found {begins}. "
        "If it is one of them, say so with format= or --format; of a CSV, say which columns are ours with "
        "columns= or --column text=… --column timestamp=…."
    )


def read_file(
    path: str | Path,
    *,
    format: str | None = None,
    options: ImportOptions | None = None,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read a file of any known format, message by message.

    Args:
        path: The file, or the folder of an export.
        format: A name in `IMPORTERS`; detected from the content when None.
        options: What the file does not say itself.
        report: Filled while reading.

    Raises:
        ImportFormatError: If the format is unknown, an option does not apply, or an entry is bad.
    """
    options = options or ImportOptions()
    name = format if format is not None else detect(path, columns=options.columns)
    importer = IMPORTERS.get(name)
    if importer is None:
        raise ImportFormatError(f"format must be one of {', '.join(IMPORTERS)}, got {name!r}.")
    for option in (f.name for f in fields(options) if f.name not in ("skip_bad", "workspace")):
        if getattr(options, option) and option not in importer.options:
            raise ImportFormatError(f"{path}: the format {name} takes no {option}.")
    report = report if report is not None else ImportReport()
    messages = importer.read(Path(path), options, report)
    return in_workspace(messages, options.workspace, report) if options.workspace else messages


def in_workspace(
    messages: Iterator[Message], workspace: str, report: ImportReport
) -> Iterator[Message]:
    """Messages whose channels carry the name of their workspace.

    Args:
        messages: As read.
        workspace: Put before each channel, with a slash.
        report: Its members are renamed alike once all is read.
    """
    for message in messages:
        named = None if message.channel is None else f"{workspace}/{message.channel}"
        yield replace(message, channel=named)
    members = {f"{workspace}/{channel}": own for channel, own in report.members.items()}
    report.members.clear()
    report.members.update(members)
