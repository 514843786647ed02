"""Telegram: `result.json` of one chat, or of a whole account, as Telegram Desktop exports it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import (
    Entry,
    Importer,
    ImportOptions,
    Skip,
    distinct_channels,
    messages_of,
)
from tmem_integrations.importers.json_source import (
    Record,
    load_document,
    read_head,
    read_list,
    read_record,
)
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message, read_time, zone_of

_CHAT_TYPE = re.compile(
    r'"type":\s*"(?:(?:personal|bot)_chat|private_(?:group|supergroup|channel)|public_(?:group|supergroup|'
    r'channel)|saved_messages)"'
)
_SUPERGROUPS = frozenset(
    {"private_supergroup", "public_supergroup", "private_channel", "public_channel"}
)


class _Chat(Record):
    id: str
    name: str | None = None
    type: str


class _Entity(Record):
    type: str
    text: str = ""
    href: str | None = None


class _Answer(Record):
    text: str = ""


class _Poll(Record):
    question: str = ""
    answers: tuple[_Answer, ...] = ()


class _Said(Record):
    id: str
    type: str
    date: str
    date_unixtime: str | None = None
    edited: str | None = None
    edited_unixtime: str | None = None
    from_id: str | None = None
    reply_to_message_id: str | None = None
    text: str | tuple[str | _Entity, ...] = ""
    file: str | None = None
    file_name: str | None = None
    photo: str | None = None
    media_type: str | None = None
    sticker_emoji: str | None = None
    forwarded_from: str | None = None
    poll: _Poll | None = None


def read_telegram(
    path: str | Path,
    *,
    timezone: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read `result.json` of Telegram Desktop, chat by chat.

    Joins, pins and calls are skipped and counted; a forwarded message says from whom it is.

    Args:
        path: The file; it is read as a whole.
        timezone: Zone of the computer that exported it; needed by old exports only.
        skip_bad: Count entries that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad entry, with file, entry, what was expected and found.
    """
    options = ImportOptions(timezone=timezone, skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    document = load_document(path, report)
    zone = zone_of(options.timezone)

    def parse(content: tuple[_Chat, str, object]) -> Message | Skip:
        chat, channel, item = content
        author = item.get("from") if isinstance(item, dict) else None
        return _parse(read_record(_Said, item), chat, channel, author, zone)

    yield from messages_of(
        _entries(document, path), parse, path=path, report=report, skip_bad=options.skip_bad
    )


def _entries(document: Any, path: Path) -> Iterator[Entry[tuple[_Chat, str, object]]]:
    chats = document.get("chats") if isinstance(document, dict) else None
    listed = [document] if chats is None else read_list(chats, "list", f"{path}, chats")
    read = []
    for number, item in enumerate(listed, 1):
        where = str(path) if chats is None else f"{path}, chat {number}"
        try:
            read.append((read_record(_Chat, item), read_list(item, "messages", where)))
        except ImportFormatError as error:
            message = str(error)
            placed = message if message.startswith(where) else f"{where}: {message}"
            raise ImportFormatError(placed) from error
    channels = distinct_channels((chat.id, chat.name) for chat, _ in read)
    for chat, messages in read:
        channel = channels[chat.id]
        for place, said in enumerate(messages, 1):
            yield Entry(f"{channel}, entry {place}", (chat, channel, said))


def _parse(said: _Said, chat: _Chat, channel: str, author: object, zone: Any) -> Message | Skip:
    if said.type != "message":
        return Skip("system message")
    text = "\n".join(_lines(said))
    if not text:
        return Skip("empty message")
    place = f"telegram/{chat.id}"
    edited = said.edited_unixtime or said.edited
    return Message(
        id=f"{place}/{said.id}",
        text=text,
        sent_at=_time(said.date_unixtime, said.date, zone, "date"),
        author=author if isinstance(author, str) else None,
        author_id=said.from_id,
        channel=channel,
        reply_to=f"{place}/{said.reply_to_message_id}" if said.reply_to_message_id else None,
        edited_at=_time(said.edited_unixtime, said.edited or "", zone, "edited")
        if edited
        else None,
        permalink=f"https://t.me/c/{chat.id}/{said.id}" if chat.type in _SUPERGROUPS else None,
    )


def _time(seconds: str | None, text: str, zone: Any, key: str) -> Any:
    if seconds is None:
        return read_time(text, zone, key)
    try:
        return read_time(int(seconds), None, key)
    except ValueError as error:
        raise ImportFormatError(
            f'expected "{key}_unixtime" as seconds, found {seconds!r:.60}.'
        ) from error


def _lines(said: _Said) -> Iterable[str]:
    if said.forwarded_from:
        yield f"[forwarded from {said.forwarded_from}]"
    parts = (said.text,) if isinstance(said.text, str) else said.text
    text = "".join(part if isinstance(part, str) else _entity(part) for part in parts).strip()
    if text:
        yield text
    if said.poll is not None:
        options = "; ".join(answer.text for answer in said.poll.answers)
        yield f"[poll: {said.poll.question} ({options})]"
    if said.sticker_emoji:
        yield f"[sticker: {said.sticker_emoji}]"
    elif said.file or said.photo:
        shown = said.file_name or PurePosixPath(said.file or said.photo or "").name
        # Where files were left out of an export, a note in parentheses stands for the path.
        left_out = (said.file or said.photo or "").startswith("(")
        kind = (said.media_type or "file").replace("_", " ")
        yield f"[{kind}]" if left_out and not said.file_name else f"[{kind}: {shown}]"


def _entity(part: _Entity) -> str:
    if part.type == "text_link" and part.href and part.href != part.text:
        return f"{part.text} ({part.href})"
    return part.text


def _recognises(path: Path) -> bool:
    head = read_head(path)
    return head.lstrip().startswith("{") and '"messages"' in head and bool(_CHAT_TYPE.search(head))


IMPORTER = Importer(
    name="telegram",
    describes="Telegram Desktop's result.json, of one chat or of an account",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone"}),
)
