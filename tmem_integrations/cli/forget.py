"""`tmem forget`: messages removed for good, after a look at what it would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note
from tmem_integrations.cli.sources import open_store
from tmem_integrations.errors import QueryError
from tmem_integrations.messages import Query, Scope

if TYPE_CHECKING:
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
        typer.Option(help="Sent before then, such as 2025-01-01.", show_default=False),
    ] = None,
    timezone: options.Timezone = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without it, only count.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Forget messages: from the texts, the vectors and every index. It cannot be undone.

    Without --yes it only says what would go. Different conditions must all hold; a repeated one means
    any of its values.

    Examples:

    [cyan]tmem forget --in team/ --author bo[/cyan]

    [cyan]tmem forget --in team/ --channel random --before 2025-01-01 --timezone Europe/Berlin --yes[/cyan]

    Exit code 1 when no message meets the conditions.
    """
    if not (ids or authors or channels or before):
        raise QueryError("Say what to forget: --id, --author, --channel or --before.")
    query = Query.create(
        "",
        authors=authors or None,
        channels=channels or None,
        before=before,
        timezone=timezone or "UTC",
    )
    with open_store(folder, read_only=True) as store:
        n_messages = len(store)
        found = _select(store, ids, Scope(query))
    if yes and found:
        with open_store(folder, read_only=False) as store:
            _delete(store, [message.id for message in found])
            n_messages = len(store)
    if as_json:
        print_json(
            {
                "matched": [message.id for message in found],
                "forgotten": len(found) if yes else 0,
                "messages": n_messages,
            }
        )
    else:
        _print_report(found, n_messages, yes)
    if not found:
        raise typer.Exit(NOTHING_FOUND)


def _delete(store: ChromaStore, ids: list[str]) -> None:
    """Take out messages and what a model said of them, also from the files."""
    from tmem_integrations.memory import verdict_cache_of

    store.delete(ids)
    verdicts = verdict_cache_of(store)
    if verdicts is not None:
        verdicts.forget(ids)
    store.scrub()


def _select(store: ChromaStore, ids: list[str] | None, scope: Scope) -> list[Message]:
    known = store.get(ids if ids else store.ids(scope))
    return [message for message in known.values() if scope.admits(message)]


def _print_report(found: list[Message], n_messages: int, done: bool) -> None:
    from tmem_integrations.visual.terminal import safe_text

    if not found:
        print_note(f"No message meets the conditions; all {n_messages} stay.")
        return
    if done:
        print(f"Forgot {len(found)} messages; {n_messages} are left.")
        return
    print(f"Would forget {len(found)} of {n_messages} messages:")
    for message in found[:_N_EXAMPLES]:
        print(
            safe_text(f"  {message.id}  {message.sent_at:%Y-%m-%d}  {message.author or 'unknown'}")
        )
    if len(found) > _N_EXAMPLES:
        print(f"  and {len(found) - _N_EXAMPLES} more")
    print_note("Nothing was changed; add --yes to do it.")
