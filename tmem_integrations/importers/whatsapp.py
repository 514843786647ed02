"""WhatsApp chats as Android and iOS export them: a text file, or the zip around it.

There are no message ids, so an id is made of chat, moment, author and the author's count within that
moment: an edit keeps it.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import IO

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.clock import WallClock
from tmem_integrations.importers.frame import (
    DateOrder,
    Entry,
    Importer,
    ImportOptions,
    Skip,
    first_lines,
    found,
    messages_of,
    read_lines,
)
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.importers.whatsapp_lines import (
    parse_stamped,
    settle_order,
    wall_time,
)
from tmem_integrations.importers.whatsapp_text import is_deleted, shown_text
from tmem_integrations.messages import Message
from tmem_integrations.times import zone_of

_N_SNIFFED = 40
_CHAT_NAME = re.compile(
    r"(?:WhatsApp Chat (?:with|mit|-)|Chat de WhatsApp con|Discussion WhatsApp avec|Conversa do WhatsApp com)"
    r"\s+(?P<name>.+)"
)


def read_whatsapp(
    path: str | Path,
    *,
    timezone: str | tzinfo | None = None,
    date_order: DateOrder | None = None,
    channel: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read a chat that was exported as text.

    What WhatsApp itself wrote is skipped and counted; deleted messages are reported as such.

    Args:
        path: The text file, or the zip that holds it; it is read twice.
        timezone: Zone of the phone's clock; needed.
        date_order: Of day, month and year; settled from all dates of the file when None.
        channel: Name of the chat; from the file's name when None.
        skip_bad: Count entries that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad entry, with file, line, what was expected and found; or if
            the order of day and month is not settled by the file.
    """
    options = ImportOptions(
        timezone=timezone, date_order=date_order, channel=channel, skip_bad=skip_bad
    )
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    order = options.date_order or _settle(path)
    chat = _Chat(options.channel or chat_of(path), order, zone_of(options.timezone), report)
    lines = read_lines(
        path, report, fallback="cp1252", skip_bad=options.skip_bad, opener=_opener(path)
    )
    yield from messages_of(
        _entries(lines), chat.parse, path=path, report=report, skip_bad=options.skip_bad
    )


def chat_of(path: Path) -> str:
    """The chat that a file's name has, else its folder's or zip's.

    Examples:
        >>> chat_of(Path("WhatsApp Chat with Ann Lee.txt")), chat_of(Path("WhatsApp Chat - Trip.zip"))
        ('Ann Lee', 'Trip')
    """
    for name in (path.stem, path.absolute().parent.name):
        named = _CHAT_NAME.match(name)
        if named:
            return named["name"]
    return path.stem


def _settle(path: Path) -> DateOrder:
    dates: list[tuple[int, int, int]] = []
    year_first = False
    for entry in read_lines(path, ImportReport(), fallback="cp1252", opener=_opener(path)):
        try:
            stamped = parse_stamped(entry.content)
        except ImportFormatError:
            continue
        if stamped is not None and stamped.parts not in dates[-1:]:
            dates.append(stamped.parts)
            year_first |= stamped.year_first
    try:
        return settle_order(dates, year_first=year_first)
    except ImportFormatError as error:
        raise ImportFormatError(f"{path}: {error}") from error


def _entries(lines: Iterator[Entry[str]]) -> Iterator[Entry[str]]:
    """Lines without a stamp belong to the message before."""
    open_entry: tuple[str, list[str]] | None = None
    for line in lines:
        if open_entry is not None and not _is_stamped(line.content):
            open_entry[1].append(line.content)
            continue
        if open_entry is not None:
            yield Entry(open_entry[0], "\n".join(open_entry[1]))
        open_entry = (line.where, [line.content])
    if open_entry is not None:
        yield Entry(open_entry[0], "\n".join(open_entry[1]))


def _is_stamped(line: str) -> bool:
    try:
        return parse_stamped(line) is not None
    except ImportFormatError:
        return True


class _Chat:
    """What an entry depends on: the clock so far, and who wrote how much in the same moment."""

    def __init__(
        self, channel: str, order: DateOrder, zone: tzinfo | None, report: ImportReport
    ) -> None:
        self.channel = channel
        self.order = order
        self.clock = WallClock(zone, report)
        self.alike: Counter[str] = Counter()

    def parse(self, entry: str) -> Message | Skip:
        stamped = parse_stamped(entry)
        if stamped is None:
            if not entry.strip():
                return Skip("blank line")
            raise ImportFormatError(
                f'expected a line such as "03/04/2026, 21:15 - Ann: hi", found {found(entry)}.'
            )
        sent_at = self.clock.moment(wall_time(stamped, self.order))
        if stamped.author is None:
            return Skip("system line")
        message_id = self._id(sent_at.isoformat(), stamped.author)
        if is_deleted(stamped.text):
            return Skip("deleted message", deleted_id=message_id)
        text = shown_text(stamped.text)
        if text is None:
            return Skip("system line")
        if not text:
            return Skip("empty message")
        return Message(
            id=message_id, text=text, sent_at=sent_at, author=stamped.author, channel=self.channel
        )

    def _id(self, moment: str, author: str) -> str:
        digest = hashlib.blake2b(author.encode(errors="replace"), digest_size=4).hexdigest()
        name = f"whatsapp/{self.channel}/{moment}/{digest}"
        self.alike[name] += 1
        return f"{name}/{self.alike[name]}"


def _opener(path: Path) -> Callable[[Path], IO[bytes]] | None:
    if not _is_zip(path):
        return None

    def open_member(path: Path) -> IO[bytes]:
        with zipfile.ZipFile(path) as file:
            return file.open(_chat_member(file))

    return open_member


def _chat_member(file: zipfile.ZipFile) -> str:
    texts = [name for name in file.namelist() if name.endswith(".txt") and "/" not in name]
    if len(texts) != 1:
        raise ImportFormatError(f"expected one text file in the zip, found {texts[:5]}.")
    return texts[0]


def _is_zip(path: Path) -> bool:
    try:
        return path.is_file() and zipfile.is_zipfile(path)
    except OSError:
        return False


def _recognises(path: Path) -> bool:
    try:
        lines = first_lines(path, _N_SNIFFED, opener=_opener(path))
    except (ImportFormatError, zipfile.BadZipFile):
        return False
    return bool(lines) and _is_stamped(lines[0]) and sum(map(_is_stamped, lines)) * 4 >= len(lines)


IMPORTER = Importer(
    name="whatsapp",
    describes="WhatsApp chats exported as text by Android or iOS, also zipped",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone", "channel", "date_order"}),
)
