"""`tmem eval recipe`: a named comparison, with table and plot."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import eval_options, models
from tmem_integrations.cli.output import print_note, progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable


Name = Annotated[str, typer.Argument(help="Name or number.", show_default=False)]
Data = Annotated[Path, typer.Option("--data", help="The data set.", show_default=False)]
Into = Annotated[Path, typer.Option("--into", help="Folder of table and plot.", show_default=False)]
Also = Annotated[
    list[str] | None,
    typer.Option("--method", help="A method beside the recipe's own; may be repeated."),
]
At = Annotated[
    str | None, typer.Option(help="Bounds N, as 12,36.", show_default="the recipe's own")
]
Questions = Annotated[
    int | None, typer.Option(help="Only the first so many.", min=1, show_default="all")
]
Model = Annotated[
    str | None,
    typer.Option(
        help="Answers and judges in recipes that compare texts: openai:NAME or python:MODULE:FACTORY.",
        show_default="none: texts are compared by what they show",
    ),
]
Seed = Annotated[int, typer.Option(help="Of noise and bootstrap.")]


def recipe(
    name: Name,
    data: Data,
    into: Into,
    also: Also = None,
    at: At = None,
    questions: Questions = None,
    memory_model: eval_options.MemoryModel = None,
    model: Model = None,
    base_url: models.BaseUrl = None,
    seed: Seed = 0,
) -> None:
    """Run a named comparison; write table.md, figures.json and plot.svg.

    Numbers say after which experiment of a paper a recipe is made, as far as the methods here go; the
    data is yours.

    [bold]tef-exp1[/bold], comparison: baselines and the forest
    [bold]tef-exp2[/bold], ablation: the forest without one part of retrieval each
    [bold]tef-exp3[/bold], structure: typed, untyped, flat, and truncated instead of compressed, in 1,024 tokens
    [bold]tef-exp4[/bold], metadata: without topics, phases, both, all metadata
    [bold]tef-exp5[/bold], noise: changes that are taken back, put near the evidence
    [bold]tef-exp6[/bold], budget: texts of 512 to 8,192 tokens
    [bold]tef-e2[/bold], global: windows or the whole topic
    [bold]tef-e3[/bold], episodes: other radius ε and density μ
    [bold]am-ablation[/bold]: the memory that anticipates without SL, IC, ET+BT, PS, TF, ST, HT each
    [bold]am-sweep[/bold]: more and fewer topics, scenes, items
    [bold]sweep[/bold]: bounds of 4 to 100 messages

    Example: [cyan]tmem eval recipe tef-exp2 --data data/locomo --into out/ablation[/cyan]
    """
    from tmem_integrations.evaluation.cooking import Models, cook
    from tmem_integrations.evaluation.recipes import recipe_of

    chosen = recipe_of(name)
    bounds = None if at is None else eval_options.read_bounds(at)
    memory = models.read_model(memory_model, base_url)
    known = Models(
        memory=memory,
        memory_name=memory_model,
        answering=models.read_model(model, base_url),
        answering_name=model,
    )
    beside = eval_options.choose_methods(also, memory) if also else []
    dataset = eval_options.load(data)
    dataset = replace(dataset, questions=dataset.questions[:questions])
    with progress_bar() as bar:

        def progress(method: str, total: int) -> Callable[[], None]:
            return partial(bar.advance, bar.add_task(method, total=total))

        table = cook(
            chosen,
            dataset,
            into,
            models=known,
            also=beside,
            seed=seed,
            at=bounds,
            progress=progress,
        )
    print(table, end="")
    print_note(f"Table, figures and plot written to {into}.")
