"""Named comparisons that anyone can repeat: which methods, which bounds, which runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods import make_method
from tmem_integrations.evaluation.noise import add_noise
from tmem_integrations.evaluation.plots import Axis, line_plot
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.recall import Recall, measure_recall, scored_questions
from tmem_integrations.evaluation.tables import markdown_table, recall_records, recall_rows

Progress = Callable[[str, int], Callable[[], None]]
"""Told a method and how many questions it is asked; gives what is called after each."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A comparison of methods by what they find.

    Attributes:
        question: What it answers, in one sentence.
        methods: Names.
        at: Bounds N.
        noisy: Whether changes that are taken back are put into the chat first.
    """

    question: str
    methods: tuple[str, ...]
    at: tuple[int, ...] = (12, 36, 100)
    noisy: bool = False


_BASELINES = ("recent", "bm25", "bm25+metadata", "dense", "rrf")

RECIPES: Mapping[str, Recipe] = {
    "comparison": Recipe("How does the forest compare with baselines?", (*_BASELINES, "forest")),
    "ablation": Recipe(
        "What is each part of retrieval worth?",
        (
            "forest", "forest-episodes", "forest-surroundings", "forest-vectors", "forest-metadata",
            "forest-replies",
        ),
    ),
    "metadata": Recipe(
        "What are topics and phases worth?",
        ("forest", "forest-topic", "forest-phase", "forest-topic-phase", "forest-metadata"),
    ),
    "global": Recipe(
        "Are windows better than the whole topic? (TEF E.2)", ("forest", "global"), (12, 36)
    ),
    "sweep": Recipe(
        "How much is found at which bound?",
        ("bm25+metadata", "rrf", "forest"),
        (4, 8, 12, 24, 36, 60, 100),
    ),
    "noise": Recipe(
        "Who shows a change without its undoing? (TEF Exp-5)", (*_BASELINES, "forest"), (12, 36),
        noisy=True,
    ),
}  # fmt: skip
"""By name."""

ALIASES: Mapping[str, str] = {"tef-exp5": "noise", "tef-e2": "global"}
"""Names by which the paper calls them."""


def recipe_of(name: str) -> Recipe:
    """The recipe of a name or alias.

    Raises:
        ConfigError: If there is none.
    """
    recipe = RECIPES.get(ALIASES.get(name, name))
    if recipe is None:
        known = ", ".join([*RECIPES, *ALIASES])
        raise ConfigError(f"Unknown recipe {name!r}; known are {known}.")
    return recipe


def cook(
    recipe: Recipe,
    dataset: Dataset,
    *,
    seed: int = 0,
    at: Sequence[int] | None = None,
    progress: Progress = lambda method, total: lambda: None,
) -> tuple[Dataset, list[Recall]]:
    """Measure what a recipe compares.

    Args:
        recipe: What to compare.
        dataset: On what.
        seed: Of the noise.
        at: Bounds N instead of the recipe's own.
        progress: Told of each method and question.

    Returns:
        The data set that was searched, with its noise, and the cells of the table.
    """
    searched = add_noise(dataset, seed=seed).dataset if recipe.noisy else dataset
    bounds = tuple(at or recipe.at)
    total = len(scored_questions(searched)) * len(bounds)
    cells: list[Recall] = []
    for name in recipe.methods:
        advance = progress(name, total)
        cells += measure_recall(searched, make_method(name), bounds, progress=advance)
    return searched, cells


def serve(recipe: Recipe, dataset: Dataset, cells: Sequence[Recall], folder: Path) -> str:
    """Write table.md, figures.json and plot.svg into a folder; gives the table."""
    folder.mkdir(parents=True, exist_ok=True)
    table = markdown_table(*recall_rows(cells, []))
    heading = f"# {dataset.name}: {recipe.question}"
    (folder / "table.md").write_text(f"{heading}\n\n{table}\n", encoding="utf-8")
    (folder / "plot.svg").write_text(recall_plot(recipe.question, cells), encoding="utf-8")
    figures = {
        "data": dataset.name,
        "question": recipe.question,
        "recall": recall_records(cells, []),
    }
    text = json.dumps(figures, indent=2, ensure_ascii=False)
    (folder / "figures.json").write_text(f"{text}\n", encoding="utf-8")
    return f"{heading}\n\n{table}\n"


def recall_plot(title: str, cells: Sequence[Recall]) -> str:
    """Recall over N, a line per method."""
    series: dict[str, list[tuple[float, float]]] = {}
    for cell in cells:
        value = cell.to_dict()["macro"]
        series.setdefault(cell.method, []).append((cell.max_messages, value))
    bounds = [float(cell.max_messages) for cell in cells]
    x = Axis.around("messages shown, at most", bounds, logarithmic=True)
    return line_plot(title, series, x, Axis("recall", 0, 1))
