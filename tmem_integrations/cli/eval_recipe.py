"""`tmem eval recipe`: a named comparison, with table and plot."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import eval_options
from tmem_integrations.cli.output import print_note, progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable


def recipe(
    name: Annotated[
        str,
        typer.Argument(
            help="comparison, ablation, metadata, global (tef-e2), sweep or noise (tef-exp5).",
            show_default=False,
        ),
    ],
    data: Annotated[Path, typer.Option("--data", help="The data set.", show_default=False)],
    into: Annotated[
        Path, typer.Option("--into", help="Folder of table and plot.", show_default=False)
    ],
    at: Annotated[
        str | None, typer.Option(help="Bounds N, as 12,36.", show_default="the recipe's own")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the noise.")] = 0,
) -> None:
    """Run a named comparison; write table.md, figures.json and plot.svg.

    Example: [cyan]tmem eval recipe ablation --data data/locomo --into out/ablation[/cyan]
    """
    from tmem_integrations.evaluation.recipes import cook, recipe_of, serve

    chosen = recipe_of(name)
    bounds = None if at is None else eval_options.read_bounds(at)
    dataset = eval_options.load(data)
    with progress_bar() as bar:

        def progress(method: str, total: int) -> Callable[[], None]:
            return partial(bar.advance, bar.add_task(method, total=total))

        searched, cells = cook(chosen, dataset, seed=seed, at=bounds, progress=progress)
    print(serve(chosen, searched, cells, into), end="")
    print_note(f"Table, figures and plot written to {into}.")
