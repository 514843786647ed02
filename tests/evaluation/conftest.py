"""Writes data sets as files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_chat import CHAT, QUESTIONS

Write = Callable[[str, list[dict[str, Any]]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, records: list[dict[str, Any]]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
        return path

    return write


@pytest.fixture
def folder(write: Write) -> Path:
    """The small chat as files."""
    write("chat/messages.jsonl", CHAT)
    return write("chat/questions.jsonl", QUESTIONS).parent
