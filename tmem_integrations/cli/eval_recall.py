"""`tmem eval recall`: how much of the evidence is found."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import eval_options, models, options
from tmem_integrations.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from tmem_integrations.evaluation.recall import Recall


def recall(
    data: eval_options.Data,
    methods: eval_options.Methods = None,
    at: Annotated[str, typer.Option(help="Bounds N on the messages shown.")] = "12,36,100",
    ranking: Annotated[
        bool, typer.Option("--ranking", help="Add RR, P@5, AP and nDCG (needs the extra eval).")
    ] = False,
    memory_model: eval_options.MemoryModel = None,
    base_url: models.BaseUrl = None,
    as_json: options.AsJson = False,
) -> None:
    """Share of the human evidence among the first N messages.

    Where a data set names required values instead of evidence, the share of them that the shown texts
    hold. Intervals are bootstrapped over questions.

    Example: [cyan]tmem eval recall data/locomo --method bm25+metadata --method forest[/cyan]
    """
    from tmem_integrations.evaluation.ranked import ranking_measures
    from tmem_integrations.evaluation.recall import measure_recall, scored_questions
    from tmem_integrations.evaluation.tables import markdown_table, recall_records, recall_rows

    bounds = eval_options.read_bounds(at)
    chosen = eval_options.choose_methods(methods, models.read_model(memory_model, base_url))
    dataset = eval_options.load(data)
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
