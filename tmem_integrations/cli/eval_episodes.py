"""`tmem eval episodes`: how dense an episode has to be in a chat."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmem_integrations.cli import eval_options, options
from tmem_integrations.cli.output import print_json, print_note, progress_bar
from tmem_integrations.errors import InputError

if TYPE_CHECKING:
    from tmem_integrations.config import EpisodeConfig
    from tmem_integrations.evaluation.episodes import Rates


NOTHING_FOUND = 1


def episodes(
    data: eval_options.Data,
    plot: Annotated[
        Path | None, typer.Option(help="Write a plot of both errors, SVG.", show_default=False)
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """How dense an episode has to be: fit the theory of the density gate to questions with evidence.

    For each named pace: λ0, anchors per hour away from the evidence; λ1, around it; the threshold
    between them that errs least; and bounds on false and missed episodes at the threshold it sets. The
    plot is of the first row.
    With [cyan]scale="auto"[/cyan] the pace is measured: compare its row with the others.

    Example: [cyan]tmem eval episodes data/locomo --plot episodes.svg[/cyan]

    Exit code 1 when no rates can be told: without evidence, or when it is everywhere.
    """
    from tmem_integrations.config import PAPER
    from tmem_integrations.evaluation.episodes import error_plot, estimate_rates
    from tmem_integrations.evaluation.observing import observe_anchors
    from tmem_integrations.evaluation.tables import markdown_table

    dataset = eval_options.load(data)
    n_asked = sum(bool(gold.evidence) for gold in dataset.gold.values())
    with progress_bar() as bar:
        advance = partial(bar.advance, bar.add_task("Asking", total=n_asked))
        seen = list(observe_anchors(dataset, PAPER, progress=advance))
    paces = _paces(dataset)
    rates: dict[str, Rates] = {}
    for name, pace in paces.items():
        try:
            rates[name] = estimate_rates(seen, pace)
        except InputError as error:
            print_note(f"{name}: {error}")
    if not rates:
        raise typer.Exit(NOTHING_FOUND)
    if as_json:
        print_json({name: _record(own, paces[name]) for name, own in rates.items()})
    else:
        header = ["pace", "ε, h", "μ, 1/h", "false", "missed"]
        header += ["λ0, 1/h", "λ1, 1/h", "T, h", "best μ", "false", "missed"]
        print(markdown_table(header, [_row(name, own, paces[name]) for name, own in rates.items()]))
        gaps = next(iter(rates.values())).gaps
        if gaps is not None:
            print_note(
                f"Pauses between evidence of a question: half up to {gaps[0]:.3g} h, "
                f"90 % up to {gaps[1]:.3g} h."
            )
    if plot is not None:
        name, own = next(iter(rates.items()))
        plot.write_text(error_plot(own, {name: paces[name].density}), encoding="utf-8")
        print_note(f"Plot written to {plot}.")


def _paces(dataset: Any) -> dict[str, EpisodeConfig]:
    from tmem_integrations.config import LIVE, MAIL, MEETING, PAPER
    from tmem_integrations.evaluation.observing import history_pace

    named = {"paper": PAPER, "live": LIVE, "meeting": MEETING, "mail": MAIL}
    paces = {name: config.episodes for name, config in named.items()}
    measured = history_pace(dataset, PAPER.episodes)
    return paces if measured is None else {**paces, "auto": measured}


def _record(rates: Rates, pace: EpisodeConfig) -> dict[str, Any]:
    false, missed = rates.errors(pace.density)
    return {
        "radius_hours": pace.radius.total_seconds() / 3600,
        "density_per_hour": pace.density,
        "false_episodes_bound_at_density": false,
        "missed_episodes_bound_at_density": missed,
        **rates.to_dict(),
    }


def _row(name: str, rates: Rates, pace: EpisodeConfig) -> list[str]:
    from tmem_integrations.evaluation.tables import fraction

    record = _record(rates, pace)
    figures = ("background_per_hour", "episode_per_hour", "hours", "threshold_per_hour")
    return [
        name,
        f"{record['radius_hours']:.3g}",
        f"{record['density_per_hour']:.3g}",
        fraction(record["false_episodes_bound_at_density"]),
        fraction(record["missed_episodes_bound_at_density"]),
        *(f"{record[figure]:.3g}" for figure in figures),
        fraction(record["false_episodes_bound"]),
        fraction(record["missed_episodes_bound"]),
    ]
