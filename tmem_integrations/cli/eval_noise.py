"""`tmem eval noise`: a chat with changes that are taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tmem_integrations.cli import eval_options, models
from tmem_integrations.cli.output import print_note


def noise(
    data: eval_options.Data,
    into: Annotated[
        Path, typer.Option("--into", help="Folder of the noisy data set.", show_default=False)
    ],
    seed: Annotated[int, typer.Option(help="The same seed makes the same chat.")] = 0,
    steps: Annotated[
        int | None,
        typer.Option(help="Revisions in each chain.", min=1, max=3, show_default="1 to 3, drawn"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Writes the changes: openai:NAME or python:MODULE:FACTORY. Templates write what it "
            "gets wrong.",
            show_default="templates",
        ),
    ] = None,
    base_url: models.BaseUrl = None,
) -> None:
    """Put changes that are taken back near the evidence of each question.

    Then [cyan]tmem eval recall[/cyan] on that folder also tells how often a method shows a change without its
    undoing: the column [cyan]misled[/cyan]. [cyan]tmem eval recipe tef-exp5[/cyan] takes such a folder as it is.

    Example: [cyan]tmem eval noise data/locomo --into noisy/locomo --seed 1[/cyan]
    """
    from tmem_integrations.evaluation.datasets.jsonl import write_jsonl
    from tmem_integrations.evaluation.noise import add_noise

    llm = models.read_model(model, base_url)
    noisy = add_noise(eval_options.load(data), seed=seed, steps=steps, llm=llm)
    write_jsonl(noisy.dataset, into)
    print_note(
        f"{into}: {noisy.n_chains} chains near the evidence of {len(noisy.dataset.rollbacks)} questions."
    )
    for reason, times in noisy.refused.items():
        print_note(f"From templates, since the model wrote {reason}: {times} of {noisy.n_chains}.")
