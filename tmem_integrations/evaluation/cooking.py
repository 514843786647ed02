"""Recipes carried out: the table, its figures and a plot, in a folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.html_report import budget_plot, html_report, kind_plot
from tmem_integrations.evaluation.methods import Method, make_method
from tmem_integrations.evaluation.noise import add_noise
from tmem_integrations.evaluation.plots import Axis, line_plot
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.recall import Recall, measure_recall, scored_questions
from tmem_integrations.evaluation.recipes import Recipe, Variation
from tmem_integrations.evaluation.report import markdown_report, run_records
from tmem_integrations.evaluation.runs import runner
from tmem_integrations.evaluation.runs.contract import contract_of
from tmem_integrations.evaluation.runs.results import RunResults, read_results
from tmem_integrations.evaluation.tables import markdown_table, recall_records, recall_rows
from tmem_integrations.protocols import LanguageModel

Progress = Callable[[str, int], Callable[[], None]]
"""Told a method and how many questions it is asked; gives what is called after each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The user's models, where given.

    Attributes:
        memory: Judges evidence and links, and writes what is remembered.
        memory_name: As given.
        answering: Answers and judges in runs.
        answering_name: As given.
    """

    memory: LanguageModel | None = None
    memory_name: str | None = None
    answering: LanguageModel | None = None
    answering_name: str | None = None


def cook(
    recipe: Recipe,
    dataset: Dataset,
    folder: Path,
    *,
    models: Models | None = None,
    also: Sequence[Method] = (),
    seed: int = 0,
    at: Sequence[int] | None = None,
    progress: Progress = lambda method, total: lambda: None,
) -> str:
    """Carry out a recipe; write table.md, figures.json and plot.svg into a folder.

    Runs keep their own folders beside them, and a page to look into. Cooked again into the same folder,
    runs go on where they stopped.

    Args:
        recipe: What to compare.
        dataset: On what.
        folder: Where to.
        models: The user's.
        also: Methods beside the recipe's own.
        seed: Of noise and bootstrap.
        at: Bounds N instead of the recipe's own.
        progress: Told of each method and question.

    Returns:
        The table, as written.

    Raises:
        ConfigError: If a recipe of runs is given bounds or other methods.
    """
    if recipe.runs and (also or at):
        raise ConfigError(
            "This recipe compares runs in a token budget; bounds N and other methods are for those that "
            "compare what is found."
        )
    folder.mkdir(parents=True, exist_ok=True)
    models = models or Models()
    # A chat with noise in it, perhaps from a model, is taken as it is.
    noisy = recipe.noisy and not dataset.rollbacks
    searched = add_noise(dataset, seed=seed).dataset if noisy else dataset
    if recipe.runs:
        dish = _compare_runs(recipe.runs, searched, folder, models, seed=seed, progress=progress)
    else:
        methods = (*recipe.methods(models.memory), *also)
        dish = _compare_recall(
            methods, searched, tuple(at or recipe.at), title=recipe.question, progress=progress
        )
    return _serve(dish, folder, data=searched.name, question=recipe.question)


@dataclass(frozen=True, slots=True)
class _Dish:
    """What was compared.

    Attributes:
        table: Markdown.
        kind: What the figures are of: "runs" or "recall".
        figures: JSON values.
        plot: SVG.
    """

    table: str
    kind: str
    figures: Any
    plot: str


def _compare_runs(
    variations: Sequence[Variation],
    dataset: Dataset,
    folder: Path,
    models: Models,
    *,
    seed: int,
    progress: Progress,
) -> _Dish:
    """Compare by text and answer, and write a page to look into."""
    runs = []
    for one in variations:
        _share_retrieval(one, variations, folder)
        runs.append(_run(one, dataset, folder, models, seed=seed, progress=progress))
    page = html_report(dataset, runs, {})
    (folder / "report.html").write_text(page, encoding="utf-8")
    table = markdown_report(dataset, runs, {}).partition("\n\n")[2]
    return _Dish(table, "runs", run_records(runs), _run_plot(runs))


def _compare_recall(
    methods: Sequence[Method],
    dataset: Dataset,
    bounds: tuple[int, ...],
    *,
    title: str,
    progress: Progress,
) -> _Dish:
    """Compare by what is found."""
    cells: list[Recall] = []
    total = len(scored_questions(dataset)) * len(bounds)
    for method in methods:
        advance = progress(method.name, total)
        cells += measure_recall(dataset, method, bounds, progress=advance)
    table = f"{markdown_table(*recall_rows(cells, []))}\n"
    return _Dish(table, "recall", recall_records(cells, []), _recall_plot(title, cells))


def _share_retrieval(one: Variation, runs: Sequence[Variation], folder: Path) -> None:
    """Begin with what an earlier run of the same method found: a model is not asked, nor paid, again.

    In the tables each run still costs what it would by itself.
    """
    first = next(r for r in runs if (r.method, r.max_messages) == (one.method, one.max_messages))
    found, own = (folder / run.name / "retrieve.jsonl" for run in (first, one))
    if found.exists() and not own.exists():
        own.parent.mkdir(exist_ok=True)
        shutil.copyfile(found, own)


def _run(
    one: Variation,
    dataset: Dataset,
    folder: Path,
    models: Models,
    *,
    seed: int,
    progress: Progress,
) -> RunResults:
    method = make_method(one.method, llm=models.memory)
    contract = contract_of(
        dataset,
        method,
        memory_model=models.memory_name,
        structure=one.structure,
        compression=one.compression,
        max_messages=one.max_messages,
        max_tokens=one.max_tokens,
        model=models.answering_name,
        judge=models.answering_name,
        seed=seed,
    )
    advance = progress(one.name, len(dataset.questions))
    seen = 0

    def report(stage: str, finished: int, total: int) -> None:
        nonlocal seen
        while stage == runner.STAGES[0] and seen < finished:
            seen += 1
            advance()

    into = folder / one.name
    llm = models.answering
    runner.run(dataset, method, into, contract, llm=llm, judge=llm, report=report)
    return read_results(into, dataset)


def _run_plot(runs: Sequence[RunResults]) -> str:
    """Shares over budgets where these differ, else by type of question."""
    budgets = {run.contract.max_tokens for run in runs}
    plot = budget_plot(runs) if len(budgets) > 1 else kind_plot(runs)
    return plot or line_plot("Nothing to score", {}, Axis("", 0, 1), Axis("", 0, 1))


def _serve(dish: _Dish, folder: Path, *, data: str, question: str) -> str:
    """Write what was compared; returns the table with its heading."""
    table = f"# {data}: {question}\n\n{dish.table}"
    (folder / "table.md").write_text(table, encoding="utf-8")
    (folder / "plot.svg").write_text(dish.plot, encoding="utf-8")
    figures = {"data": data, "question": question, dish.kind: dish.figures}
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    (folder / "figures.json").write_text(f"{text}\n", encoding="utf-8")
    return table


def _recall_plot(title: str, cells: Sequence[Recall]) -> str:
    """Recall over N, a line per method."""
    series: dict[str, list[tuple[float, float]]] = {}
    for cell in cells:
        value = cell.to_dict()["macro"]
        series.setdefault(cell.method, []).append((cell.max_messages, value))
    bounds = [float(cell.max_messages) for cell in cells]
    x = Axis.around("messages shown, at most", bounds, logarithmic=True)
    return line_plot(title, series, x, Axis("recall", 0, 1))
