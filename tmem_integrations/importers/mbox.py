"""Mailing lists and mailboxes in mbox format.

The subject without "Re:" is the topic. The quoted mail at the end of an answer and the signature are
left out: they are what somebody else said, or what is said each time.
"""

from __future__ import annotations

import email
import email.header
import email.utils
import hashlib
import mailbox
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, tzinfo
from email.errors import HeaderParseError
from email.errors import MessageError as MailError
from email.message import Message as Mail
from pathlib import Path

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import (
    Entry,
    Importer,
    ImportOptions,
    Skip,
    first_lines,
    messages_of,
)
from tmem_integrations.importers.html_text import text_of_html
from tmem_integrations.importers.report import ImportReport
from tmem_integrations.messages import Message, clean_text
from tmem_integrations.times import read_time, zone_of

_N_SNIFFED = 12
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]*: ")
_ANSWER = re.compile(
    r"(?:\s*(?:re|fwd?|aw|wg|sv|antw)\s*(?:\[\d+\])?:|\s*\[[^\]\n]{1,40}\])+\s*", re.IGNORECASE
)
_MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
_ATTRIBUTION = re.compile(
    r"(?:On|Am|Le|El|Op|Il)\b.{0,300}(?:wrote|schrieb|écrit|escribió|schreef|scritto)\b.{0,100}:\s*$",
    re.DOTALL,
)
_LIST_ID = re.compile(r"<?([A-Za-z0-9_-]+)[.@]")


def read_mbox(
    path: str | Path,
    *,
    timezone: str | tzinfo | None = None,
    channel: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read an mbox file, mail by mail.

    Args:
        path: The file.
        timezone: Zone of dates that carry none.
        channel: Name of the list; from its List-Id, else the file's name when None.
        skip_bad: Count mails that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: At the first bad mail, with file, its number, what was expected and found.
    """
    options = ImportOptions(timezone=timezone, channel=channel, skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    if not path.is_file():
        raise ImportFormatError(f"{path}: expected a file, found none.")
    zone = zone_of(options.timezone)

    def parse(data: bytes) -> Message | Skip:
        return _parse(data, options.channel, path, zone)

    yield from messages_of(
        _mails(path, report), parse, path=path, report=report, skip_bad=options.skip_bad
    )


def _mails(path: Path, report: ImportReport) -> Iterator[Entry[bytes]]:
    box = mailbox.mbox(path, create=False)
    try:
        # As bytes: mailbox itself refuses mails whose separator is not ASCII.
        for number, key in enumerate(box.iterkeys(), 1):
            yield Entry(f"mail {number}", box.get_bytes(key))
        report.bytes_read += path.stat().st_size
    except OSError as error:
        raise ImportFormatError(f"{path}: cannot be read: {error}.") from error
    finally:
        box.close()


def _parse(data: bytes, channel: str | None, path: Path, zone: tzinfo | None) -> Message | Skip:
    try:
        mail = email.message_from_bytes(data)
        body = _body(mail)
        names = [f"[file: {name}]" for name in _files(mail)]
    except (MailError, LookupError, ValueError, AssertionError) as error:
        raise ImportFormatError(
            f"expected a mail, found one that cannot be taken apart: {error}."
        ) from error
    text = "\n".join(part for part in (_own_words(body), *names) if part)
    if not text:
        return Skip("empty message")
    channel = channel or _list_of(mail) or path.stem
    message_id = _MESSAGE_ID.search(_header(mail, "Message-ID"))
    name, address = email.utils.parseaddr(_header(mail, "From"))
    answered = _answered(mail)
    archived = _MESSAGE_ID.search(_header(mail, "Archived-At"))
    return Message(
        id=f"mbox/{channel}/{message_id[1] if message_id else _digest(mail, body)}",
        text=text,
        sent_at=_date(mail, zone),
        author=name or address or None,
        author_id=address.lower() or None,
        channel=channel,
        topic=_ANSWER.sub("", _header(mail, "Subject"), count=1).strip() or None,
        reply_to=f"mbox/{channel}/{answered}" if answered else None,
        permalink=archived[1] if archived else None,
    )


def _header(mail: Mail, name: str) -> str:
    """A header decoded, on one line; empty when it is not there."""
    raw = mail.get(name)
    if raw is None:
        return ""
    try:
        text = str(email.header.make_header(email.header.decode_header(raw)))
    except (HeaderParseError, LookupError, ValueError):
        text = str(raw)
    return clean_text(" ".join(text.split()))


def _answered(mail: Mail) -> str | None:
    found = _MESSAGE_ID.findall(_header(mail, "In-Reply-To"))[:1]
    found = found or _MESSAGE_ID.findall(_header(mail, "References"))[-1:]
    return found[0] if found else None


def _date(mail: Mail, zone: tzinfo | None) -> datetime:
    text = _header(mail, "Date")
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise ImportFormatError(f'expected a header "Date", found {text!r:.80}.') from error
    # "-0000" is UTC from who does not tell the zone (RFC 5322 §3.3).
    return read_time(date, UTC if text.endswith("-0000") else zone, "Date")


def _body(mail: Mail) -> str:
    """The plain text, else the HTML, of the parts that are no files."""
    plain: list[str] = []
    rich: list[str] = []
    for part in mail.walk():
        if part.is_multipart() or part.get_filename():
            continue
        if part.get_content_type() == "text/plain":
            plain.append(_decoded(part))
        elif part.get_content_type() == "text/html":
            rich.append(text_of_html(_decoded(part)))
    return "\n".join(plain if any(text.strip() for text in plain) else rich)


def _decoded(part: Mail) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset() or "utf-8"
    try:
        return data.decode(charset, errors="replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", errors="replace")


def _files(mail: Mail) -> Iterable[str]:
    for part in mail.walk():
        name = part.get_filename()
        if name:
            yield clean_text(" ".join(name.split()))


def _own_words(body: str) -> str:
    """Without the signature, and without the quote that an answer ends with."""
    lines = body.replace("\r\n", "\n").split("\n")
    if "-- " in lines:
        lines = lines[: lines.index("-- ")]
    while lines and not lines[-1].strip():
        lines.pop()
    start = len(lines)
    while start and (lines[start - 1].startswith(">") or not lines[start - 1].strip()):
        start -= 1
    if start < len(lines):
        # The line that says who wrote the quote is often broken in two.
        for n in (1, 2):
            if _ATTRIBUTION.match(" ".join(lines[max(0, start - n) : start]).strip()):
                start = max(0, start - n)
                break
        kept = "\n".join(lines[:start]).strip()
        # A mail that is nothing but a quote stays as it is.
        return kept or "\n".join(lines).strip()
    return "\n".join(lines).strip()


def _list_of(mail: Mail) -> str | None:
    header = _header(mail, "List-Id")
    bracketed = re.search(r"<([^<>]+)>", header)
    found = _LIST_ID.match(bracketed[1] if bracketed else header)
    return found[1] if found else None


def _digest(mail: Mail, body: str) -> str:
    told = "\n".join((_header(mail, "Date"), _header(mail, "From"), body))
    return hashlib.blake2b(told.encode(errors="replace"), digest_size=8).hexdigest()


def _recognises(path: Path) -> bool:
    lines = first_lines(path, _N_SNIFFED)
    return bool(lines) and lines[0].startswith("From ") and any(map(_HEADER.match, lines[1:]))


IMPORTER = Importer(
    name="mbox",
    describes="Mailing lists and mailboxes in mbox format",
    recognises=_recognises,
    read=_read,
    options=frozenset({"timezone", "channel"}),
)
