"""GateMem: episodes of many people with checkpoints on what they may still know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, items
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.records import optional_text, read_lines, text_of, texts_of


def is_gatemem(path: Path) -> bool:
    """Whether a folder is one domain: episodes.jsonl and checkpoints.jsonl."""
    return (path / "episodes.jsonl").is_file() and (path / "checkpoints.jsonl").is_file()


def read_gatemem(path: Path) -> Dataset:
    """Read one domain; an episode is one channel, and a checkpoint knows its turns up to as_of.

    Checkpoints of an episode or a turn that is not there are counted and left out.

    Raises:
        ImportFormatError: At the first line that is not of its form.
    """
    builder = Builder(path.name)
    times: dict[str, datetime] = {}
    for where, episode in read_lines(path / "episodes.jsonl"):
        channel = text_of(episode, "episode_id", where)
        names = _names(episode, where)
        for turn in items(episode.get("turns"), "turns", where):
            speaker = turn.get("speaker")
            if not isinstance(speaker, dict):
                raise ImportFormatError(f"{where}: expected 'speaker', found {speaker!r:.80}.")
            author_id = text_of(speaker, "principal_id", where)
            record = {
                "id": f"{channel}/{text_of(turn, 'turn_id', where)}",
                "text": text_of(turn, "text", where),
                "timestamp": text_of(turn, "timestamp", where),
                "author": names.get(author_id),
                "author_id": author_id,
                "role": speaker.get("role"),
                "channel": channel,
            }
            builder.say(record, where)
            times[builder.messages[-1].id] = builder.messages[-1].sent_at
    for where, checkpoint in read_lines(path / "checkpoints.jsonl"):
        _ask(builder, checkpoint, times, where)
    return builder.build()


def _names(episode: Mapping[str, Any], where: str) -> dict[str, str]:
    people = items(episode.get("entities", {}).get("principals", []), "principals", where)
    return {
        text_of(person, "principal_id", where): text_of(person, "display_name", where)
        for person in people
    }


def _ask(
    builder: Builder, checkpoint: Mapping[str, Any], times: Mapping[str, datetime], where: str
) -> None:
    channel = text_of(checkpoint, "episode_id", where)
    as_of = times.get(f"{channel}/{text_of(checkpoint, 'as_of_turn_id', where)}")
    if as_of is None:
        builder.skipped["checkpoint of a turn that is not there"] += 1
        return
    spec = checkpoint.get("judge_spec") or {}
    builder.ask(
        Question(
            id=text_of(checkpoint, "checkpoint_id", where),
            text=text_of(checkpoint, "query_text", where),
            asking_user=optional_text(checkpoint.get("asker") or {}, "principal_id", where),
            channel=channel,
            as_of=as_of,
            kind=text_of(checkpoint, "query_type", where),
        ),
        Gold(
            must_include=_literal(texts_of(spec, "include", where)),
            must_not_include=_literal(texts_of(spec, "not_include", where)),
            leak_targets=_literal(texts_of(checkpoint, "leak_targets", where)),
            expected_action=optional_text(checkpoint, "expected_action", where),
        ),
    )


def _literal(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(re.escape(value) for value in values if value)
