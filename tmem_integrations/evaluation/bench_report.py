"""What a benchmark says: tables, ratios and a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from tmem_integrations.evaluation.bench import Measured, Spread
from tmem_integrations.evaluation.plots import Axis, line_plot
from tmem_integrations.evaluation.tables import markdown_table


def bench_records(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """JSON values only; what was not measured is left out."""
    return [
        {key: value for key, value in asdict(one).items() if value is not None} for one in measured
    ]


def bench_tables(measured: Sequence[Measured]) -> str:
    """Milliseconds of processor time per question, messages per second, and the stages, as Markdown."""
    rows = [
        [
            one.name,
            f"{one.n_messages:,}",
            f"{one.n_messages / max(one.ingest.cpu, 1e-9):,.0f}",
            "" if one.open is None else f"{one.open.cpu:.2f}",
            *_milliseconds(one.question),
            *_milliseconds(one.live),
            *_milliseconds(one.delete)[:1],
            "" if one.memory is None else f"{one.memory / 1000:.2f}",
            "" if one.disk is None else f"{one.disk / 1000:.2f}",
        ]
        for one in measured
    ]
    header = [
        "", "messages", "ingest, per s", "open, s", "question, ms", "p95", "live add + question, ms",
        "p95", "delete, ms", "memory, kB each", "disk, kB each",
    ]  # fmt: skip
    stages = list(dict.fromkeys(stage for one in measured for stage in one.stages))
    by_stage = [
        [f"{one.n_messages:,}", *(f"{1000 * one.stages.get(stage, 0):.1f}" for stage in stages)]
        for one in measured
        if one.stages
    ]
    table = markdown_table(header, rows)
    if not by_stage:
        return table
    return f"{table}\n\n{markdown_table(['stage, ms on the clock', *stages], by_stage)}"


def bench_ratios(measured: Sequence[Measured]) -> list[str]:
    """One sentence per comparison, by processor time."""
    ours = [one for one in measured if one.stages]
    lines = [line for one in ours for line in _own_ratios(one)]
    for one in ours:
        for rival in measured:
            if rival is not one and not rival.stages and rival.n_messages == one.n_messages:
                lines.append(
                    f"{one.n_messages:,} messages: {rival.name} takes "
                    f"{_ratio(rival.question.p50, one.question.p50)} of the time of a question."
                )
    for small, large in pairwise(ours):
        lines.append(
            f"A question at {large.n_messages:,} messages takes "
            f"{_ratio(large.question.p50, small.question.p50)} of one at {small.n_messages:,}."
        )
    return lines


def bench_plot(measured: Sequence[Measured]) -> str:
    """Processor time of a question against the number of messages, as SVG."""
    names = dict.fromkeys(one.name for one in measured)
    series = {
        name: [
            (float(one.n_messages), max(1000 * one.question.p50, 0.01))
            for one in measured
            if one.name == name
        ]
        for name in names
    }
    points = [point for own in series.values() for point in own]
    return line_plot(
        "One question, processor time at the median",
        series,
        Axis.around("messages", [x for x, _ in points], logarithmic=True),
        Axis.around("milliseconds", [y for _, y in points], logarithmic=True),
    )


def _own_ratios(one: Measured) -> Iterator[str]:
    n = f"{one.n_messages:,} messages:"
    yield f"{n} the 95th percentile of a question is {_ratio(one.question.p95, one.question.p50)} of its median."
    if one.live is not None:
        yield f"{n} a live add with a question takes {_ratio(one.live.p50, one.question.p50)} of a question."
    if one.plain is not None:
        yield f"{n} adding the rows to a default Chroma collection takes {_ratio(one.plain.cpu, one.ingest.cpu)} of the ingest."
    if one.open is not None:
        yield f"{n} opening takes {_ratio(one.open.cpu, one.ingest.cpu)} of the ingest."
    if one.embed is not None:
        yield f"{n} embedding takes {_ratio(one.embed.cpu, one.ingest.cpu)} of the ingest."
    if one.first is not None:
        yield f"{n} the first question after opening takes {_ratio(one.first.cpu, one.question.p50)} of a later one."


def _ratio(a: float, b: float) -> str:
    return f"{a / max(b, 1e-9):.2f} ×"


def _milliseconds(spread: Spread | None) -> tuple[str, str]:
    return ("", "") if spread is None else (f"{1000 * spread.p50:.1f}", f"{1000 * spread.p95:.1f}")
