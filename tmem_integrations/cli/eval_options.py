"""Options that the commands of `tmem eval` share, and what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli.output import print_note
from tmem_integrations.errors import ConfigError

if TYPE_CHECKING:
    from tmem_integrations.evaluation.questions import Dataset

Data = Annotated[
    Path,
    typer.Argument(
        help="Folder with messages.jsonl and questions.jsonl, or a published data set.",
        show_default=False,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        help="bm25, bm25+metadata, dense, rrf, recent, full, forest, global, forest-PART without a part "
        "(episodes, surroundings, vectors, metadata, topic, phase, topic-phase, replies), "
        "langchain:MODULE:FACTORY or llama-index:MODULE:FACTORY; may be repeated.",
        show_default="bm25+metadata and forest",
    ),
]


def read_bounds(text: str) -> tuple[int, ...]:
    """Numbers of messages, as 12,36,100."""
    try:
        bounds = tuple(int(part) for part in text.split(","))
    except ValueError:
        bounds = ()
    if not bounds or min(bounds) < 1:
        raise ConfigError(f"--at must be numbers of messages such as 12,36,100, got {text!r}.")
    return bounds


def load(data: Path) -> Dataset:
    """Read a data set; what was left out is told on stderr."""
    from tmem_integrations.evaluation.datasets import load_dataset

    dataset = load_dataset(data)
    for reason, times in dataset.skipped.items():
        print_note(f"{dataset.name}: left out {times} × {reason}")
    return dataset
