"""`tmem bench`: how fast it is here, beside what people use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_json, print_note

if TYPE_CHECKING:
    from tmem_integrations.evaluation.bench import Measured


def bench(
    messages: Annotated[
        list[int] | None,
        typer.Option(help="Size of the history; may be repeated.", min=100, show_default="10000"),
    ] = None,
    questions: Annotated[int, typer.Option(help="How many questions to ask.", min=1)] = 40,
    seed: Annotated[int, typer.Option(help="Which history: the same for the same seed.")] = 0,
    rivals: Annotated[
        bool, typer.Option(help="Measure what people use today, too (needs the extra bench).")
    ] = True,
    rivals_up_to: Annotated[
        int,
        typer.Option(
            help="Largest history to measure them on: beyond it they take hours.", min=100
        ),
    ] = 120_000,
    plot: Annotated[
        Path | None,
        typer.Option(help="Write a plot of cost against size, as SVG.", show_default=False),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure ingest, opening, questions, live messages and deletions on a made-up history.

    Times are processor time of all threads, since the clock tells how busy the machine was. No model is
    asked.

    Example: [cyan]tmem bench --messages 10000 --messages 120000[/cyan]
    """
    from tmem_integrations.evaluation.bench_report import (
        bench_plot,
        bench_ratios,
        bench_records,
        bench_tables,
    )

    measured: list[Measured] = []
    notes: list[str] = []
    for n_messages in sorted(set(messages or [10_000])):
        beside = rivals and n_messages <= rivals_up_to
        found, left_out = _measure(n_messages, questions, seed, rivals=beside)
        measured += found
        notes += left_out
        if rivals and not beside:
            notes.append(f"What people use is not measured beyond {rivals_up_to:,} messages.")
    if plot is not None:
        plot.write_text(bench_plot(measured), encoding="utf-8")
    ratios = bench_ratios(measured)
    if as_json:
        print_json({"measured": bench_records(measured), "ratios": ratios, "notes": notes})
        return
    print(bench_tables(measured))
    print()
    for line in ratios:
        print(line)
    for note in dict.fromkeys(notes):
        print_note(note)


def _measure(
    n_messages: int, n_questions: int, seed: int, *, rivals: bool
) -> tuple[list[Measured], list[str]]:
    """All that is measured at one size, and why something was left out."""
    import tempfile

    from tmem_integrations.evaluation.bench import measure_memory
    from tmem_integrations.evaluation.bench_history import write_history
    from tmem_integrations.evaluation.bench_rivals import measure_rivals
    from tmem_integrations.models.embeddings import StaticEmbedder

    embedder = StaticEmbedder()
    # Reading the table is not a cost of the first message.
    embedder.embed(["warm"])
    history = list(write_history(n_messages, seed=seed))
    with tempfile.TemporaryDirectory(prefix="tmem-bench-") as folder:
        found = [measure_memory(history, Path(folder), embedder, n_questions)]
    notes: list[str] = []
    for one in measure_rivals(history, embedder, n_questions) if rivals else ():
        if isinstance(one, str):
            notes.append(one)
        else:
            found.append(one)
    return found, notes
