"""`tmem forget`: messages removed for good, after a look at what it would be."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.sources import open_store
from tmem_integrations.cli.times import read_moment
from tmem_integrations.counting import counted
from tmem_integrations.errors import QueryError

if TYPE_CHECKING:
    from tmem_integrations.forgetting import Forgotten
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.messages import Message
    from tmem_integrations.stores.chroma import ChromaStore

NOTHING_FOUND = 1
_N_EXAMPLES = 5


def forget(
    folder: options.Folder,
    ids: Annotated[
        list[str] | None,
        typer.Option("--id", help="This message; may be repeated.", show_default=False),
    ] = None,
    authors: Annotated[
        list[str] | None,
        typer.Option("--author", help="Id or name of an author; may be repeated."),
    ] = None,
    channels: options.Channels = None,
    before: Annotated[
        str | None,
        typer.Option(
            help="Sent before then: 2025-01-01, 30 days ago, 1 March 12:00. A day alone is its beginning.",
            show_default=False,
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            help="Zone in which --before begins and days are shown, such as Europe/Berlin.",
            show_default="UTC",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without it, only count.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Forget messages: from the texts, the vectors and every index. It cannot be undone.

    Without --yes it only says what would go. Different conditions must all hold; a repeated one means
    any of its values. An export imported again does not bring them back, unless with
    [cyan]tmem import --bring-back[/cyan]; for that a hash of each id stays.

    Examples:

    [cyan]tmem forget --in team/ --author bo[/cyan]

    [cyan]tmem forget --in team/ --channel random --before 2025-01-01 --timezone Europe/Berlin --yes[/cyan]

    Exit code 1 when no message meets the conditions.
    """
    from tmem_integrations.times import zone_of

    if not (ids or authors or channels or before):
        raise QueryError("Say what to forget: --id, --author, --channel or --before.")
    conditions = Conditions(
        ids=ids or None,
        authors=authors or None,
        channels=channels or None,
        before=read_moment(before, timezone, "--before"),
    )
    with open_store(folder, read_only=True) as store:
        done = _memory(store, timezone).forget(**conditions, dry_run=True)
        shown = list(store.get(done.ids[:_N_EXAMPLES]).values())
    if yes and done.ids:
        with open_store(folder, read_only=False) as store:
            done = _memory(store, timezone).forget(**conditions)
            store.scrub()
    if as_json:
        print_json(
            {
                "matched": list(done.ids),
                "forgotten": len(done.ids) if done.done else 0,
                "messages": done.n_left,
            }
        )
    else:
        _print_report(done, shown, zone_of(timezone) or UTC)
    if not done.ids:
        raise typer.Exit(NOTHING_FOUND)


class Conditions(TypedDict):
    """What `TemporalMemory.forget` takes."""

    ids: list[str] | None
    authors: list[str] | None
    channels: list[str] | None
    before: datetime | None


def _memory(store: ChromaStore, timezone: str | None) -> TemporalMemory:
    from tmem_integrations.memory import TemporalMemory

    return TemporalMemory(store, timezone=timezone or "UTC")


def _print_report(done: Forgotten, shown: list[Message], zone: tzinfo) -> None:
    from tmem_integrations.visual.terminal import safe_name

    found, n_messages = done.ids, done.n_left
    if not found:
        stay = counted(n_messages, "message", "stays", "stay")
        print_note(f"No message meets the conditions; {stay}.")
        return
    if done.done:
        are = "is" if n_messages == 1 else "are"
        print(f"Forgot {counted(len(found), 'message')}; {n_messages:,} {are} left.")
        return
    print(f"Would forget {len(found)} of {counted(n_messages, 'message')}:")
    for message in shown:
        day = message.sent_at.astimezone(zone).date()
        print(safe_name(f"  {message.id}  {day}  {message.author or 'unknown'}"))
    if len(found) > _N_EXAMPLES:
        print(f"  and {len(found) - _N_EXAMPLES} more")
    print_note("Nothing was changed; add --yes to do it.")
