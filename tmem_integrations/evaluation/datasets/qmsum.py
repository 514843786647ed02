"""QMSum (Zhong et al., NAACL 2021): meetings with questions and the turns that answer them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, items, units
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.records import read_json, read_lines, text_of

# The transcripts carry no times: a meeting a day, a turn every eight seconds. The order is real.
_FIRST_DAY = datetime(2025, 1, 6, 9, tzinfo=UTC)
_TURN = timedelta(seconds=8)


def is_qmsum(path: Path) -> bool:
    """Whether a file or a folder of files holds meeting transcripts."""
    try:
        return "meeting_transcripts" in next(_meetings(path))[2]
    except (ImportFormatError, StopIteration):
        return False


def read_qmsum(path: Path) -> Dataset:
    """Read one JSON per meeting from a folder, or one meeting per line from a JSONL file.

    Questions search all meetings. General questions have an answer and no evidence.

    Raises:
        ImportFormatError: If a meeting is not of its form.
    """
    builder = Builder(path.stem)
    for day, (name, where, meeting) in enumerate(_meetings(path)):
        turns = items(meeting.get("meeting_transcripts"), "meeting_transcripts", where)
        topics = _topics(builder, meeting, len(turns), where)
        start = _FIRST_DAY + timedelta(days=day)
        for index, turn in enumerate(turns):
            record = {
                "id": f"{name}/{index}",
                "text": text_of(turn, "content", where),
                "timestamp": start + index * _TURN,
                "author": text_of(turn, "speaker", where),
                "channel": name,
                "topic": topics.get(index),
            }
            builder.say(record, where)
        for kind in ("specific", "general"):
            queries = items(meeting.get(f"{kind}_query_list", []), f"{kind}_query_list", where)
            for number, query in enumerate(queries):
                _ask(builder, name, f"{name}/{kind[0]}{number}", kind, query, len(turns), where)
    return builder.build()


def _meetings(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, place and content of each meeting."""
    if path.is_dir():
        for file in sorted(path.glob("*.json")):
            meeting = read_json(file)
            if not isinstance(meeting, dict):
                raise ImportFormatError(f"{file}: expected a meeting, found {meeting!r:.80}.")
            yield file.stem, str(file), meeting
    elif path.suffix == ".jsonl":
        for number, (where, meeting) in enumerate(read_lines(path)):
            yield f"{path.stem}{number}", where, meeting


def _topics(
    builder: Builder, meeting: Mapping[str, Any], n_turns: int, where: str
) -> dict[int, str]:
    found: dict[int, str] = {}
    for topic in items(meeting.get("topic_list", []), "topic_list", where):
        for index in _span(builder, topic.get("relevant_text_span", []), n_turns):
            found.setdefault(index, text_of(topic, "topic", where))
    return found


def _ask(
    builder: Builder,
    name: str,
    question_id: str,
    kind: str,
    query: Mapping[str, Any],
    n_turns: int,
    where: str,
) -> None:
    indices = _span(builder, query.get("relevant_text_span", []), n_turns)
    builder.ask(
        Question(id=question_id, text=text_of(query, "query", where), kind=kind),
        Gold(
            answer=text_of(query, "answer", where),
            evidence=units([f"{name}/{index}" for index in indices]),
        ),
    )


def _span(builder: Builder, spans: Any, n_turns: int) -> list[int]:
    """Turns of spans given as first and last, both included; texts or numbers."""
    found: list[int] = []
    for span in spans if isinstance(spans, list) else [spans]:
        try:
            first, last = (int(bound) for bound in span)
        except (TypeError, ValueError):
            builder.skipped["span that cannot be read"] += 1
            continue
        builder.skipped["span beyond the meeting"] += not 0 <= first <= last < n_turns
        found.extend(range(max(first, 0), min(last + 1, n_turns)))
    return found
