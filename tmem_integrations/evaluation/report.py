"""Runs side by side: what they find, get right and cost, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from tmem_integrations.evaluation.runs.results import QuestionResult, RunResults, always_abstain
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


def _recall_scores(run: RunResults) -> list[float]:
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
                "precision": _mean_precision(run),
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
    header = ["run", "method", "structure", "N", "B", "recall", "95 %", "micro", "precision"]
    header += ["accuracy", "95 %", "leaks", "tokens", "ms", "failed"]
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
                _interval(_recall_scores(run), contract.seed),
                fraction(micro(shares) if shares else None),
                fraction(_mean_precision(run)),
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
        ["always abstain", *["–"] * 8, fraction(_mean(silent)), _interval(silent, 0), *["–"] * 4]
    )
    return header, rows


def _mean_precision(run: RunResults) -> float | None:
    return _mean([r.precision for r in run.results if r.precision is not None])


def _by_kind(runs: Sequence[RunResults]) -> tuple[list[str], list[list[str]]]:
    kinds = kinds_of(runs)
    columns = ("recall", "95 %", "accuracy", "95 %")
    header = ["run", *(f"{kind} {what}" for kind in kinds for what in columns)]
    rows = [[run.name, *(cell for kind in kinds for cell in _of_kind(run, kind))] for run in runs]
    return header, rows


def kinds_of(runs: Sequence[RunResults]) -> list[str]:
    """Types of question that occur."""
    return sorted({r.question.kind or "any" for run in runs for r in run.results})


def _of_kind(run: RunResults, kind: str) -> list[str]:
    own = [r for r in run.results if (r.question.kind or "any") == kind]
    shares = [r.share.value for r in own if r.share is not None]
    verdicts = [float(r.correct) for r in own if r.correct is not None]
    return [
        cell
        for scores in (shares, verdicts)
        for cell in (fraction(_mean(scores)), _interval(scores, run.contract.seed))
    ]


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


def difference_records(runs: Sequence[RunResults]) -> list[dict[str, Any]]:
    """Each pair of runs, question by question, as JSON values; None where nothing is scored in both."""
    records = []
    for first, second in combinations(runs, 2):
        record: dict[str, Any] = {"runs": [first.name, second.name], "questions": 0}
        for name, score in _SCORES.items():
            pairs = _paired(first, second, score)
            record["questions"] = max(record["questions"], len(pairs))
            record[name] = record[f"{name}_p"] = None
            if pairs:
                ours, theirs = zip(*pairs, strict=True)
                record[name] = float(np.mean(ours) - np.mean(theirs))
                record[f"{name}_p"] = paired_test(ours, theirs, seed=first.contract.seed)
        records.append(record)
    return records


def _differences(runs: Sequence[RunResults]) -> tuple[list[str], list[list[str]]]:
    header = ["runs", "recall", "p", "accuracy", "p", "questions"]
    rows = [
        [
            " − ".join(record["runs"]),
            *(
                cell
                for name in ("recall", "accuracy")
                for cell in _difference(record[name], record[f"{name}_p"])
            ),
            str(record["questions"]),
        ]
        for record in difference_records(runs)
    ]
    return header, rows


def _paired(first: RunResults, second: RunResults, score: _Score) -> list[tuple[float, float]]:
    """Scores of the questions that both runs have, in the same order."""
    ours, theirs = (
        {r.question.id: value for r in run.results if (value := score(r)) is not None}
        for run in (first, second)
    )
    return [(value, theirs[key]) for key, value in ours.items() if key in theirs]


def _recall(result: QuestionResult) -> float | None:
    return None if result.share is None else result.share.value


def _accuracy(result: QuestionResult) -> float | None:
    return None if result.correct is None else float(result.correct)


_Score = Callable[[QuestionResult], float | None]
_SCORES: Mapping[str, _Score] = {"recall": _recall, "accuracy": _accuracy}


def _difference(value: float | None, p: float | None) -> list[str]:
    if value is None or p is None:
        return ["–", "–"]
    return [f"{value:+.3f}".replace("-", "−"), _chance(p)]


def _chance(p: float) -> str:
    """A p to three places; never nothing, which no test can find."""
    return "<.001" if p < 0.001 else fraction(p)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _interval(values: Sequence[float], seed: int) -> str:
    if not values:
        return "–"
    return "–".join(fraction(bound) for bound in bootstrap_interval(values, seed=seed))
