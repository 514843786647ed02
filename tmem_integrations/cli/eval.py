"""`tmem eval`: measure what is found, kept and linked, and compare it with baselines."""

from __future__ import annotations

import typer

from tmem_integrations.cli import (
    eval_episodes,
    eval_gold,
    eval_noise,
    eval_parents,
    eval_recall,
    eval_recipe,
    eval_run,
)

eval_app = typer.Typer(
    help="Measure retrieval on questions with known evidence, beside baselines.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
eval_app.command("recall")(eval_recall.recall)
eval_app.command("gate")(eval_gold.gate)
eval_app.command("relations")(eval_gold.relations)
eval_app.command("run")(eval_run.run)
eval_app.command("check")(eval_run.check)
eval_app.command("episodes")(eval_episodes.episodes)
eval_app.command("report")(eval_run.report)
eval_app.command("noise")(eval_noise.noise)
eval_app.command("recipe")(eval_recipe.recipe)
eval_app.command("parents")(eval_parents.parents)
