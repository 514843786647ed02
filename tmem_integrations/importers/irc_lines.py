"""The lines of IRC logs: what weechat, irssi, ZNC, The Lounge, mIRC and ubottu write.

A line is a stamp and a body, or it sets the date. The styles differ in both, but no stamp or body
of one means something else in another, so one grammar reads them all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, time

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import found

_STAMP = re.compile(
    r"\[?(?:(?P<date>\d{4}-\d\d-\d\d)[ T])?(?P<time>\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?)"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?\]?(?P<body>[ \t].*)?$"
)
_SAID = re.compile(r" <(?P<nick>[^>]+)>(?: (?P<text>.*))?$")
_ACTION = re.compile(r" {1,2}\* (?P<nick>\S+)(?: (?P<text>.*))?$")
_NOTICE = re.compile(r" -[^\s-][^\s]*- ")
# mIRC writes joins and modes like actions; a host in parentheses or a fixed phrase tells them apart.
_MIRC_SYSTEM = re.compile(
    r" \* (?:(?:Joins|Parts|Quits|Disconnected|Now talking in|Topic is|Set by)\b"
    r"|\S+ (?:\([^)\s]*@[^)\s]*\) (?:has joined|has left|Quit)|sets mode: |is now known as \S+$"
    r"|changes topic to |was kicked by ))"
)
_SYSTEM = re.compile(r" {1,2}(?:\*{3}|-!-|={3}|-->|<--|--)(?:\s|$)")
_UNSTAMPED_SYSTEM = re.compile(r"={3} |--- Log closed|Session (?:Time|Close|Ident)")
_NEW_DATE = re.compile(
    r"(?:--- (?:Log opened|Day changed)|={3} Day changed to|Session Start:) "
    r"(?:[A-Z][a-z]{2} )?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2})(?: [\d:]+)? (?P<year>\d{4})$"
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_STATUS = "@+%&~!"
_WEECHAT_SYSTEM = frozenset({"-->", "<--", "--", "=!=", ""})
# Bold, colour (with its numbers), reset, monospace, reverse, italic, strike, underline.
_FORMATTING = re.compile("\x03(?:\\d{1,2}(?:,\\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


@dataclass(frozen=True, slots=True)
class NewDate:
    """The lines that follow are of this day."""

    day: date


@dataclass(frozen=True, slots=True)
class SystemLine:
    """No message: joins, parts, modes, notices, blank lines."""

    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody said or did something.

    Attributes:
        nick: Without its status character.
        text: Without formatting codes; "/me waves" for an action.
        clock: Wall time.
        day: Where the stamp has it.
        offset: Such as "+01:00", where the stamp has it.
    """

    nick: str
    text: str
    clock: time
    day: date | None
    offset: str | None


def parse_line(line: str) -> Said | NewDate | SystemLine:
    """Read one line of any of the styles.

    Raises:
        ImportFormatError: If it is of none of them.

    Examples:
        >>> parse_line("[12:34] <ann> hi").nick
        'ann'
        >>> parse_line("12:34 -!- bo [~bo@host] has joined #ops")
        SystemLine(reason='system line')
        >>> parse_line("--- Day changed Tue Mar 03 2026")
        NewDate(day=datetime.date(2026, 3, 3))
    """
    if not line.strip():
        return SystemLine("blank line")
    changed = _NEW_DATE.match(line)
    if changed:
        return NewDate(_read_date(changed))
    if _UNSTAMPED_SYSTEM.match(line):
        return SystemLine("system line")
    stamp = _STAMP.match(line)
    if stamp is None:
        raise ImportFormatError(
            f'expected a line of an IRC log such as "[12:34] <ann> hi", found {found(line)}.'
        )
    body = stamp["body"] or ""
    spoken = _read_weechat(body) if body.startswith("\t") else _read_body(body, line)
    if isinstance(spoken, SystemLine):
        return spoken
    nick, text = spoken
    text = _FORMATTING.sub("", text).strip()
    if not text:
        return SystemLine("empty message")
    return Said(nick, text, _read_clock(stamp, line), _read_day(stamp, line), stamp["zone"])


def _read_weechat(body: str) -> tuple[str, str] | SystemLine:
    prefix, _, text = body[1:].partition("\t")
    prefix = prefix.strip()
    if prefix in _WEECHAT_SYSTEM:
        return SystemLine("system line")
    if prefix == "*":
        nick, _, deed = text.partition(" ")
        return nick, f"/me {deed}"
    return _bare(prefix), text


def _read_body(body: str, line: str) -> tuple[str, str] | SystemLine:
    said = _SAID.match(body)
    if said:
        return _bare(said["nick"]), said["text"] or ""
    if _SYSTEM.match(body) or _MIRC_SYSTEM.match(body):
        return SystemLine("system line")
    if _NOTICE.match(body):
        return SystemLine("notice")
    action = _ACTION.match(body)
    if action:
        return _bare(action["nick"]), f"/me {action['text'] or ''}"
    raise ImportFormatError(
        f'expected "<nick> text", "* nick does" or a system line after the time, found {found(line)}.'
    )


def _bare(nick: str) -> str:
    nick = nick.strip()
    return nick.lstrip(_STATUS) or nick


def _read_date(match: re.Match[str]) -> date:
    try:
        month = _MONTHS.index(match["month"]) + 1
        return date(int(match["year"]), month, int(match["day"]))
    except ValueError as error:
        raise ImportFormatError(
            f'expected a date such as "Tue Mar 03 2026", found {found(match[0])}.'
        ) from error


def _read_clock(stamp: re.Match[str], line: str) -> time:
    try:
        return time.fromisoformat(
            stamp["time"].zfill(5) if len(stamp["time"]) < 5 else stamp["time"]
        )
    except ValueError as error:
        raise ImportFormatError(f"expected a time of day, found {found(line)}.") from error


def _read_day(stamp: re.Match[str], line: str) -> date | None:
    try:
        return date.fromisoformat(stamp["date"]) if stamp["date"] else None
    except ValueError as error:
        raise ImportFormatError(f"expected a date, found {found(line)}.") from error
