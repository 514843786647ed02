"""LoCoMo (Maharana et al., ACL 2024): `locomo10.json`, two people over months."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, items, units
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.records import read_json, text_of

KINDS = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
# A session has one time; its turns are put half a minute apart, so that their order is kept.
TURN = timedelta(seconds=30)
_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_TIME_FORMAT = "%I:%M %p on %d %B, %Y"


def is_locomo(path: Path) -> bool:
    """Whether a file is a list of samples with conversation and questions."""
    if path.suffix != ".json" or not path.is_file():
        return False
    samples = read_json(path)
    return isinstance(samples, list) and bool(samples) and "conversation" in samples[0]


def read_locomo(path: Path) -> Dataset:
    """Read all samples; a sample is one channel. What a picture shows is put after the words.

    Evidence that names no turn is counted and left out, as are questions without text.

    Raises:
        ImportFormatError: If a sample is not of its form.
    """
    builder = Builder(path.stem)
    for index, sample in enumerate(items(read_json(path), "samples", str(path))):
        where = f"{path}, sample {index}"
        channel = text_of(sample, "sample_id", where)
        turns = list(turns_of(sample, where))
        for turn in turns:
            builder.say({**turn, "id": f"{channel}/{turn['id']}", "channel": channel}, where)
        known = {turn["id"] for turn in turns}
        for number, record in enumerate(items(sample.get("qa", []), "qa", where)):
            _ask(builder, channel, number, record, known)
    return builder.build()


def turns_of(sample: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """Turns of all sessions in order, with the keys of `Message` but for the channel."""
    conversation = sample.get("conversation")
    if not isinstance(conversation, dict):
        raise ImportFormatError(f"{where}: expected 'conversation', found {conversation!r:.80}.")
    numbers = [int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key))]
    for number in sorted(numbers):
        start = session_time(text_of(conversation, f"session_{number}_date_time", where), where)
        turns = items(conversation[f"session_{number}"], f"session_{number}", where)
        for index, turn in enumerate(turns):
            yield {
                "id": text_of(turn, "dia_id", where),
                "text": _with_picture(turn, text_of(turn, "text", where)),
                "timestamp": start + index * TURN,
                "author": text_of(turn, "speaker", where),
            }


def session_time(text: str, where: str) -> datetime:
    """Read a time such as "1:56 pm on 8 May, 2023".

    Raises:
        ImportFormatError: If it is none.
    """
    try:
        return datetime.strptime(text.strip(), _TIME_FORMAT)
    except ValueError as error:
        raise ImportFormatError(
            f"{where}: expected a time as '1:56 pm on 8 May, 2023', found {text!r}."
        ) from error


def _with_picture(turn: Mapping[str, Any], text: str) -> str:
    caption = turn.get("blip_caption")
    return f"{text} [picture: {caption}]" if caption else text


def _ask(
    builder: Builder, channel: str, number: int, record: Mapping[str, Any], known: set[str]
) -> None:
    text = record.get("question")
    if not isinstance(text, str) or not text.strip():
        builder.skipped["question without text"] += 1
        return
    kind = KINDS.get(int(str(record.get("category", 0))), "unknown")
    answer = record.get("answer")
    builder.ask(
        Question(id=f"{channel}/q{number}", text=text, channel=channel, kind=kind),
        Gold(
            # The answer of an adversarial question is the wrong one it lures to.
            answer=None if answer is None or kind == "adversarial" else str(answer),
            evidence=units(_evidence(builder, channel, record.get("evidence") or [], known)),
            expected_action="abstain" if kind == "adversarial" else None,
        ),
    )


def _evidence(builder: Builder, channel: str, given: list[Any], known: set[str]) -> list[str]:
    found: list[str] = []
    for text in map(str, given):
        # Some name several turns in one text, or write D30:05 for D30:5 and D:11:26 for D11:26.
        named = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(text)]
        builder.skipped["evidence that names no turn"] += not named
        for turn_id in named:
            if turn_id in known:
                found.append(f"{channel}/{turn_id}")
            else:
                builder.skipped["evidence that names no turn"] += 1
    return found
