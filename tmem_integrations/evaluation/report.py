"""Runs side by side: what they find, get right and cost, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.measures import bootstrap_interval, macro, micro, paired_test
from tmem_integrations.evaluation.methods.base import Usage
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.records import read_json
from tmem_integrations.evaluation.runs.results import RunResults, always_abstain
from tmem_integrations.evaluation.tables import fraction, markdown_table

Prices = Mapping[str, Mapping[str, float]]
_MILLION = 1_000_000


def read_prices(path: Path) -> Prices:
    """Read a price table: {"openai:NAME": {"input": USD a million tokens, "output": …}}.

    Raises:
        ImportFormatError: If it is in another form.
    """
    prices = read_json(path)
    for model, price in prices.items() if isinstance(prices, dict) else [("", prices)]:
        if not isinstance(price, dict) or not all(
            isinstance(price.get(kind), int | float) for kind in ("input", "output")
        ):
            raise ImportFormatError(
                f'{path}: expected {{"MODEL": {{"input": …, "output": …}}}} in USD a million tokens, '
                f"found {price!r:.80} for {model!r}."
            )
    table: Prices = prices
    return table


def cost_of(usage: Usage, model: str | None, prices: Prices) -> float | None:
    """US dollars; None when the price is unknown."""
    if usage.calls == 0:
        return 0.0
    price = prices.get(model or "")
    if price is None:
        return None
    tokens = usage.input_tokens * price["input"] + usage.output_tokens * price["output"]
    return tokens / _MILLION


def accuracy_scores(run: RunResults) -> list[float]:
    """1 or 0 for each question that was judged."""
    return [float(r.correct) for r in run.results if r.correct is not None]


def recall_scores(run: RunResults) -> list[float]:
    """Share of the gold shown, for each question where finding is scored."""
    return [r.share.value for r in run.results if r.share is not None]


def total_cost(run: RunResults, prices: Prices) -> float | None:
    """US dollars of all models of a run, counting answer and judge at the answering model's price; None
    when a price is unknown.
    """
    memory, answering = run.usage()
    costs = [
        cost_of(memory, run.contract.memory_model, prices),
        cost_of(answering, run.contract.model, prices),
    ]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def markdown_report(dataset: Dataset, runs: Sequence[RunResults], prices: Prices) -> str:
    """All tables of a report."""
    parts = [
        f"# {dataset.name}: {_asked(dataset, runs)}, {len(dataset.messages)} messages",
        markdown_table(*_overview(dataset, runs, prices)),
        "## By type of question",
        markdown_table(*_by_kind(runs)),
        "## Cost",
        markdown_table(*_costs(runs, prices)),
    ]
    if len(runs) > 1:
        parts += ["## Differences, paired by question", markdown_table(*_differences(runs))]
    return "\n\n".join(parts) + "\n"


def _asked(dataset: Dataset, runs: Sequence[RunResults]) -> str:
    """How many questions there are, or were asked of them."""
    most, total = max(run.contract.questions for run in runs), len(dataset.questions)
    return f"{most} of {total} questions" if most < total else f"{total} questions"


def run_records(runs: Sequence[RunResults]) -> list[dict[str, Any]]:
    """The main figures of each run as JSON values."""
    records = []
    for run in runs:
        shares = [r.share for r in run.results if r.share is not None]
        memory, answering = run.usage()
        records.append(
            {
                "run": run.name,
                "method": run.contract.method,
                "structure": run.contract.structure,
                "compression": run.contract.compression,
                "max_messages": run.contract.max_messages,
                "max_tokens": run.contract.max_tokens,
                "questions": len(run.results),
                "failed": run.failed,
                "macro": macro(shares) if shares else None,
                "micro": micro(shares) if shares else None,
                "accuracy": _mean(accuracy_scores(run)),
                "leaks": sum(bool(r.leaks) for r in run.results),
                "tokens": _mean([float(r.n_tokens) for r in run.results]),
                "memory": asdict(memory),
                "answering": asdict(answering),
            }
        )
    return records


def _overview(
    dataset: Dataset, runs: Sequence[RunResults], prices: Prices
) -> tuple[list[str], list[list[str]]]:
    header = ["run", "method", "structure", "N", "B", "recall", "95 %", "micro", "accuracy", "95 %"]
    header += ["leaks", "tokens", "ms", "failed"]
    rows = []
    for run in runs:
        shares = [r.share for r in run.results if r.share is not None]
        contract = run.contract
        rows.append(
            [
                run.name,
                contract.method,
                contract.structure,
                str(contract.max_messages),
                str(contract.max_tokens),
                fraction(macro(shares) if shares else None),
                _interval(recall_scores(run), contract.seed),
                fraction(micro(shares) if shares else None),
                fraction(_mean(accuracy_scores(run))),
                _interval(accuracy_scores(run), contract.seed),
                str(sum(bool(r.leaks) for r in run.results)),
                f"{np.mean([r.n_tokens for r in run.results] or [0]):.0f}",
                f"{1000 * np.mean([r.seconds for r in run.results] or [0]):.0f}",
                str(run.failed),
            ]
        )
    asked = dataset.questions[: max(run.contract.questions for run in runs)]
    silent = always_abstain(dataset, asked)
    rows.append(
        ["always abstain", *["–"] * 7, fraction(_mean(silent)), _interval(silent, 0), *["–"] * 4]
    )
    return header, rows


def _by_kind(runs: Sequence[RunResults]) -> tuple[list[str], list[list[str]]]:
    kinds = kinds_of(runs)
    header = ["run", *(f"{kind} {what}" for kind in kinds for what in ("recall", "accuracy"))]
    rows = [
        [run.name, *(fraction(value) for kind in kinds for value in _of_kind(run, kind))]
        for run in runs
    ]
    return header, rows


def kinds_of(runs: Sequence[RunResults]) -> list[str]:
    """Types of question that occur."""
    return sorted({r.question.kind or "any" for run in runs for r in run.results})


def _of_kind(run: RunResults, kind: str) -> tuple[float | None, float | None]:
    own = [r for r in run.results if (r.question.kind or "any") == kind]
    recall = _mean([r.share.value for r in own if r.share is not None])
    return recall, _mean([float(r.correct) for r in own if r.correct is not None])


def _costs(runs: Sequence[RunResults], prices: Prices) -> tuple[list[str], list[list[str]]]:
    header = ["run", "memory calls", "tokens in", "tokens out", "answer + judge calls", "tokens in"]
    header += ["tokens out", "USD", "USD a question"]
    rows = []
    for run in runs:
        memory, answering = run.usage()
        cost = total_cost(run, prices)
        each = None if cost is None else cost / max(len(run.results), 1)
        rows.append(
            [
                run.name,
                *(
                    str(n)
                    for u in (memory, answering)
                    for n in (u.calls, u.input_tokens, u.output_tokens)
                ),
                "–" if cost is None else f"{cost:.2f}",
                "–" if each is None else f"{each:.5f}",
            ]
        )
    return header, rows


def _differences(runs: Sequence[RunResults]) -> tuple[list[str], list[list[str]]]:
    header = ["runs", "recall", "p", "accuracy", "p", "questions"]
    rows = []
    for first, second in combinations(runs, 2):
        shares = _paired(first, second, "share")
        verdicts = _paired(first, second, "correct")
        rows.append(
            [
                f"{first.name} − {second.name}",
                *_difference(shares, first.contract.seed),
                *_difference(verdicts, first.contract.seed),
                str(max(len(shares), len(verdicts))),
            ]
        )
    return header, rows


def _paired(first: RunResults, second: RunResults, what: str) -> list[tuple[float, float]]:
    """Scores of the questions that both runs have, in the same order."""
    scores = [
        {r.question.id: value for r in run.results if (value := getattr(r, what)) is not None}
        for run in (first, second)
    ]
    return [
        (_number(value), _number(scores[1][key]))
        for key, value in scores[0].items()
        if key in scores[1]
    ]


def _number(value: object) -> float:
    return float(getattr(value, "value", value))  # type: ignore[arg-type]  # a Share or a bool


def _difference(pairs: Sequence[tuple[float, float]], seed: int) -> list[str]:
    if not pairs:
        return ["–", "–"]
    first, second = zip(*pairs, strict=True)
    p = paired_test(first, second, seed=seed)
    return [f"{np.mean(first) - np.mean(second):+.3f}".replace("-", "−"), _chance(p)]


def _chance(p: float) -> str:
    """A p to three places; never nothing, which no test can find."""
    return "<.001" if p < 0.001 else fraction(p)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _interval(values: Sequence[float], seed: int) -> str:
    if not values:
        return "–"
    return "–".join(fraction(bound) for bound in bootstrap_interval(values, seed=seed))
