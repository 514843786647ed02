"""Data sets of evaluation, all read into one shape: `Dataset`."""

from __future__ import annotations

from pathlib import Path

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.questions import Dataset

__all__ = ["load_dataset"]


def load_dataset(path: Path) -> Dataset:
    """Read a data set; its form is told from its files.

    Raises:
        ImportFormatError: If it is in no known form, or a file cannot be read.
        InputError: If ids repeat, or a question's channel or evidence is not there.
    """
    if (path / "messages.jsonl").is_file() and (path / "questions.jsonl").is_file():
        from tmem_integrations.evaluation.datasets.jsonl import read_jsonl

        return read_jsonl(path)
    raise ImportFormatError(
        f"{path}: expected a folder with messages.jsonl and questions.jsonl; found neither form."
    )
