"""IRC logs: weechat, irssi, ZNC, The Lounge, mIRC and ubottu.

Logs have no message ids, so an id is made of channel, wall time and a digest of nick and text: it
stays the same when the log has grown and is imported again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta, tzinfo
from pathlib import Path

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.clock import WallClock
from tmem_integrations.importers.frame import (
    Importer,
    ImportOptions,
    Skip,
    first_lines,
    messages_of,
    read_lines,
)
from tmem_integrations.importers.irc_lines import NewDate, Said, SystemLine, parse_line
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message
from tmem_integrations.times import zone_of

_N_SNIFFED = 60
_SNIFFED_SHARE = 0.8
# A clock that jumps back further than this has passed midnight; less is a correction or DST.
_MIDNIGHT = timedelta(hours=2)
_FILE_DATE = re.compile(r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)(?!\d)")
_FILE_CHANNEL = re.compile(r"#+[^\s.#]+")


def read_irc(
    path: str | Path,
    *,
    timezone: str | tzinfo | None = None,
    date: date | None = None,
    channel: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read an IRC log, line by line.

    Joins, parts, modes and notices are skipped and counted; "/me waves" is kept as such.

    Args:
        path: The log; lines that are not UTF-8 are read as cp1252 with a warning.
        timezone: Zone of the log's clock; needed unless every line has an offset.
        date: Day of the first line, where neither the lines nor the file's name have it.
        channel: Where it was said; from the file's name, or its folder's, when None.
        skip_bad: Count lines that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad line, with file, line, what was expected and found.
    """
    options = ImportOptions(timezone=timezone, date=date, channel=channel, skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    log = _Log(
        channel=options.channel or channel_of(path),
        day=options.date or date_of(path),
        zone=zone_of(options.timezone),
        report=report,
    )
    lines = read_lines(path, report, fallback="cp1252", skip_bad=options.skip_bad)
    return messages_of(lines, log.parse, path=path, report=report, skip_bad=options.skip_bad)


def channel_of(path: Path) -> str:
    """The channel that a log's name, else its folder's name has; else the name without its end.

    Examples:
        >>> channel_of(Path("irc.libera.#ops.weechatlog")), channel_of(Path("#ops/2026-03-02.log"))
        ('#ops', '#ops')
    """
    for name in (path.name, path.absolute().parent.name):
        found = _FILE_CHANNEL.search(name)
        if found:
            return re.sub(r"_\d{8}$", "", found[0])
    return path.stem


def date_of(path: Path) -> date | None:
    """The day that a log's name has.

    Examples:
        >>> date_of(Path("#ops_20260302.log")), date_of(Path("#ops.log"))
        (datetime.date(2026, 3, 2), None)
    """
    for match in _FILE_DATE.finditer(path.stem):
        try:
            return date(*map(int, match.groups()))
        except ValueError:
            continue
    return None


class _Log:
    """What a line depends on: the day so far, the last time, and what was said alike before."""

    def __init__(
        self, *, channel: str, day: date | None, zone: tzinfo | None, report: ImportReport
    ) -> None:
        self.report = report
        self.channel = channel
        self.day = day
        self.clock = WallClock(zone, report)
        self.last: datetime | None = None
        self.alike: Counter[str] = Counter()

    def parse(self, line: str) -> Message | Skip:
        parsed = parse_line(line)
        if isinstance(parsed, SystemLine):
            return Skip(parsed.reason)
        if isinstance(parsed, NewDate):
            self._set_day(parsed.day)
            return Skip("system line")
        wall = self._wall_time(parsed)
        return Message(
            id=self._id(wall, parsed),
            text=parsed.text,
            sent_at=self._aware(wall, parsed.offset),
            author=parsed.nick,
            channel=self.channel,
        )

    def _wall_time(self, said: Said) -> datetime:
        if said.day is not None:
            self._set_day(said.day)
        if self.day is None:
            raise ImportFormatError(
                f"expected a date, found only the time {said.clock}; give the day of the first line: "
                "date=… or --date 2026-03-02."
            )
        wall = datetime.combine(self.day, said.clock)
        if said.day is None and self.last is not None and self.last - wall > _MIDNIGHT:
            self._set_day(self.day + timedelta(days=1))
            self.report.warn(
                "next day begun where the clock falls back", f"{said.clock}, {self.day}"
            )
            wall = datetime.combine(self.day, said.clock)
        self.last = wall
        return wall

    def _set_day(self, day: date) -> None:
        if day != self.day:
            self.day = day
            self.last = datetime.combine(day, time.min)
            self.alike.clear()

    def _aware(self, wall: datetime, offset: str | None) -> datetime:
        if offset is not None:
            return datetime.fromisoformat(f"{wall.isoformat()}{offset}")
        return self.clock.moment(wall)

    def _id(self, wall: datetime, said: Said) -> str:
        digest = hashlib.blake2b(
            f"{said.nick}\n{said.text}".encode(errors="replace"), digest_size=6
        )
        name = f"irc/{self.channel}/{wall.isoformat()}/{digest.hexdigest()}"
        self.alike[name] += 1
        n = self.alike[name]
        return name if n == 1 else f"{name}-{n}"


def _recognises(path: Path) -> bool:
    lines = first_lines(path, _N_SNIFFED)
    kinds = [_kind(line) for line in lines]
    return any(k is Said for k in kinds) and kinds.count(None) <= (1 - _SNIFFED_SHARE) * len(kinds)


def _kind(line: str) -> type | None:
    try:
        return type(parse_line(line))
    except ImportFormatError:
        return None


IMPORTER = Importer(
    name="irc",
    describes="IRC logs of weechat, irssi, ZNC, The Lounge, mIRC and ubottu",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone", "date", "channel"}),
)
