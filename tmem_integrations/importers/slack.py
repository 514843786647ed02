"""Slack exports: the zip that an administrator gets, or its folder.

`channels.json`, `groups.json`, `dms.json` and `mpims.json` name the channels, `users.json` the people;
each channel has a folder with a file per day.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.archive import Archive, open_archive
from tmem_integrations.importers.frame import Entry, Importer, ImportOptions, Skip, messages_of
from tmem_integrations.importers.json_source import Record, parse_document, read_record
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.importers.slack_text import SlackNames, block_lines, plain_text
from tmem_integrations.messages import Message
from tmem_integrations.times import read_time

_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_SAID = frozenset(
    {
        "bot_message",
        "me_message",
        "file_share",
        "thread_broadcast",
        "file_comment",
        "reply_broadcast",
        "huddle_thread",
    }
)


# In seconds. What is longer is no length: one of its ends is missing.
_LONGEST_HUDDLE = 7 * 24 * 3600


class _Profile(Record):
    display_name: str | None = None
    real_name: str | None = None


class _User(Record):
    id: str
    team_id: str | None = None
    name: str | None = None
    real_name: str | None = None
    is_bot: bool = False
    profile: _Profile = _Profile()

    @property
    def shown(self) -> str:
        profile = self.profile
        return profile.display_name or profile.real_name or self.real_name or self.name or self.id


class _Channel(Record):
    id: str
    name: str | None = None
    members: tuple[str, ...] = ()


class _Edit(Record):
    ts: str


class _File(Record):
    name: str | None = None
    title: str | None = None
    mode: str | None = None


class _Attachment(Record):
    pretext: str | None = None
    title: str | None = None
    text: str | None = None
    fallback: str | None = None
    from_url: str | None = None
    is_msg_unfurl: bool = False

    @property
    def is_preview(self) -> bool:
        """Of a link or message that the text names."""
        return self.is_msg_unfurl or self.from_url is not None


class _Room(Record):
    created_by: str | None = None
    participant_history: tuple[str, ...] = ()
    date_start: float = 0
    date_end: float = 0


class _Said(Record):
    type: Literal["message"]
    ts: str
    subtype: str | None = None
    text: str | None = None
    user: str | None = None
    username: str | None = None
    bot_id: str | None = None
    user_profile: _Profile | None = None
    team: str | None = None
    thread_ts: str | None = None
    edited: _Edit | None = None
    files: tuple[_File, ...] | None = None
    attachments: tuple[_Attachment, ...] | None = None
    blocks: Any = None
    room: _Room | None = None
    permalink: str | None = None


def read_slack(
    path: str | Path, *, skip_bad: bool = False, report: ImportReport | None = None
) -> Iterator[Message]:
    """Read a Slack export, day by day of each channel.

    Joins, topics and other system messages are skipped and counted, tombstones are reported as deleted;
    the report also gets the members of each channel.

    Args:
        path: The zip or its folder.
        skip_bad: Count entries that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad entry, with file, entry, what was expected and found.
    """
    options = ImportOptions(skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    with open_archive(path) as archive:
        export = _Export(path, archive, report)
        yield from messages_of(
            export.entries(),
            lambda content: export.parse(*content),
            path=path,
            report=report,
            skip_bad=options.skip_bad,
        )


class _Export:
    """What the messages of an export depend on: its people, channels and workspace."""

    def __init__(self, path: Path, archive: Archive, report: ImportReport) -> None:
        self._archive = archive
        self._path = path
        self._report = report
        names = archive.names()
        # Some unzip into a folder of the export's name.
        lists = [PurePosixPath(name) for name in names if PurePosixPath(name).name in _LISTS]
        if not lists:
            raise ImportFormatError(
                f"{path}: expected a Slack export with channels.json, found {names[:5]}."
            )
        self._root = min(lists, key=lambda name: len(name.parts)).parent
        self._names = names
        self.users = {user.id: user for user in self._load("users.json", _User)}
        self.channels = {
            channel.name or channel.id: channel
            for name in _LISTS
            for channel in self._load(name, _Channel)
        }
        self.team = next((u.team_id for u in self.users.values() if u.team_id), None)
        self.labels = SlackNames(
            {one.id: one.shown for one in self.users.values()},
            {one.id: name for name, one in self.channels.items()},
        )
        report.members.update(
            {name: list(one.members) for name, one in self.channels.items() if one.members}
        )

    def _load(self, name: str, kind: type[Any]) -> list[Any]:
        full = str(self._root / name)
        if full not in self._names:
            return []
        where = f"{self._path}, {name}"
        items = parse_document(self._archive.read(full), where)
        if not isinstance(items, list):
            raise ImportFormatError(f"{where}: expected a list, found {type(items).__name__}.")
        return [read_record(kind, item) for item in items]

    def entries(self) -> Iterator[Entry[tuple[str, object]]]:
        for name in self._names:
            file = PurePosixPath(name)
            if (
                file.suffix != ".json"
                or file.parent.parent != self._root
                or file.parent == self._root
            ):
                continue
            data = self._archive.read(name)
            self._report.bytes_read += len(data)
            where = f"{file.parent.name}/{file.name}"
            items = parse_document(data, f"{self._path}, {where}")
            if not isinstance(items, list):
                raise ImportFormatError(
                    f"{self._path}, {where}: expected a list, found {type(items).__name__}."
                )
            for number, item in enumerate(items, 1):
                yield Entry(f"{where}, entry {number}", (file.parent.name, item))

    def parse(self, folder: str, item: object) -> Message | Skip:
        said = read_record(_Said, item)
        channel = self.channels.get(folder)
        channel_id = channel.id if channel else folder
        team = self.team or said.team or "-"
        make_id = partial("slack/{}/{}/{}".format, team, channel_id)
        if said.subtype == "tombstone":
            return Skip("deleted message", deleted_id=make_id(said.ts))
        if said.subtype is not None and said.subtype not in _SAID:
            return Skip(f"system message ({said.subtype})")
        # Slack's own bot tells of a huddle; whoever began it is who spoke up.
        user_id = said.room.created_by if said.room and said.room.created_by else said.user
        user = self.users.get(user_id or "")
        is_bot = (
            said.subtype == "bot_message"
            or (user is not None and user.is_bot)
            or (user_id is None and said.bot_id is not None)
        )
        text = "\n".join(self._lines(said, is_bot=is_bot))
        if not text:
            return Skip("empty message")
        is_reply = said.thread_ts is not None and said.thread_ts != said.ts
        return Message(
            id=make_id(said.ts),
            text=text,
            sent_at=_time(said.ts, "ts"),
            author=self._author(said, user),
            author_id=user_id or said.bot_id,
            role="bot" if is_bot else None,
            channel=folder,
            reply_to=make_id(said.thread_ts) if is_reply else None,
            edited_at=_time(said.edited.ts, "edited.ts") if said.edited else None,
            permalink=said.permalink,
        )

    def _author(self, said: _Said, user: _User | None) -> str | None:
        if user is not None:
            return user.shown
        profile = said.user_profile or _Profile()
        return (
            profile.display_name or profile.real_name or said.username or said.user or said.bot_id
        )

    def _lines(self, said: _Said, *, is_bot: bool) -> Iterable[str]:
        if said.subtype == "huddle_thread":
            yield self._huddle(said.room or _Room())
            return
        text = plain_text(said.text or "", self.labels).strip()
        if text:
            yield f"/me {text}" if said.subtype == "me_message" else text
        # What a bot posts is often in its attachments, of people they are previews of links.
        shown = [one for one in said.attachments or () if not (text and one.is_preview)]
        attached = list(self._attached(shown)) if is_bot or not text else []
        yield from attached
        if not text and not attached:
            yield from filter(
                None, (plain_text(one, self.labels) for one in block_lines(said.blocks))
            )
        for file in said.files or ():
            if file.mode != "tombstone":
                yield f"[file: {file.name or file.title or 'unnamed'}]"

    def _attached(self, attachments: Iterable[_Attachment]) -> Iterator[str]:
        for one in attachments:
            parts = (one.pretext, one.title, one.text) if one.text else (one.fallback,)
            yield from (plain_text(part, self.labels) for part in parts if part)

    def _huddle(self, room: _Room) -> str:
        people = [self.labels.users.get(one, one) for one in room.participant_history]
        told = ", ".join(people)
        seconds = room.date_end - room.date_start
        if room.date_end and 0 <= seconds < _LONGEST_HUDDLE:
            told += f"{'; ' if told else ''}{round(seconds / 60)} min"
        return f"[huddle: {told}]" if told else "[huddle]"


def _time(ts: str, key: str) -> Any:
    try:
        seconds = float(ts)
    except ValueError as error:
        raise ImportFormatError(f'expected "{key}" as seconds, found {ts!r:.60}.') from error
    return read_time(seconds, None, key)


def _recognises(path: Path) -> bool:
    try:
        with open_archive(path) as archive:
            lists = [
                n for n in archive.names() if PurePosixPath(n).name in ("channels.json", "dms.json")
            ]
            return any(isinstance(json.loads(archive.read(name)), list) for name in lists[:1])
    except (ImportFormatError, ValueError, RecursionError, OSError):
        return False


IMPORTER = Importer(
    name="slack",
    describes="Slack exports, as a zip or its folder",
    recognises=_recognises,
    read=_read,
    options=frozenset(),
)
