"""The frame of every importer: places for errors, skipping, ids that are used twice.

An importer turns a source into entries, each with its place, and parses an entry into a `Message`
or a `Skip`. The rest is the same for all sources and lives here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import IO, Generic, Literal, TypeVar

from tmem_integrations.errors import ImportFormatError, InputError
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message

T = TypeVar("T")
DateOrder = Literal["dmy", "mdy", "ymd"]
# Our field name and the source's key, for each that has another one.
Columns = tuple[tuple[str, str], ...]
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_FOUND_LENGTH = 120
# Clocks differ; what is later than this is a wrong zone or a wrong year.
_FUTURE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """One piece of a source.

    Attributes:
        where: Its place for people, such as "line 12".
        content: What the parser gets.
    """

    where: str
    content: T


@dataclass(frozen=True, slots=True)
class Skip:
    """An entry that is fine and no message.

    Attributes:
        reason: Such as "system line"; entries are counted by it.
        deleted_id: Id of the message that stood here, where the source says that it was deleted.
    """

    reason: str
    deleted_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a file does not say itself.

    Attributes:
        timezone: Zone of times that carry none, as IANA name or tzinfo.
        date: Day of the first line, for logs with times only.
        channel: Channel of all messages, for logs that do not name theirs.
        columns: Our field name to the source's key.
        make_ids: Make ids for records without one, of channel, time, author and text: the same at every
            import, but an edited message is a new one then.
        date_order: Order of day, month and year where dates are digits only.
        start: When a recording began, for transcripts that count from there.
        skip_bad: Count entries that cannot be read instead of stopping at the first.
        workspace: Put before the name of each channel, as in "acme/general": keeps channels of one name
            in two workspaces apart. Any source takes it.
    """

    timezone: str | tzinfo | None = None
    date: date | None = None
    channel: str | None = None
    columns: Columns = ()
    make_ids: bool = False
    date_order: DateOrder | None = None
    start: datetime | str | None = None
    skip_bad: bool = False
    workspace: str | None = None


Reader = Callable[[Path, ImportOptions, ImportReport], Iterator[Message]]


@dataclass(frozen=True, slots=True)
class Importer:
    """How one source is recognised and read.

    Attributes:
        name: What `--format` calls it.
        describes: What it reads, in one line.
        recognises: Whether a path looks like this source; reads its beginning only.
        read: Yields the messages.
        options: Names of the `ImportOptions` it takes besides `skip_bad`.
        recognises_mapped: Whether a path looks like this source under the given names of columns; None
            for a source that is recognised without.
    """

    name: str
    describes: str
    recognises: Callable[[Path], bool]
    read: Reader
    options: frozenset[str]
    recognises_mapped: Callable[[Path, Columns], bool] | None = None

    def is_of(self, path: Path, columns: Columns) -> bool:
        """Whether a path looks like this source, with its columns under these names."""
        mapped = self.recognises_mapped
        return self.recognises(path) or (mapped is not None and mapped(path, columns))


def found(text: str) -> str:
    """What an error shows of a piece of the source."""
    return repr(text if len(text) <= _FOUND_LENGTH else f"{text[:_FOUND_LENGTH]}…")


def distinct_channels(named: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Channel names of a source, by id. A channel is the border of access, so two of one name must not
    become one: these carry their id as well.

    Args:
        named: Id and name of each channel.

    Examples:
        >>> distinct_channels([("1", "Ann"), ("2", "Ann"), ("3", None)])
        {'1': 'Ann (1)', '2': 'Ann (2)', '3': '3'}
    """
    shown = {channel_id: name or channel_id for channel_id, name in named}
    n_named = Counter(shown.values())
    return {
        channel_id: name if n_named[name] == 1 else f"{name} ({channel_id})"
        for channel_id, name in shown.items()
    }


def read_lines(
    path: Path,
    report: ImportReport,
    *,
    fallback: str | None = None,
    skip_bad: bool = False,
    opener: Callable[[Path], IO[bytes]] | None = None,
) -> Iterator[Entry[str]]:
    """Lines of a UTF-8 file without their ends, one at a time.

    Args:
        path: The file.
        report: Gets `bytes_read`, and a warning for each line read by `fallback`.
        fallback: Encoding of lines that are no UTF-8; with None they are bad.
        skip_bad: Count bad lines instead of raising.
        opener: Opens the file where its lines lie within another, such as an archive.

    Raises:
        ImportFormatError: If the file cannot be opened, or at the first bad line.
    """
    try:
        file = path.open("rb") if opener is None else opener(path)
    except OSError as error:
        raise ImportFormatError(f"{path}: expected a file, {_reason(error)}.") from error
    with file:
        for number, raw in enumerate(file, 1):
            if number == 1 and raw.startswith(_UTF16_MARKS):
                raise ImportFormatError(f"{path}: expected UTF-8, found UTF-16; convert it first.")
            report.bytes_read += len(raw)
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                place = f"{path}, line {number}"
                complaint = f"{place}: expected UTF-8, found byte 0x{raw[error.start]:02x}."
                if fallback is not None:
                    text = raw.decode(fallback, errors="replace")
                    report.warn(f"read as {fallback}, not UTF-8", place)
                elif skip_bad:
                    report.skip("bad entry", complaint)
                    continue
                else:
                    raise ImportFormatError(complaint) from error
            yield Entry(f"line {number}", text.rstrip("\r\n"))


def _reason(error: OSError) -> str:
    return "found a folder" if isinstance(error, IsADirectoryError) else str(error.strerror).lower()


def first_lines(
    path: Path, n: int, *, opener: Callable[[Path], IO[bytes]] | None = None
) -> list[str]:
    """Up to `n` lines that are not blank from the beginning of a file; none if it is no text."""
    lines: list[str] = []
    try:
        for entry in read_lines(path, ImportReport(), fallback="cp1252", opener=opener):
            if entry.content.strip():
                lines.append(entry.content)
            if len(lines) == n:
                break
    except ImportFormatError:
        return []
    return [] if any("\x00" in line for line in lines) else lines


def messages_of(
    entries: Iterable[Entry[T]],
    parse: Callable[[T], Message | Skip],
    *,
    path: Path,
    report: ImportReport,
    skip_bad: bool,
) -> Iterator[Message]:
    """Parse entries one by one into messages with ids that are used once.

    Args:
        entries: From the source, in order.
        parse: Raises an `InputError` that says what was expected and found; the place is added here.
        path: Named in errors.
        report: Counts.
        skip_bad: Count bad entries instead of raising.

    Raises:
        ImportFormatError: At the first bad entry, unless `skip_bad`.
    """
    latest = datetime.now(UTC) + _FUTURE
    seen: dict[str, tuple[str, bytes]] = {}
    unanswered: dict[str, str] = {}
    for entry in entries:
        place = f"{path}, {entry.where}"
        try:
            parsed = parse(entry.content)
            if isinstance(parsed, Message):
                parsed = _check_id(parsed, entry.where, seen)
        except InputError as error:
            if not skip_bad:
                raise ImportFormatError(f"{place}: {error}") from error
            report.skip("bad entry", f"{place}: {error}")
            continue
        if isinstance(parsed, Skip):
            report.skip(parsed.reason, place)
            if parsed.deleted_id is not None:
                report.deleted.append(parsed.deleted_id)
            continue
        if parsed.reply_to is not None and parsed.reply_to not in seen:
            unanswered[parsed.reply_to] = f"{place}: reply_to {parsed.reply_to!r}"
        if parsed.sent_at > latest:
            report.warn("sent in the future", f"{place}: {parsed.sent_at.isoformat()}")
        report.read += 1
        yield parsed
    for message_id, example in unanswered.items():
        if message_id not in seen:
            report.warn("answers a message that is not in the file", example)


def _check_id(message: Message, where: str, seen: dict[str, tuple[str, bytes]]) -> Message | Skip:
    if message.id != message.id.strip():
        raise ImportFormatError(
            f"expected an id without spaces around it, found {message.id!r}: "
            "replies to it would not find it."
        )
    digest = hashlib.blake2b(repr(message).encode(), digest_size=16).digest()
    first, first_digest = seen.setdefault(message.id, (where, digest))
    if first == where:
        return message
    if digest == first_digest:
        return Skip("repeated entry")
    raise ImportFormatError(
        f"expected an id of its own, found {message.id!r} again, used with other content at {first}."
    )
