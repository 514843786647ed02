"""Options that the commands of `tmem eval` share, and what is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmem_integrations.cli.output import print_note
from tmem_integrations.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmem_integrations.evaluation.methods import Method
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
        "(episodes, surroundings, vectors, metadata, topic, phase, topic-phase, replies), anticipation, "
        "forest+anticipation, langchain:MODULE:FACTORY or llama-index:MODULE:FACTORY; with the extra of "
        "that name mem0, graphiti, hindsight; may be repeated.",
        show_default="bm25+metadata and forest",
    ),
]
MemoryModel = Annotated[
    str | None,
    typer.Option(
        help="Judges within the forest, writes what anticipation and peers remember: openai:NAME or "
        "python:MODULE:FACTORY.",
        show_default="rules",
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


def choose_methods(names: Sequence[str] | None, llm: Any) -> list[Method]:
    """The methods of a comparison. One whose package is absent is passed over, in a sentence on stderr.

    Raises:
        MissingExtraError: If none is left.
    """
    from tmem_integrations.evaluation.methods import make_method

    chosen: list[Method] = []
    missing: list[MissingExtraError] = []
    for name in names or ("bm25+metadata", "forest"):
        try:
            chosen.append(make_method(name, llm=llm))
        except MissingExtraError as error:
            missing.append(error)
    if not chosen:
        raise missing[0]
    for absent in missing:
        print_note(f"Passed over: {absent}")
    return chosen


def load(data: Path) -> Dataset:
    """Read a data set; what was left out is told on stderr."""
    from tmem_integrations.evaluation.datasets import load_dataset

    dataset = load_dataset(data)
    for reason, times in dataset.skipped.items():
        print_note(f"{dataset.name}: left out {times} × {reason}")
    return dataset
