"""`tmem eval parents`: links in the forest against those that people drew."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from tmem_integrations.cli import eval_options, options
from tmem_integrations.cli.output import print_json, progress_bar


def parents(
    data: eval_options.Data,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", help="forest or an ablation of it.", show_default="forest"),
    ] = None,
    max_messages: options.MaxMessages = 36,
    as_json: options.AsJson = False,
) -> None:
    """Does a message hang from the one it replies to? Nobody sees the reply links here.

    Counts messages whose human parent is in the forest too. "message before" is what hanging each
    message from the one before it would get right; "within thread" is the share of links that stay
    in a thread that people see.

    Example: [cyan]tmem eval parents data/irc[/cyan]
    """
    from tmem_integrations.evaluation.methods import make_method
    from tmem_integrations.evaluation.parents import measure_parents
    from tmem_integrations.evaluation.tables import fraction, markdown_table

    chosen = [make_method(name) for name in methods or ("forest",)]
    dataset = eval_options.load(data)
    reports = []
    with progress_bar() as bar:
        for method in chosen:
            advance = partial(bar.advance, bar.add_task(method.name, total=len(dataset.questions)))
            report = measure_parents(dataset, method, max_messages or 36, progress=advance)
            reports.append(report.to_dict())
    if as_json:
        print_json({"data": dataset.name, "parents": reports})
        return
    header = ["method", "N", "accuracy", "message before", "of", "links", "within thread"]
    rows = [
        [
            report["method"],
            str(report["at"]),
            fraction(report["accuracy"]),
            fraction(report["message_before"]),
            str(report["linked_by_people"]),
            str(report["links"]),
            fraction(report["within_thread"]),
        ]
        for report in reports
    ]
    print(markdown_table(header, rows))
