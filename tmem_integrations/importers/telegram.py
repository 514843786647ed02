"""Telegram: `result.json` of one chat, or of a whole account, as Telegram Desktop exports it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
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
from tmem_integrations.messages import Message
from tmem_integrations.times import read_time, zone_of

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


class _Location(Record):
    latitude: float
    longitude: float


class _Contact(Record):
    first_name: str = ""
    last_name: str = ""
    phone_number: str = ""


class _Said(Record):
    id: str
    type: str
    action: str | None = None
    title: str | None = None
    date: str
    date_unixtime: str | None = None
    edited: str | None = None
    edited_unixtime: str | None = None
    from_id: str | None = None
    reply_to_message_id: str | None = None
    reply_to_peer_id: str | None = None
    text: str | tuple[str | _Entity, ...] = ""
    file: str | None = None
    file_name: str | None = None
    photo: str | None = None
    media_type: str | None = None
    sticker_emoji: str | None = None
    forwarded_from: str | None = None
    poll: _Poll | None = None
    place_name: str | None = None
    address: str | None = None
    location_information: _Location | None = None
    contact_information: _Contact | None = None


class _Topics:
    """Topics of forums: a message is in that of what it answers, in the end the line that opened one."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._opened: set[tuple[str, str]] = set()

    def take(self, chat: _Chat, said: _Said) -> tuple[str | None, str | None]:
        """The topic of a message, and the id of the message that it answers."""
        own, answered = (chat.id, said.id), said.reply_to_message_id
        if said.action == "topic_created" and said.title:
            self._opened.add(own)
            self._names[own] = said.title
        if answered is None or said.reply_to_peer_id is not None:
            return None, None  # What is in another chat cannot be found by its number.
        topic = self._names.get((chat.id, answered))
        if topic is not None:
            self._names[own] = topic
        return topic, None if (chat.id, answered) in self._opened else answered


def read_telegram(
    path: str | Path,
    *,
    timezone: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read `result.json` of Telegram Desktop, chat by chat.

    Joins, pins and calls are skipped and counted; a forwarded message says from whom it is. The topics of a
    forum are topics here.

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
    topics = _Topics()

    def parse(content: tuple[_Chat, str, object]) -> Message | Skip:
        chat, channel, item = content
        author = item.get("from") if isinstance(item, dict) else None
        said = read_record(_Said, item)
        topic, answered = topics.take(chat, said)
        parsed = _parse(said, chat, channel, author, zone)
        if isinstance(parsed, Skip):
            return parsed
        reply_to = f"telegram/{chat.id}/{answered}" if answered else None
        return replace(parsed, topic=topic, reply_to=reply_to)

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
    edited = said.edited_unixtime or said.edited
    return Message(
        id=f"telegram/{chat.id}/{said.id}",
        text=text,
        sent_at=_time(said.date_unixtime, said.date, zone, "date"),
        author=author if isinstance(author, str) else None,
        author_id=said.from_id,
        channel=channel,
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
    if said.location_information is not None:
        at = f"{said.location_information.latitude}, {said.location_information.longitude}"
        yield f"[location: {', '.join(filter(None, (said.place_name, said.address, at)))}]"
    if said.contact_information is not None:
        contact = said.contact_information
        name = f"{contact.first_name} {contact.last_name}".strip()
        yield f"[contact: {', '.join(filter(None, (name, contact.phone_number)))}]"
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
