"""EverMemBench-Dynamic: a year of three groups per topic, questions with references.

A folder per topic with `dialogue.json` and `qa_*.json`; `profiles.json` lies in it or above it. There are no
phases and no reply links: both stay empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, items, units
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.records import read_json, text_of

_NUMBERS = re.compile(r"(\d+)(?:\s*[-–~]\s*(\d+))?")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_ROLE_KEYS = ("title", "role", "position", "job_title")
_NAME_KEYS = ("name", "Name", "speaker")


def is_evermembench(path: Path) -> bool:
    """Whether a folder, or a folder in it, holds a dialogue.json."""
    return any(_topics(path))


def read_evermembench(path: Path) -> Dataset:
    """Read one topic or all. Questions search all groups of all topics read.

    References that name no message are counted and left out.

    Raises:
        ImportFormatError: If a file is not of its form.
    """
    builder = Builder(path.name)
    for topic in _topics(path):
        roles = _roles(topic)
        _read_dialogue(builder, topic, roles)
        known = {message.id for message in builder.messages}
        for file in sorted(topic.glob("qa_*.json")):
            questions = read_json(file)
            for number, record in enumerate(items(questions, "questions", str(file))):
                _ask(builder, topic.name, number, file, record, known)
    return builder.build()


def _topics(path: Path) -> list[Path]:
    files = [path / "dialogue.json", *sorted(path.glob("*/dialogue.json"))]
    return [file.parent for file in files if file.is_file()]


def _roles(topic: Path) -> dict[str, str]:
    """What each person is, by name; empty without profiles."""
    files = [folder / "profiles.json" for folder in (topic, topic.parent)]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        return {}
    profiles = read_json(file)
    people = list(profiles.values()) if isinstance(profiles, dict) else profiles
    found: dict[str, str] = {}
    for person in items(people, "profiles", str(file)):
        name = next((person[key] for key in _NAME_KEYS if person.get(key)), None)
        role = next((person[key] for key in _ROLE_KEYS if person.get(key)), None)
        if isinstance(name, str) and isinstance(role, str):
            found[name] = role
    return found


def _read_dialogue(builder: Builder, topic: Path, roles: Mapping[str, str]) -> None:
    file = topic / "dialogue.json"
    content = read_json(file)
    days = content.get("dialogues") if isinstance(content, dict) else None
    if not isinstance(days, dict):
        raise ImportFormatError(f"{file}: expected 'dialogues' by date, found {days!r:.80}.")
    for date in sorted(days):
        for group, said in (days[date] or {}).items():
            where = f"{file}, {date}, {group}"
            for message in items(said or [], "messages", where):
                author = text_of(message, "speaker", where)
                record = {
                    "id": _id(topic.name, date, group, message.get("message_index")),
                    "text": text_of(message, "dialogue", where),
                    "timestamp": _time(date, text_of(message, "time", where)),
                    "author": author,
                    "role": roles.get(author),
                    "channel": f"{topic.name}/{group}",
                }
                builder.say(record, where)


def _time(date: str, time: str) -> str:
    """Some times carry the day, some only the clock."""
    return f"{date}T{time.zfill(5)}" if _CLOCK.fullmatch(time) else time


def _id(topic: str, date: str, group: str, index: object) -> str:
    return f"{topic}/{date}/{group}/{index}"


def _ask(
    builder: Builder,
    topic: str,
    number: int,
    file: Path,
    record: Mapping[str, Any],
    known: set[str],
) -> None:
    where = f"{file}, question {number}"
    references = [
        i
        for reference in items(record.get("R") or [], "R", where)
        for i in _referred(builder, topic, reference, known)
    ]
    builder.ask(
        Question(
            id=f"{topic}/{file.stem}/{record.get('id', number)}",
            text=text_of(record, "Q", where),
            options=_options(record.get("options"), where),
            kind=file.stem.removeprefix("qa_"),
        ),
        Gold(answer=str(record["A"]) if "A" in record else None, evidence=units(references)),
    )


def _options(value: object, where: str) -> dict[str, str]:
    """Options by letter, given as object or as list."""
    if not value:
        return {}
    if isinstance(value, dict):
        return {str(letter).upper(): str(text) for letter, text in value.items()}
    if isinstance(value, list):
        return {
            chr(ord("A") + i): re.sub(r"^[A-Z][.)]\s*", "", str(t)) for i, t in enumerate(value)
        }
    raise ImportFormatError(f"{where}: expected options as object or list, found {value!r:.80}.")


def _referred(
    builder: Builder, topic: str, reference: Mapping[str, Any], known: set[str]
) -> Iterator[str]:
    """Ids of a reference: a date, a group, and an index, a range or several."""
    for first, last in _NUMBERS.findall(str(reference.get("message_index", ""))):
        for index in range(int(first), int(last or first) + 1):
            found = _id(topic, str(reference.get("date")), str(reference.get("group")), index)
            if found in known:
                yield found
            else:
                builder.skipped["reference that names no message"] += 1
