"""Our own form: a folder with `messages.jsonl` and `questions.jsonl`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError, InputError, MessageError
from tmem_integrations.evaluation.questions import Dataset, Gold, Question, Rollback
from tmem_integrations.evaluation.records import optional_text, read_lines, text_of, texts_of
from tmem_integrations.evaluation.validation import GOLD_KEYS, check_dataset
from tmem_integrations.messages import Message
from tmem_integrations.times import read_time, zone_of


def is_jsonl(path: Path) -> bool:
    """Whether a folder has both files."""
    return (path / "messages.jsonl").is_file() and (path / "questions.jsonl").is_file()


def read_jsonl(folder: Path, *, timezone: str | tzinfo | None = "UTC") -> Dataset:
    """Read `messages.jsonl` (keys of `Message`), `questions.jsonl` and, where there is one,
    `noise.jsonl`.

    A question has id, question, and where known asking_user, channel, as_of, kind; its gold is any of
    answer, evidence (message ids), must_include, must_not_include, leak_targets, expected_action.

    Args:
        folder: Holds both files.
        timezone: Zone of times that carry none.

    Raises:
        ImportFormatError: At the first line that cannot be read.
        InputError: If ids repeat, or a question's channel or evidence is not there.
    """
    zone = zone_of(timezone)
    questions: list[Question] = []
    gold: dict[str, Gold] = {}
    for where, record in read_lines(folder / "questions.jsonl"):
        question = read_question(record, zone, where)
        questions.append(question)
        gold[question.id] = read_gold(record, where)
    dataset = Dataset(
        name=folder.name,
        messages=tuple(read_messages(folder / "messages.jsonl", timezone=zone)),
        questions=tuple(questions),
        gold=gold,
        rollbacks=_rollbacks(folder / "noise.jsonl"),
    )
    return check_dataset(dataset)


def read_question(record: Mapping[str, Any], zone: tzinfo | None, where: str) -> Question:
    """The part of a record that may be known."""
    try:
        as_of = record.get("as_of")
        time = None if as_of is None else read_time(as_of, zone, "as_of")
    except MessageError as error:
        raise ImportFormatError(f"{where}: {error}") from error
    return Question(
        id=text_of(record, "id", where),
        text=text_of(record, "question", where),
        asking_user=optional_text(record, "asking_user", where),
        channel=optional_text(record, "channel", where),
        as_of=time,
        options=_options(record.get("options"), where),
        kind=optional_text(record, "kind", where),
    )


def _options(value: object, where: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ImportFormatError(f"{where}: expected options by letter, found {value!r:.80}.")
    return {str(letter).upper(): text for letter, text in value.items()}


def read_gold(record: Mapping[str, Any], where: str) -> Gold:
    """The part of a record that only the scorer may know."""
    answer = record.get("answer")
    return Gold(
        answer=None if answer is None else str(answer),
        evidence=tuple(
            frozenset([one]) for one in dict.fromkeys(texts_of(record, "evidence", where))
        ),
        must_include=_patterns(record, "must_include", where),
        must_not_include=_patterns(record, "must_not_include", where),
        leak_targets=_patterns(record, "leak_targets", where),
        expected_action=optional_text(record, "expected_action", where),
    )


def _patterns(record: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    patterns = texts_of(record, key, where)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ImportFormatError(
                f"{where}: {key} needs regular expressions, found {pattern!r}: {error}."
            ) from error
    return patterns


def read_messages(path: Path, *, timezone: str | tzinfo | None = "UTC") -> Iterator[Message]:
    """Read `messages.jsonl`.

    Raises:
        ImportFormatError: At the first line that cannot be read, or that holds gold.
    """
    zone = zone_of(timezone)
    for where, record in read_lines(path):
        gold = sorted(GOLD_KEYS & record.keys())
        if gold:
            raise ImportFormatError(f"{where}: a message holds the gold keys {gold}; remove them.")
        try:
            yield Message.from_dict(record, timezone=zone)
        except MessageError as error:
            raise ImportFormatError(f"{where}: {error}") from error


def _rollbacks(path: Path) -> dict[str, Rollback]:
    if not path.is_file():
        return {}
    return {
        text_of(record, "question", where): Rollback(
            texts_of(record, "revisions", where), text_of(record, "rollback", where)
        )
        for where, record in read_lines(path)
    }


def write_jsonl(dataset: Dataset, folder: Path) -> None:
    """Write a data set as `read_jsonl` reads it. Units with alternatives cannot be written.

    Raises:
        InputError: If a unit of evidence has alternatives.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "messages.jsonl", [message.to_dict() for message in dataset.messages])
    questions = [_question_record(q, dataset.gold[q.id]) for q in dataset.questions]
    _write(folder / "questions.jsonl", questions)
    if dataset.rollbacks:
        noise = [
            {"question": key, "revisions": list(own.revisions), "rollback": own.rollback}
            for key, own in dataset.rollbacks.items()
        ]
        _write(folder / "noise.jsonl", noise)


def _question_record(question: Question, gold: Gold) -> dict[str, Any]:
    if any(len(unit) > 1 for unit in gold.evidence):
        raise InputError(f"Question {question.id!r} has evidence with alternatives.")
    record = {
        "id": question.id,
        "question": question.text,
        "asking_user": question.asking_user,
        "channel": question.channel,
        "as_of": question.as_of.isoformat() if question.as_of else None,
        "options": dict(question.options),
        "kind": question.kind,
        "answer": gold.answer,
        "evidence": [one for unit in gold.evidence for one in unit],
        "must_include": list(gold.must_include),
        "must_not_include": list(gold.must_not_include),
        "leak_targets": list(gold.leak_targets),
        "expected_action": gold.expected_action,
    }
    return {key: value for key, value in record.items() if value}


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text("".join(lines), encoding="utf-8")
