"""Meeting transcripts in WebVTT, as Teams, Zoom and most recorders write them.

    00:00:03.120 --> 00:00:06.480
    <v Ann Lee>So we ship on Friday.</v>

Times count from the beginning of the recording, which the file does not tell: it is asked for. A cue is
some seconds of speech, so cues are joined to what somebody said in one go. Who speaks is told by voice
tags (Teams), or by "Ann Lee: " before the words (Zoom); else it stays unknown.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers.frame import (
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
from tmem_integrations.messages import Message
from tmem_integrations.times import read_time

# Of one speaker, cues with a shorter pause between them are one message, until it is as long as that.
_PAUSE = timedelta(seconds=5)
_LONGEST_TURN = timedelta(seconds=60)
_STAMP = r"(?:(\d{1,5}):)?([0-5]?\d):([0-5]\d)[.,](\d{3})"
_TIMING = re.compile(rf"\s*{_STAMP}\s*-->\s*{_STAMP}(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?(?:\s+(?P<name>[^>]*))?>")
_TAG = re.compile(r"<[^<>]*>")
_NAMED = re.compile(r"(?P<name>[^\W_][^:<>]{0,59}): (?P<text>.*)")
# Teams cuts what was said into cues "…/12-0", "…/12-1", and sets those of others between them.
_PART = re.compile(r"(?P<utterance>[\w-]+/\d+)-\d+")
_NO_CUE = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
# Zoom writes the beginning of the recording into the name of the file, in UTC.
_ZOOM_NAME = re.compile(r"GMT(\d{8})-(\d{6})")


@dataclass(frozen=True, slots=True)
class _Speech:
    """Words of one speaker; times from the beginning of the recording."""

    start: timedelta
    end: timedelta
    author: str | None
    text: str
    utterance: str | None


_Found = Entry[_Speech | Skip | ImportFormatError]


def read_vtt(
    path: str | Path,
    *,
    start: datetime | str | None = None,
    timezone: str | None = None,
    channel: str | None = None,
    skip_bad: bool = False,
    report: ImportReport | None = None,
) -> Iterator[Message]:
    """Read the transcript of a meeting.

    Args:
        path: The file; it is read as a whole.
        start: When the recording began; needed, unless the file has its name from Zoom.
        timezone: Zone of a start that carries none.
        channel: Name of the meeting; the file's when None.
        skip_bad: Count cues that cannot be read instead of stopping at the first.
        report: Filled while reading.

    Raises:
        ImportFormatError: If the beginning is not known; or at the first bad cue, with file, line, what was
            expected and found.
        MessageError: If `start` is no time, or has no zone and none is given.
    """
    options = ImportOptions(start=start, timezone=timezone, channel=channel, skip_bad=skip_bad)
    return _read(Path(path), options, report if report is not None else ImportReport())


def _read(path: Path, options: ImportOptions, report: ImportReport) -> Iterator[Message]:
    begun = _beginning(path, options)
    channel = options.channel or path.stem.removesuffix(".transcript")
    place = f"vtt/{channel}/{begun.isoformat()}"
    alike: Counter[str] = Counter()

    def parse(said: _Speech | Skip | ImportFormatError) -> Message | Skip:
        if isinstance(said, ImportFormatError):
            raise said
        if isinstance(said, Skip):
            return said
        own = said.utterance or f"{said.start / timedelta(seconds=1):.3f}"
        alike[own] += 1
        return Message(
            id=f"{place}/{own}" if alike[own] == 1 else f"{place}/{own}/{alike[own]}",
            text=said.text,
            sent_at=_later(begun, said.start),
            author=said.author,
            channel=channel,
        )

    lines = read_lines(path, report, skip_bad=options.skip_bad)
    speeches = _join(_with_names([cue for block in _blocks(lines) for cue in _cues(block)]))
    yield from messages_of(speeches, parse, path=path, report=report, skip_bad=options.skip_bad)


def _beginning(path: Path, options: ImportOptions) -> datetime:
    if options.start is not None:
        return read_time(options.start, options.timezone, "start")
    named = _ZOOM_NAME.search(path.name)
    try:
        if named:
            return datetime.strptime(named[1] + named[2], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        pass  # Digits that are no time: asked for, like a name without any.
    raise ImportFormatError(
        f"{path}: expected to know when the recording began, which the file does not tell; say it: "
        'start="2026-03-02T09:00+01:00", or tmem import … --start 2026-03-02T09:00+01:00.'
    )


def _later(begun: datetime, offset: timedelta) -> datetime:
    try:
        return begun + offset
    except OverflowError as error:
        raise ImportFormatError(
            f"expected a time in the years 1 to 9999, found {offset} after {begun}."
        ) from error


def _blocks(lines: Iterator[Entry[str]]) -> Iterator[Entry[list[str]]]:
    """Lines between blank lines, below the header of the file."""
    next(lines, None)
    block: list[Entry[str]] = []
    is_header = True
    for line in [*lines, Entry("the end", "")]:
        if line.content.strip():
            block.append(line)
            continue
        # A cue right below the first line is against the format, and met all the same.
        if block and not (is_header and not any("-->" in one.content for one in block)):
            yield Entry(block[0].where, [one.content for one in block])
        is_header, block = False, []


def _cues(block: Entry[list[str]]) -> Iterator[_Found]:
    """What is said in a block, speaker by speaker."""
    lines = block.content
    if _NO_CUE.match(lines[0]):
        yield Entry(block.where, Skip("comment or style"))
        return
    at = next((i for i, line in enumerate(lines[:2]) if _TIMING.fullmatch(line)), None)
    timing = None if at is None else _TIMING.fullmatch(lines[at])
    if at is None or timing is None:
        shown = next((line for line in lines[:2] if "-->" in line), lines[0])
        complaint = f'expected "00:00:03.120 --> 00:00:06.480", found {found(shown)}.'
        yield Entry(block.where, ImportFormatError(complaint))
        return
    numbers = timing.groups(default="0")
    part = _PART.fullmatch(lines[0].strip()) if at else None
    cue = _Speech(
        _offset(numbers[:4]), _offset(numbers[4:]), None, "", part["utterance"] if part else None
    )
    voices = _VOICE.split("\n".join(lines[at + 1 :]))
    spoken = [(None, voices[0]), *zip(voices[1::2], voices[2::2], strict=True)]
    texts = [(_plain(name or "") or None, _plain(text)) for name, text in spoken]
    if not any(text for _, text in texts):
        yield Entry(block.where, Skip("empty message"))
    for author, text in texts:
        if text:
            yield Entry(block.where, replace(cue, author=author, text=text))


def _offset(numbers: tuple[str, ...]) -> timedelta:
    hours, minutes, seconds, milliseconds = map(int, numbers)
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)


def _plain(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _with_names(cues: list[_Found]) -> list[_Found]:
    """Take "Ann Lee: " for the speaker where that is how the file tells them: in half of its cues or more,
    and no voice tag in any.
    """
    spoken = [cue.content for cue in cues if isinstance(cue.content, _Speech)]
    named = [_NAMED.fullmatch(one.text) for one in spoken]
    if any(one.author for one in spoken) or 2 * sum(map(bool, named)) < len(spoken):
        return cues
    return [_named(cue) for cue in cues]


def _named(cue: _Found) -> _Found:
    said = cue.content
    name = _NAMED.fullmatch(said.text) if isinstance(said, _Speech) else None
    if name is None or not isinstance(said, _Speech):
        return cue
    return Entry(cue.where, replace(said, author=name["name"], text=name["text"]))


def _join(cues: Iterable[_Found]) -> list[_Found]:
    """Join the cues that somebody spoke in one go; those of nobody known stay apart."""
    joined: list[_Found] = []
    of_utterance: dict[tuple[str, str | None], int] = {}
    for cue in cues:
        said = cue.content
        if not isinstance(said, _Speech):
            joined.append(cue)
            continue
        at: int | None = None
        if said.utterance is not None:
            at = of_utterance.setdefault((said.utterance, said.author), len(joined))
        elif joined and _goes_on(joined[-1].content, said):
            at = len(joined) - 1
        before = joined[at].content if at is not None and at < len(joined) else None
        if at is not None and isinstance(before, _Speech):
            grown = replace(before, end=said.end, text=f"{before.text} {said.text}")
            joined[at] = Entry(joined[at].where, grown)
        else:
            joined.append(cue)
    return joined


def _goes_on(before: _Speech | Skip | ImportFormatError, said: _Speech) -> bool:
    return (
        isinstance(before, _Speech)
        and before.utterance is None
        and said.author is not None
        and before.author == said.author
        and said.start - before.end < _PAUSE
        and said.end - before.start <= _LONGEST_TURN
    )


def _recognises(path: Path) -> bool:
    lines = first_lines(path, 1)
    return bool(lines) and re.match(r"WEBVTT(?:\s|$)", lines[0]) is not None


IMPORTER = Importer(
    name="vtt",
    describes="meeting transcripts in WebVTT, as Teams and Zoom write them",
    recognises=_recognises,
    read=_read,
    options=frozenset({"start", "timezone", "channel"}),
)
