"""Named comparisons."""

import json

import pytest

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.methods import METHODS
from tmem_integrations.evaluation.recipes import ALIASES, RECIPES, Recipe, cook, recipe_of, serve


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_names_methods_that_exist(name):
    assert set(RECIPES[name].methods) <= set(METHODS)


def test_every_alias_is_a_recipe():
    assert all(recipe_of(alias) is RECIPES[name] for alias, name in ALIASES.items())


def test_an_unknown_recipe_is_told_with_the_known_ones():
    with pytest.raises(ConfigError, match="known are comparison, ablation"):
        recipe_of("soup")


def test_a_recipe_writes_table_figures_and_plot(folder, tmp_path):
    recipe = Recipe("Which is better?", ("recent", "bm25"), (1, 2))
    searched, cells = cook(recipe, read_jsonl(folder))
    table = serve(recipe, searched, cells, tmp_path / "out")
    assert (tmp_path / "out" / "table.md").read_text() == table
    figures = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert [cell["method"] for cell in figures["recall"]] == ["recent", "recent", "bm25", "bm25"]
    assert "Which is better?" in (tmp_path / "out" / "plot.svg").read_text()


def test_a_noisy_recipe_searches_a_noisy_chat(folder):
    recipe = Recipe("Who is misled?", ("recent",), noisy=True)
    searched, (cell,) = cook(recipe, read_jsonl(folder), at=[9])
    assert searched.name == "chat+noise"
    assert cell.to_dict()["misled"] == 0.0  # all of the chat is shown, the rollbacks with it
