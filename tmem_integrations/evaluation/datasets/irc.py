"""Ubuntu IRC with human reply links (Kummerfeld et al., ACL 2019): DATE.ascii.txt, DATE.annotation.txt.

A question is the first message of a conversation that asks something, its evidence the rest of it. The links are what people
read out of the log, so they are gold: no message carries them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, units
from tmem_integrations.evaluation.questions import Dataset, Gold, Question

_LINE = re.compile(r"\[(\d{1,2}):(\d{2})\]\s+(?:<([^>]+)>|\*\s+(\S+))\s?(.*)")
_LINK = re.compile(r"(\d+)\s+(\d+)\s+-")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# Shorter exchanges ask nothing that a search would help with.
_SMALLEST = 6


def is_irc(path: Path) -> bool:
    """Whether a folder holds annotated logs."""
    return path.is_dir() and any(path.glob("*.annotation.txt"))


def read_irc(path: Path) -> Dataset:
    """Read all annotated logs of a folder; a log is one channel, times are UTC.

    Joins, quits and the like are counted and left out.

    Raises:
        ImportFormatError: If a log is missing or a link is not of its form.
    """
    builder = Builder(path.name)
    for annotation in sorted(path.glob("*.annotation.txt")):
        name = annotation.name.removesuffix(".annotation.txt")
        log = next(
            (f for kind in ("ascii", "raw") if (f := path / f"{name}.{kind}.txt").is_file()), None
        )
        if log is None:
            raise ImportFormatError(
                f"{annotation}: expected {name}.ascii.txt or .raw.txt beside it."
            )
        channel = name.partition(".")[0]
        lines = _read_log(builder, channel, log)
        _ask(builder, channel, lines, list(_links(annotation)))
    return builder.build()


def _read_log(builder: Builder, channel: str, log: Path) -> dict[int, str]:
    """Add the messages; line number to message id."""
    day = _DATE.match(channel)
    if day is None:
        raise ImportFormatError(f"{log}: expected a name that begins with a date.")
    midnight = datetime.fromisoformat(day[0])
    lines: dict[int, str] = {}
    last = midnight
    with log.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file):
            said = _LINE.match(line.rstrip("\n"))
            if said is None:
                builder.skipped["line that nobody says"] += 1
                continue
            time = midnight + timedelta(hours=int(said[1]), minutes=int(said[2]))
            if time < last - timedelta(hours=12):  # past midnight
                midnight += timedelta(days=1)
                time += timedelta(days=1)
            last = max(last, time)
            lines[number] = f"{channel}/{number}"
            record = {
                "id": lines[number],
                "text": said[5],
                "timestamp": last,
                "author": said[3] or said[4],
                "channel": channel,
            }
            builder.say(record, f"{log}, line {number + 1}")
    return lines


def _links(annotation: Path) -> Iterator[tuple[int, int]]:
    """Earlier and later line of each link; a message linked to itself begins a conversation."""
    with annotation.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            link = _LINK.match(line.strip())
            if link is None:
                raise ImportFormatError(
                    f'{annotation}, line {number}: expected "LINE LINE -", found {line[:40]!r}.'
                )
            first, second = sorted((int(link[1]), int(link[2])))
            yield first, second


def _ask(
    builder: Builder, channel: str, lines: dict[int, str], links: Sequence[tuple[int, int]]
) -> None:
    known = [(a, b) for a, b in links if a in lines and b in lines]
    builder.skipped["link to a line that nobody says"] += len(links) - len(known)
    for earlier, later in known:
        if earlier != later:
            builder.parents[lines[later]] = lines[earlier]
    by_id = {message.id: message for message in builder.messages}
    starts = {a for a, b in known if a == b}
    for conversation in _conversations(known):
        first, *rest = sorted(conversation)
        message = by_id[lines[first]]
        if len(conversation) < _SMALLEST or first not in starts or "?" not in message.text:
            continue
        builder.ask(
            Question(
                id=f"{channel}/t{first}",
                text=message.text,
                asking_user=message.author,
                channel=channel,
                kind="thread",
            ),
            Gold(evidence=units([lines[line] for line in rest])),
        )


def _conversations(links: Sequence[tuple[int, int]]) -> list[set[int]]:
    """Lines that are linked, directly or not."""
    neighbours: dict[int, set[int]] = defaultdict(set)
    for a, b in links:
        neighbours[a].add(b)
        neighbours[b].add(a)
    found: list[set[int]] = []
    seen: set[int] = set()
    for line in sorted(neighbours):
        if line in seen:
            continue
        own, pending = set(), [line]
        while pending:
            here = pending.pop()
            if here not in own:
                own.add(here)
                pending.extend(neighbours[here] - own)
        seen |= own
        found.append(own)
    return found
