"""`tmem eval`: measure what is found, kept and linked, and compare it with baselines."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note, progress_bar
from tmem_integrations.errors import ConfigError

if TYPE_CHECKING:
    from tmem_integrations.evaluation.questions import Dataset
    from tmem_integrations.evaluation.recall import Recall

eval_app = typer.Typer(
    help="Measure retrieval on questions with known evidence, beside baselines.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

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
        help="bm25, bm25+metadata, dense, rrf, recent, full, forest, "
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


@eval_app.command("recall")
def recall(
    data: Data,
    methods: Methods = None,
    at: Annotated[str, typer.Option(help="Bounds N on the messages shown.")] = "12,36,100",
    ranking: Annotated[
        bool, typer.Option("--ranking", help="Add RR, P@5, AP and nDCG (needs the extra eval).")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Share of the human evidence among the first N messages.

    Where a data set names required values instead of evidence, the share of them that the shown texts
    hold. Needs no model. Intervals are bootstrapped over questions.

    Example: [cyan]tmem eval recall data/locomo --method bm25+metadata --method forest[/cyan]
    """
    from tmem_integrations.evaluation.methods import make_method
    from tmem_integrations.evaluation.ranked import ranking_measures
    from tmem_integrations.evaluation.recall import measure_recall, scored_questions
    from tmem_integrations.evaluation.tables import markdown_table, recall_records, recall_rows

    bounds = read_bounds(at)
    chosen = [make_method(name) for name in methods or ("bm25+metadata", "forest")]
    dataset = load(data)
    n_asked = len(scored_questions(dataset)) * len(bounds)
    cells: list[Recall] = []
    with progress_bar() as bar:
        for method in chosen:
            advance = partial(bar.advance, bar.add_task(method.name, total=n_asked))
            cells += measure_recall(dataset, method, bounds, progress=advance)
    measures = [ranking_measures(cell, dataset.gold) for cell in cells] if ranking else []
    if as_json:
        print_json({"data": dataset.name, "recall": recall_records(cells, measures)})
    else:
        print(markdown_table(*recall_rows(cells, measures)))


def load(data: Path) -> Dataset:
    """Read a data set; what was left out is told on stderr."""
    from tmem_integrations.evaluation.datasets import load_dataset

    dataset = load_dataset(data)
    for reason, times in dataset.skipped.items():
        print_note(f"{dataset.name}: left out {times} × {reason}")
    return dataset
