"""Microsoft Teams: chat messages as the Graph API gives them, and the export of a personal account.

Graph: `{"value": [chatMessage, …]}` or a list of them, replies inside or beside. Account:
`{"conversations": [{"MessageList": […]}]}`. Bodies are HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import (
    Entry,
    Importer,
    ImportOptions,
    Skip,
    distinct_channels,
    messages_of,
)
from tmem_integrations.importers.html_text import text_of_html
from tmem_integrations.importers.json_source import (
    CamelRecord,
    Record,
    load_document,
    read_head,
    read_list,
    read_record,
)
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.importers.teams_cards import card_lines, forwarded_lines
from tmem_integrations.messages import Message
from tmem_integrations.times import read_time

_GRAPH = re.compile(r'"messageType":\s*"')
_ACCOUNT_SAID = frozenset({"RichText/Html", "RichText", "Text", "RichText/Media_Card"})


class _Identity(CamelRecord):
    id: str | None = None
    display_name: str | None = None


class _From(CamelRecord):
    user: _Identity | None = None
    application: _Identity | None = None


class _Body(CamelRecord):
    content_type: str = "text"
    content: str | None = None


class _Place(CamelRecord):
    team_id: str | None = None
    channel_id: str | None = None


class _Attachment(CamelRecord):
    name: str | None = None
    content_type: str | None = None
    content: str | None = None


class _Said(CamelRecord):
    id: str
    reply_to_id: str | None = None
    message_type: str = "message"
    created_date_time: str
    last_edited_date_time: str | None = None
    deleted_date_time: str | None = None
    subject: str | None = None
    chat_id: str | None = None
    web_url: str | None = None
    sender: _From | None = Field(default=None, alias="from")
    body: _Body = _Body()
    channel_identity: _Place | None = None
    attachments: tuple[_Attachment, ...] = ()


class _Conversation(CamelRecord):
    id: str
    display_name: str | None = None


class _Properties(Record):
    deletetime: str | None = None
    edittime: str | None = None


class _AccountSaid(Record):
    id: str
    display_name: str | None = Field(default=None, alias="displayName")
    originalarrivaltime: str
    messagetype: str
    content: str = ""
    sender: str | None = Field(default=None, alias="from")
    properties: _Properties | None = None


def read_teams(
    path: str | Path,
    *,
    channel: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read Teams messages as Graph or an account export has them.

    Membership events and calls are skipped and counted, deleted messages are reported as such.

    Args:
        path: The file; it is read as a whole.
        channel: Where it was said; Graph names channels and chats by id only, which is taken when None.
        skip_bad: Count entries that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad entry, with file, entry, what was expected and found.
    """
    options = ImportOptions(channel=channel, skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    document = load_document(path, report)

    def parse(content: tuple[_Conversation | None, str | None, object]) -> Message | Skip:
        conversation, answered, item = content
        if conversation is not None:
            return _parse_account(read_record(_AccountSaid, item), conversation, options.channel)
        return _parse_graph(read_record(_Said, item), answered, options.channel)

    yield from messages_of(
        _entries(document, path), parse, path=path, report=report, skip_bad=options.skip_bad
    )


def _entries(
    document: Any, path: Path
) -> Iterator[Entry[tuple[_Conversation | None, str | None, object]]]:
    if isinstance(document, dict) and "conversations" in document:
        yield from _account_entries(document, path)
        return
    items = document if isinstance(document, list) else read_list(document, "value", str(path))
    for number, item in enumerate(items, 1):
        yield Entry(f"entry {number}", (None, None, item))
        replies = item.get("replies") if isinstance(item, dict) else None
        if isinstance(replies, list):
            for place, reply in enumerate(replies, 1):
                yield Entry(f"entry {number}, reply {place}", (None, str(item.get("id")), reply))


def _account_entries(
    document: Any, path: Path
) -> Iterator[Entry[tuple[_Conversation | None, str | None, object]]]:
    listed = read_list(document, "conversations", str(path))
    read = []
    for number, item in enumerate(listed, 1):
        try:
            read.append(read_record(_Conversation, item))
        except ImportFormatError as error:
            raise ImportFormatError(f"{path}, conversation {number}: {error}") from error
    channels = distinct_channels((one.id, one.display_name) for one in read)
    for number, (one, item) in enumerate(zip(read, listed, strict=True), 1):
        where = f"conversation {number}"
        named = one.model_copy(update={"display_name": channels[one.id]})
        for place, said in enumerate(read_list(item, "MessageList", f"{path}, {where}"), 1):
            yield Entry(f"{where}, entry {place}", (named, None, said))


def _parse_graph(said: _Said, answered: str | None, channel: str | None) -> Message | Skip:
    where = said.channel_identity or _Place()
    own = where.channel_id or said.chat_id or "-"
    place = f"teams/{where.team_id or '-'}/{own}"
    if said.deleted_date_time is not None:
        return Skip("deleted message", deleted_id=f"{place}/{said.id}")
    if said.message_type != "message":
        return Skip(f"system message ({said.message_type})")
    text = "\n".join(_lines(said))
    if not text:
        return Skip("empty message")
    sender = said.sender or _From()
    person = sender.user or sender.application or _Identity()
    reply_to = said.reply_to_id or answered
    edited = said.last_edited_date_time
    return Message(
        id=f"{place}/{said.id}",
        text=text,
        sent_at=read_time(said.created_date_time, None, "createdDateTime"),
        author=person.display_name,
        author_id=person.id,
        role="bot" if sender.user is None and sender.application is not None else None,
        channel=channel or (None if own == "-" else own),
        reply_to=f"{place}/{reply_to}" if reply_to else None,
        edited_at=read_time(edited, None, "lastEditedDateTime") if edited else None,
        permalink=said.web_url,
    )


def _lines(said: _Said) -> Iterable[str]:
    if said.subject:
        yield said.subject.strip()
    content = said.body.content or ""
    text = text_of_html(content) if said.body.content_type == "html" else content.strip()
    if text:
        yield text
    for one in said.attachments:
        kind = one.content_type or ""
        if kind.startswith("application/vnd.microsoft.card."):
            yield from card_lines(one.content or "")
        elif kind == "forwardedMessageReference":
            yield from forwarded_lines(one.content or "")
        # The message that is answered is told by its id.
        elif kind != "messageReference":
            yield f"[file: {one.name or 'unnamed'}]"


def _parse_account(
    said: _AccountSaid, conversation: _Conversation, channel: str | None
) -> Message | Skip:
    message_id = f"teams/-/{conversation.id}/{said.id}"
    properties = said.properties or _Properties()
    if properties.deletetime:
        return Skip("deleted message", deleted_id=message_id)
    if said.messagetype not in _ACCOUNT_SAID:
        return Skip(f"system message ({said.messagetype})")
    is_html = said.messagetype.startswith("RichText")
    text = text_of_html(said.content) if is_html else said.content.strip()
    if not text:
        return Skip("empty message")
    return Message(
        id=message_id,
        text=text,
        sent_at=read_time(said.originalarrivaltime, "UTC", "originalarrivaltime"),
        author=said.display_name or said.sender,
        author_id=said.sender,
        role="bot" if (said.sender or "").startswith("28:") else None,
        channel=channel or conversation.display_name or conversation.id,
        edited_at=_milliseconds(properties.edittime),
    )


def _milliseconds(text: str | None) -> datetime | None:
    if not text or text == "0":
        return None
    try:
        return read_time(int(text) / 1000, None, "properties.edittime")
    except (ValueError, OverflowError) as error:
        raise ImportFormatError(
            f'expected "properties.edittime" in milliseconds, found {text!r:.60}.'
        ) from error


def _recognises(path: Path) -> bool:
    head = read_head(path)
    is_graph = bool(_GRAPH.search(head)) and '"createdDateTime"' in head
    return is_graph or ('"conversations"' in head and '"MessageList"' in head)


IMPORTER = Importer(
    name="teams",
    describes="Microsoft Teams messages from Graph, or of an account export",
    recognises=_recognises,
    read=_read,
    options=frozenset({"channel"}),
)
