"""Discord channels as DiscordChatExporter writes them to JSON: one file per channel or thread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tmem_integrations.importers.frame import Entry, Importer, ImportOptions, Skip, messages_of
from tmem_integrations.importers.json_source import (
    CamelRecord,
    load_document,
    read_head,
    read_list,
    read_record,
)
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message
from tmem_integrations.times import read_time

_SAID = frozenset({"Default", "Reply", "ChatInputCommand", "ContextMenuCommand"})
_MENTION = re.compile(r"<@!?(\d+)>")
_EMOJI = re.compile(r"<a?:(\w+):\d+>")


class _Named(CamelRecord):
    id: str
    name: str


class _Role(CamelRecord):
    name: str


class _Person(CamelRecord):
    id: str
    name: str
    nickname: str | None = None
    is_bot: bool = False
    roles: tuple[_Role, ...] = ()


class _Attachment(CamelRecord):
    file_name: str | None = None


class _Field(CamelRecord):
    name: str | None = None
    value: str | None = None


class _Embed(CamelRecord):
    title: str | None = None
    description: str | None = None
    fields: tuple[_Field, ...] = ()


class _Reference(CamelRecord):
    message_id: str | None = None
    channel_id: str | None = None


class _Content(CamelRecord):
    content: str = ""
    attachments: tuple[_Attachment, ...] = ()
    embeds: tuple[_Embed, ...] = ()
    stickers: tuple[_Role, ...] = ()


class _Said(_Content):
    id: str
    type: str = "Default"
    timestamp: str
    timestamp_edited: str | None = None
    author: _Person
    forwarded_message: _Content | None = None
    mentions: tuple[_Person, ...] = ()
    reference: _Reference | None = None


def read_discord(
    path: str | Path, *, skip_bad: bool = False, report: ImportReport | None = None
) -> Iterator[Message]:
    """Read a channel exported by DiscordChatExporter as JSON.

    Joins, pins and calls are skipped and counted. Nicknames name the authors, bots get the role "bot",
    others their first role.

    Args:
        path: The file; it is read as a whole.
        skip_bad: Count entries that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad entry, with file, entry, what was expected and found.
    """
    options = ImportOptions(skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    document = load_document(path, report)
    items = read_list(document, "messages", str(path))
    guild = read_record(_Named, document.get("guild"))
    channel = read_record(_Named, document.get("channel"))
    entries = (Entry(f"entry {number}", item) for number, item in enumerate(items, 1))
    yield from messages_of(
        entries,
        lambda item: _parse(item, guild, channel),
        path=path,
        report=report,
        skip_bad=options.skip_bad,
    )


def _parse(item: object, guild: _Named, channel: _Named) -> Message | Skip:
    said = read_record(_Said, item)
    if said.type not in _SAID:
        return Skip(f"system message ({said.type})")
    text = "\n".join(_lines(said))
    if not text:
        return Skip("empty message")
    answered = said.reference if said.type == "Reply" else None
    author = said.author
    place = f"discord/{guild.id}"
    return Message(
        id=f"{place}/{channel.id}/{said.id}",
        text=text,
        sent_at=read_time(said.timestamp, None, "timestamp"),
        author=author.nickname or author.name,
        author_id=author.id,
        role="bot" if author.is_bot else next((role.name for role in author.roles), None),
        channel=channel.name,
        reply_to=f"{place}/{answered.channel_id or channel.id}/{answered.message_id}"
        if answered and answered.message_id
        else None,
        edited_at=read_time(said.timestamp_edited, None, "timestampEdited")
        if said.timestamp_edited
        else None,
        permalink=f"https://discord.com/channels/{_guild_path(guild)}/{channel.id}/{said.id}",
    )


def _guild_path(guild: _Named) -> str:
    """Direct messages belong to guild 0 in exports and to "@me" in links."""
    return "@me" if guild.id == "0" else guild.id


def _lines(said: _Said) -> Iterable[str]:
    names = {person.id: person.nickname or person.name for person in said.mentions}
    yield from _content_lines(said, names, is_bot=said.author.is_bot)
    if said.forwarded_message is not None:
        yield "[forwarded]"
        yield from _content_lines(said.forwarded_message, names, is_bot=False)


def _content_lines(said: _Content, names: Mapping[str, str], *, is_bot: bool) -> Iterable[str]:
    text = _MENTION.sub(lambda m: f"@{names.get(m[1], m[1])}", said.content)
    text = _EMOJI.sub(lambda m: f":{m[1]}:", text).strip()
    if text:
        yield text
    if is_bot or not text:  # Of people they are previews of links.
        for embed in said.embeds:
            yield from (part for part in (embed.title, embed.description) if part)
            yield from (f"{one.name}: {one.value}" for one in embed.fields)
    yield from (f"[sticker: {sticker.name}]" for sticker in said.stickers)
    yield from (f"[file: {one.file_name or 'unnamed'}]" for one in said.attachments)


def _recognises(path: Path) -> bool:
    head = read_head(path)
    return all(f'"{key}"' in head for key in ("guild", "channel", "messages"))


IMPORTER = Importer(
    name="discord",
    describes="Discord channels exported by DiscordChatExporter as JSON",
    recognises=_recognises,
    read=_read,
    options=frozenset(),
)
