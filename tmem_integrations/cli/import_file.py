"""`tmem import`: chat files into a folder that can be asked again and again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tmem_integrations.cli import import_options, options
from tmem_integrations.cli.anticipating import file_by_rules, is_filed
from tmem_integrations.cli.output import print_json, print_note, progress_bar
from tmem_integrations.cli.reading import Reading, reads_files
from tmem_integrations.cli.sources import in_chunks, open_folder, open_store
from tmem_integrations.counting import counted
from tmem_integrations.errors import ConfigError

if TYPE_CHECKING:
    from tmem_integrations.importers import ImportOptions, ImportReport
    from tmem_integrations.importers.diff import ImportDiff
    from tmem_integrations.messages import Message
    from tmem_integrations.protocols import IngestReport

    FilesRead = dict[Path, tuple[str, ImportReport]]

NOTHING_FOUND = 1


@reads_files
def import_file(
    files: import_options.Files,
    into: import_options.Into,
    reading: Reading,
    timezone: import_options.Timezone = None,
    channel: import_options.Channel = None,
    workspace: import_options.Workspace = None,
    mirror: import_options.Mirror = False,
    bring_back: import_options.BringBack = False,
    anticipate: import_options.Anticipate = False,
    dry_run: import_options.DryRun = False,
    save_members: import_options.SaveMembers = None,
    as_json: options.AsJson = False,
) -> None:
    """Import chat files into a folder.

    Importing again is a diff: what is new is added, what was edited is changed, nothing is doubled, and
    nothing is removed without --mirror; what was forgotten here stays so without --bring-back. All files are read once before anything is stored, so a bad line
    leaves the folder as it was.

    Examples:

    [cyan]tmem import chat.jsonl --into team/[/cyan]

    [cyan]tmem import chat.jsonl --into team/ --anticipate[/cyan]

    [cyan]tmem import "#ops.log" --into team/ --timezone Europe/Berlin[/cyan]

    [cyan]tmem import dump.csv --into team/ --column text=body --column timestamp=ts --make-ids[/cyan]

    [cyan]tmem import "Weekly sync.vtt" --into team/ --start 2026-03-02T09:00+01:00[/cyan]

    Formats, told by content: exports of Slack, Discord (DiscordChatExporter), WhatsApp, Telegram and
    Microsoft Teams; meeting transcripts in WebVTT (Teams, Zoom); mbox mailing lists; IRC logs of weechat,
    irssi, ZNC, The Lounge, mIRC and ubottu; JSONL and CSV (id, text, timestamp and, where known, author, author_id, role, channel, topic, …).
    """
    settings = replace(reading.options, timezone=timezone, channel=channel, workspace=workspace)
    if mirror and settings.skip_bad:
        raise ConfigError(
            "--mirror would remove what --skip-bad passes over; mend the bad lines, or leave one out."
        )
    files_read, diff = _read_once(files, reading.format, settings, into, bring_back)
    n_messages = sum(report.read for _, report in files_read.values())
    stored = None
    if (n_messages or (mirror and diff.gone)) and not dry_run:
        gone = diff.gone if mirror else ()
        stored = _store(
            files_read, into, settings, gone, bring_back=bring_back, anticipate=anticipate
        )
    if save_members is not None:
        _save_members(files_read, save_members)
    if as_json:
        print_json(_as_dict(files_read, diff, stored))
    else:
        _print_report(files_read, into, diff, stored, mirror=mirror)
    if not n_messages:
        raise typer.Exit(NOTHING_FOUND)


def _read_once(
    files: list[Path],
    format: str | None,
    settings: ImportOptions,
    into: Path,
    bring_back: bool,
) -> tuple[FilesRead, ImportDiff]:
    """Read every file to its end and keep nothing, so that errors come before anything is stored."""
    from tmem_integrations.importers import ImportReport, detect, read_file
    from tmem_integrations.importers.diff import Comparison

    found: FilesRead = {}
    store = open_store(into, read_only=True) if into.exists() else None
    try:
        comparison = Comparison(store, bring_back=bring_back)
        for path in files:
            name = format or detect(path, columns=settings.columns)
            report = ImportReport()
            with progress_bar() as bar:
                task = bar.add_task(f"Reading {path.name}", total=path.stat().st_size)
                messages = read_file(path, format=name, options=settings, report=report)
                for chunk in in_chunks(messages):
                    comparison.take(chunk)
                    bar.update(task, completed=report.bytes_read)
            found[path] = (name, report)
        deleted = [one for _, report in found.values() for one in report.deleted]
        return found, comparison.finish(deleted)
    finally:
        if store is not None:
            store.close()


@dataclass(frozen=True, slots=True)
class _Stored:
    """What storing did.

    Attributes:
        ingest: Added, updated, unchanged.
        n_removed: How many were removed.
        n_messages: How many are there now.
        n_scenes: How many scenes are filed; None where nothing was filed now.
        left_unfiled: Whether earlier messages are filed and those of now are not.
    """

    ingest: IngestReport
    n_removed: int
    n_messages: int
    n_scenes: int | None
    left_unfiled: bool


def _store(
    files: FilesRead,
    into: Path,
    settings: ImportOptions,
    gone: Collection[str],
    *,
    bring_back: bool,
    anticipate: bool,
) -> _Stored:
    """Store all messages, remove those that are gone, and file them if wanted."""
    from tmem_integrations.importers.diff import no_longer_forgotten, to_be_stored
    from tmem_integrations.protocols import IngestReport

    memory = open_folder(into, read_only=False, timezone=None)
    total = IngestReport()
    try:
        with progress_bar() as bar:
            n_messages = sum(report.read for _, report in files.values())
            task = bar.add_task("Storing", total=n_messages)
            for chunk in in_chunks(_messages(files, settings)):
                total += memory.add(to_be_stored(memory.store, chunk, bring_back=bring_back))
                if bring_back:
                    no_longer_forgotten(memory.store, chunk)
                bar.advance(task, len(chunk))
        n_removed = memory.delete(gone)
        n_scenes = file_by_rules(memory) if anticipate else None
        is_changed = total.added + total.updated > 0
        unfiled = is_changed and not anticipate and is_filed(memory)
        return _Stored(total, n_removed, len(memory), n_scenes, unfiled)
    finally:
        memory.close()


def _save_members(files: FilesRead, path: Path) -> None:
    members: dict[str, list[str]] = {}
    for _, report in files.values():
        for channel, people in report.members.items():
            members[channel] = sorted({*members.get(channel, ()), *people})
    path.write_text(json.dumps(members, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _messages(files: FilesRead, settings: ImportOptions) -> Iterator[Message]:
    from tmem_integrations.importers import read_file

    for path, (name, _) in files.items():
        yield from read_file(path, format=name, options=settings)


def _as_dict(files: FilesRead, diff: ImportDiff, stored: _Stored | None) -> dict[str, Any]:
    done: dict[str, Any] = {
        "files": [
            {"path": str(path), "format": name, **report.to_dict()}
            for path, (name, report) in files.items()
        ],
        "diff": diff.to_dict(),
    }
    if stored is not None:
        done["stored"] = asdict(stored.ingest)
        done["removed"] = stored.n_removed
        done["messages"] = stored.n_messages
        if stored.n_scenes is not None:
            done["scenes"] = stored.n_scenes
    return done


def _print_report(
    files: FilesRead,
    into: Path,
    diff: ImportDiff,
    stored: _Stored | None,
    *,
    mirror: bool,
) -> None:
    for path, (name, report) in files.items():
        print(f"{path} ({name}): {counted(report.read, 'message')}")
        for reason, tally in report.skipped.items():
            print_note(f"  skipped {tally.count} × {reason}: {tally.examples[0]}")
        for reason, tally in report.warnings.items():
            print_note(f"  warning {tally.count} × {reason}: {tally.examples[0]}")
    if stored is None and not sum(report.read for _, report in files.values()):
        print_note("Nothing to store.")
        return
    late = f" ({diff.late} of them older than what is there)" if diff.late else ""
    changed = diff.edited + diff.changed
    line = f"{into}: {diff.new} new{late}, {changed} changed, {diff.unchanged} as before"
    if diff.older:
        line += f", {diff.older} in an older version than stored"
    if diff.gone and mirror:
        line += f", {len(diff.gone)} removed"
    if diff.forgotten:
        line += f", {diff.forgotten} left out since forgotten"
    print(line + (f"; {counted(stored.n_messages, 'message')} in all" if stored else ""))
    if diff.forgotten:
        print_note("What was forgotten here stays so; --bring-back takes it in again.")
    if diff.gone and not mirror:
        gone = counted(
            len(diff.gone),
            "message",
            "is gone at the source; --mirror removes it here, too.",
            "are gone at the source; --mirror removes them here, too.",
        )
        print_note(gone)
    if stored is None:
        print_note("Nothing was changed; leave out --dry-run to do it.")
    else:
        _print_filing(stored)
        print_note(f'Now ask it: tmem show "…" --in {into}')


def _print_filing(stored: _Stored) -> None:
    if stored.n_scenes is not None:
        scenes = counted(stored.n_scenes, "scene")
        print(f"{scenes} filed, by rules, under what they may matter to")
    elif stored.left_unfiled:
        print_note(
            "Earlier messages of this folder are filed under what they may matter to; --anticipate files "
            "these, too."
        )
