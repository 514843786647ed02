"""`tmem eval run` and `tmem eval check`: a run as a folder that can be stopped and gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import eval_options, models, options
from tmem_integrations.cli.output import print_json, print_note, progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmem_integrations.evaluation.runs.runner import StageResult

PROBLEMS_FOUND = 1

Into = Annotated[Path, typer.Option("--into", help="Folder of the run.", show_default=False)]
MethodName = Annotated[str, typer.Option(help="One of those of tmem eval recall.")]
Structure = Annotated[
    str, typer.Option(help="forest, untyped (no UPDATE, EXPAND) or flat (no links).")
]
Compression = Annotated[
    str, typer.Option(help="omit (spans are left out) or truncate (cut at the end).")
]
Questions = Annotated[
    int | None, typer.Option(help="Only the first so many questions.", min=1, show_default="all")
]
Model = Annotated[
    str | None,
    typer.Option(
        help="Answers: openai:NAME or python:MODULE:FACTORY.",
        show_default="none: the run ends with the texts",
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        help="Judges answers where the gold has no pattern.", show_default="the one that answers"
    ),
]


def run(
    data: eval_options.Data,
    into: Into,
    method: MethodName = "forest",
    structure: Structure = "forest",
    compression: Compression = "omit",
    max_messages: options.MaxMessages = 36,
    max_tokens: options.MaxTokens = 8192,
    questions: Questions = None,
    memory_model: eval_options.MemoryModel = None,
    model: Model = None,
    judge: Judge = None,
    base_url: models.BaseUrl = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap in reports.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Retrieve, structure, compress, answer and judge, each stage into its own JSONL.

    Run it again to go on where it stopped: what is finished is skipped, what failed is tried again.

    Example: [cyan]tmem eval run data/gatemem --into runs/forest --model openai:gpt-4o-mini[/cyan]

    Exit code 1 when questions failed.
    """
    from tmem_integrations.evaluation.methods import make_method
    from tmem_integrations.evaluation.runs import runner
    from tmem_integrations.evaluation.runs.contract import contract_of

    dataset = eval_options.load(data)
    memory = models.read_model(memory_model, base_url)
    retrieval = make_method(method, llm=memory)
    contract = contract_of(
        dataset,
        retrieval,
        memory_model=memory_model,
        structure=structure,
        compression=compression,
        max_messages=max_messages or 36,
        max_tokens=max_tokens or 8192,
        questions=min(questions or len(dataset.questions), len(dataset.questions)),
        model=model,
        judge=judge or model,
        seed=seed,
    )
    llm = models.read_model(model, base_url)
    judging = llm if judge is None else models.read_model(judge, base_url)
    with progress_bar() as bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in runner.STAGES}

        def report(stage: str, finished: int, total: int) -> None:
            bar.update(tasks[stage], completed=finished, total=total)

        results = runner.run(
            dataset, retrieval, into, contract, llm=llm, judge=judging, report=report
        )
    _print_results(results, into, as_json)
    if any(result.failed for result in results):
        print_note(f"Run it again to try what failed: tmem eval run {data} --into {into} …")
        raise typer.Exit(PROBLEMS_FOUND)


def _print_results(results: Sequence[StageResult], into: Path, as_json: bool) -> None:
    if as_json:
        stages = {
            r.stage: {"finished": r.finished, "failed": r.failed, "done_now": r.done_now}
            for r in results
        }
        print_json({"run": str(into), "stages": stages})
        return
    for result in results:
        print(f"{result.stage}: {result.finished} finished, {result.failed} failed")


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
    data: eval_options.Data,
) -> None:
    """Check that a run is whole and sound.

    Counts, unique keys, order in time, single parents, the budget, and that no gold is in a prompt.

    Example: [cyan]tmem eval check runs/forest data/gatemem[/cyan]

    Exit code 1 when something is wrong.
    """
    from tmem_integrations.evaluation.runs.checks import problems_of_run

    problems = problems_of_run(folder, eval_options.load(data))
    for problem in problems:
        print(problem)
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)
    print_note(f"{folder}: whole and sound.")


def report(
    data: eval_options.Data,
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of runs on that data.", show_default=False)
    ],
    html: Annotated[
        Path | None,
        typer.Option(help="Write a page with plots and every question.", show_default=False),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            help='JSON: {"openai:NAME": {"input": USD a million tokens, "output": …}}.',
            show_default=False,
        ),
    ] = None,
    max_questions: Annotated[
        int, typer.Option(help="Questions to look into on the page.", min=0)
    ] = 100,
    as_json: options.AsJson = False,
) -> None:
    """Compare runs: recall, accuracy by type, leaks, cost, and whether differences are chance.

    Prints Markdown; with [cyan]--html[/cyan] writes a page that needs nothing else.

    Example: [cyan]tmem eval report data/gatemem runs/bm25 runs/forest --html report.html[/cyan]
    """
    from tmem_integrations.evaluation.html_report import html_report
    from tmem_integrations.evaluation.report import (
        difference_records,
        markdown_report,
        read_prices,
        run_records,
    )
    from tmem_integrations.evaluation.runs.results import read_results

    dataset = eval_options.load(data)
    table = read_prices(prices) if prices is not None else {}
    runs = [read_results(folder, dataset) for folder in folders]
    if as_json:
        compared = {"runs": run_records(runs), "differences": difference_records(runs)}
        print_json({"data": dataset.name, **compared})
    else:
        print(markdown_report(dataset, runs, table), end="")
    if html is not None:
        page = html_report(dataset, runs, table, max_questions=max_questions)
        html.write_text(page, encoding="utf-8")
        print_note(f"Page written to {html}.")
