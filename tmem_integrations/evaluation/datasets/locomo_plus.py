"""LoCoMo-Plus: cues put into LoCoMo conversations; the question shares no words with its cue.

`locomo_plus.json` needs the `locomo10.json` it builds on beside it. Of cue i the conversation is i modulo
the number of conversations, where the published script draws one at random.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, items, units
from tmem_integrations.evaluation.datasets.locomo import TURN, turns_of
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.records import read_json, text_of
from tmem_integrations.times import read_time

_WORDS = (
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
)  # fmt: skip
_NUMBERS = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_WORDS)}}
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_GAP = re.compile(rf"\b(\d+|{'|'.join(_NUMBERS)})\s+(day|week|month|year)s?\b")
_TURN = re.compile(r"^([AB]):\s*(.+)$")
# The question is asked a week after the last session.
_ASKED_AFTER = timedelta(days=7)


def is_locomo_plus(path: Path) -> bool:
    """Whether a file is a list of cues."""
    if path.suffix != ".json" or not path.is_file():
        return False
    cues = read_json(path)
    return isinstance(cues, list) and bool(cues) and "cue_dialogue" in cues[0]


def read_locomo_plus(path: Path) -> Dataset:
    """Read all cues, each in a copy of its conversation: one channel per cue.

    Raises:
        ImportFormatError: If a cue is not of its form, or locomo10.json is not beside the file.
    """
    base = path.with_name("locomo10.json")
    samples = items(read_json(base), "samples", str(base))
    if not samples:
        raise ImportFormatError(f"{base}: expected conversations, found none.")
    builder = Builder(path.stem)
    for index, cue in enumerate(items(read_json(path), "cues", str(path))):
        sample = samples[index % len(samples)]
        _add(builder, sample, cue, index, f"{path}, cue {index}")
    return builder.build()


def gap_of(text: str) -> timedelta | None:
    """How long ago the cue was; None when the text does not say.

    Examples:
        >>> gap_of("about two weeks later").days, gap_of("a month later").days, gap_of("later")
        (14, 30, None)
    """
    found = _GAP.search(text.lower())
    if found is None:
        return None
    number = int(found[1]) if found[1].isdecimal() else _NUMBERS[found[1]]
    return timedelta(days=number * _DAYS[found[2]])


def _add(
    builder: Builder, sample: dict[str, Any], cue: dict[str, Any], index: int, where: str
) -> None:
    gap = gap_of(text_of(cue, "time_gap", where))
    said = _turns(text_of(cue, "cue_dialogue", where))
    asked = _turns(text_of(cue, "trigger_query", where))
    if gap is None or not said or not asked:
        builder.skipped["cue without turns or time gap"] += 1
        return
    channel = f"{text_of(sample, 'sample_id', where)}+{index}"
    speakers = {
        letter: text_of(sample["conversation"], f"speaker_{letter.lower()}", where)
        for letter in "AB"
    }
    turns = list(turns_of(sample, where))
    asked_at: datetime = max(turn["timestamp"] for turn in turns) + _ASKED_AFTER
    cue_ids = []
    for number, (speaker, text) in enumerate(said):
        time = asked_at - gap + number * TURN
        turns.append(
            {"id": f"cue{number}", "text": text, "timestamp": time, "author": speakers[speaker]}
        )
        cue_ids.append(f"{channel}/cue{number}")
    for turn in sorted(turns, key=lambda turn: turn["timestamp"]):
        builder.say({**turn, "id": f"{channel}/{turn['id']}", "channel": channel}, where)
    question = Question(
        id=channel,
        text=asked[0][1],
        asking_user=speakers[asked[0][0]],
        channel=channel,
        as_of=read_time(asked_at, "UTC", where),
        kind=text_of(cue, "relation_type", where),
    )
    builder.ask(question, Gold(evidence=units(cue_ids)))


def _turns(text: str) -> list[tuple[str, str]]:
    """Speaker and words of each line; some files hold a backslash and n for a line break."""
    lines = text.replace("\\n", "\n").splitlines()
    return [(m[1], m[2].strip()) for line in lines if (m := _TURN.match(line.strip()))]
