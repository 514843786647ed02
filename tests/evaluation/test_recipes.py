"""Named comparisons."""

import inspect
import json

import pytest

from tmem_integrations.cli.eval_recipe import recipe as recipe_command
from tmem_integrations.config import PAPER
from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.cooking import Models, cook
from tmem_integrations.evaluation.datasets.jsonl import read_jsonl
from tmem_integrations.evaluation.methods import METHODS, make_method
from tmem_integrations.evaluation.noise import add_noise
from tmem_integrations.evaluation.recipes import ALIASES, RECIPES, Recipe, Variation, recipe_of
from tmem_integrations.protocols import Reply

NUMBERS = [f"tef-exp{n}" for n in range(1, 7)] + ["tef-e2", "tef-e3", "am-ablation", "am-sweep"]


def figures_in(folder):
    return json.loads((folder / "figures.json").read_text())


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_compares_methods_or_runs_of_different_names(name):
    recipe = RECIPES[name]
    names = [m.name for m in recipe.methods(None)] + [one.name for one in recipe.runs]
    assert len(set(names)) == len(names) >= 2
    assert {one.method for one in recipe.runs} <= set(METHODS)


@pytest.mark.parametrize("name", NUMBERS)
def test_every_numbered_experiment_is_a_recipe_that_says_after_which(name):
    paper = "after AM" if name.startswith("am") else "after TEF"
    assert paper in recipe_of(name).question


def test_every_recipe_and_number_is_told_in_the_help():
    told = inspect.getdoc(recipe_command) or ""
    assert all(name in told for name in (*RECIPES, *ALIASES))


def test_an_unknown_recipe_is_told_with_the_known_ones():
    with pytest.raises(ConfigError, match="known are comparison, ablation"):
        recipe_of("soup")


def recent(llm):
    return [make_method("recent"), make_method("bm25")]


def test_a_recipe_writes_table_figures_and_plot(folder, tmp_path):
    recipe = Recipe("Which is better?", recent, (1, 2))
    also = [make_method("dense")]
    table = cook(recipe, read_jsonl(folder), tmp_path / "out", also=also)
    assert (tmp_path / "out" / "table.md").read_text() == table
    cells = figures_in(tmp_path / "out")["recall"]
    assert [c["method"] for c in cells] == ["recent"] * 2 + ["bm25"] * 2 + ["dense"] * 2
    assert "Which is better?" in (tmp_path / "out" / "plot.svg").read_text()


def test_a_noisy_recipe_searches_a_noisy_chat(folder, tmp_path):
    recipe = Recipe("Who is misled?", recent, noisy=True)
    cook(recipe, read_jsonl(folder), tmp_path, at=[9])
    found = figures_in(tmp_path)
    assert found["data"] == "chat+noise"
    assert found["recall"][0]["misled"] == 0.0  # all of the chat is shown, the rollbacks with it


def test_a_chat_with_noise_in_it_is_taken_as_it_is(folder, tmp_path):
    noisy = add_noise(read_jsonl(folder), seed=7).dataset
    cook(Recipe("Who is misled?", recent, noisy=True), noisy, tmp_path, at=[9])
    assert figures_in(tmp_path)["data"] == "chat+noise"


class Model:
    """Answers and judges."""

    name = "script"

    def ask(self, prompts, **options):
        return tuple(Reply("Monday. Final: Correct", None, 10, 2) for _ in prompts)


RUNS = Recipe(
    "Links?",
    runs=(Variation("typed", "forest"), Variation("flat", "forest", "flat", max_tokens=80)),
)


def test_a_recipe_of_runs_keeps_them_and_a_page_to_look_into(folder, tmp_path):
    model = Models(answering=Model(), answering_name="script")
    table = cook(RUNS, read_jsonl(folder), tmp_path, models=model)
    assert "| typed" in table
    assert (tmp_path / "flat" / "run.json").exists()
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    typed, flat = figures_in(tmp_path)["runs"]
    # q1 has a reference to judge by, q2 none; each is answered, one is judged.
    assert (typed["accuracy"], typed["answering"]["calls"]) == (1.0, 3)
    assert (typed["structure"], flat["structure"], flat["max_tokens"]) == ("forest", "flat", 80)


def test_runs_of_one_method_retrieve_once(folder, tmp_path):
    cook(RUNS, read_jsonl(folder), tmp_path)
    first, second = ((tmp_path / name / "retrieve.jsonl").read_text() for name in ("typed", "flat"))
    assert first == second  # to the microsecond they took


def test_runs_go_on_where_they_stopped(folder, tmp_path):
    asked = []

    def progress(name, total):
        return lambda: asked.append(name)

    cook(RUNS, read_jsonl(folder), tmp_path)
    before = (tmp_path / "typed" / "compress.jsonl").read_text()
    cook(RUNS, read_jsonl(folder), tmp_path, progress=progress)
    assert (tmp_path / "typed" / "compress.jsonl").read_text() == before
    assert asked == ["typed", "typed", "flat", "flat"]


@pytest.mark.parametrize("given", [{"at": [3]}, {"also": [make_method("recent")]}])
def test_runs_take_no_bounds_and_no_other_method(folder, tmp_path, given):
    with pytest.raises(ConfigError, match="compares runs"):
        cook(RUNS, read_jsonl(folder), tmp_path, **given)


def test_an_anticipating_memory_is_filed_once_for_all_ablations(folder):
    first, second, *_ = RECIPES["am-ablation"].methods(None)
    messages = read_jsonl(folder).messages
    one, other = first.index(messages), second.index(messages)
    assert one.memory is other.memory
    assert second.config.scene_layer is False


def test_the_pace_recipe_begins_with_the_papers_own():
    first, second, *_ = RECIPES["episodes"].methods(None)
    assert first.config == PAPER
    assert second.config.episodes.radius != PAPER.episodes.radius
