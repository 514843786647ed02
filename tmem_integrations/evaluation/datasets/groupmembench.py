"""GroupMemBench: one JSON per domain, channel to messages, and one JSONL of questions per type."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.datasets.builder import Builder, items
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.records import optional_text, read_json, read_lines, text_of


def is_groupmembench(path: Path) -> bool:
    """Whether a folder holds one JSON of channels, and questions beside it or below."""
    domains = sorted(path.glob("*.json")) if path.is_dir() else []
    if len(domains) != 1 or not any(path.rglob("*.jsonl")):
        return False
    domain = read_json(domains[0])
    return isinstance(domain, dict) and any(
        isinstance(said, list) and said and isinstance(said[0], dict) and "msg_node" in said[0]
        for said in domain.values()
    )


def read_groupmembench(path: Path) -> Dataset:
    """Read a domain. Questions search all channels; their type is the name of their file.

    Marks of noise and of decision points are gold and stay out. A reply to a message that is not in its
    channel loses the link.

    Raises:
        ImportFormatError: If the domain or a question is not of its form.
    """
    (file,) = sorted(path.glob("*.json"))
    domain = read_json(file)
    if not isinstance(domain, dict):
        raise ImportFormatError(f"{file}: expected channels, found {domain!r:.80}.")
    builder = Builder(path.name)
    for channel, said in domain.items():
        _read_channel(builder, channel, items(said, channel, str(file)), f"{file}, {channel}")
    for questions in sorted(path.rglob("*.jsonl")):
        for where, record in read_lines(questions):
            _ask(builder, questions.stem, record, where)
    return builder.build()


def _read_channel(builder: Builder, channel: str, said: list[dict[str, Any]], where: str) -> None:
    nodes = {str(message.get("msg_node")) for message in said}
    for message in said:
        parent = message.get("reply_to")
        linked = parent is not None and str(parent) in nodes
        builder.skipped["reply to no message of its channel"] += parent is not None and not linked
        if message.get("msg_node") is None:
            raise ImportFormatError(f"{where}: expected 'msg_node', found {message!r:.80}.")
        record = {
            "id": f"{channel}/{message['msg_node']}",
            "text": html.unescape(text_of(message, "content", where)),
            "timestamp": text_of(message, "timestamp", where),
            "author": optional_text(message, "author", where),
            "role": optional_text(message, "role", where),
            "channel": channel,
            "topic": optional_text(message, "topic", where),
            "phase": optional_text(message, "phase_name", where),
            "reply_to": f"{channel}/{parent}" if linked else None,
        }
        builder.say(record, where)


def _ask(builder: Builder, kind: str, record: dict[str, Any], where: str) -> None:
    answer = record.get("answer")
    builder.ask(
        Question(
            id=f"{kind}/{record.get('id')}",
            text=html.unescape(text_of(record, "question", where)),
            asking_user=optional_text(record, "asking_user_id", where),
            kind=kind,
        ),
        Gold(answer=None if answer is None else html.unescape(str(answer))),
    )
