"""A report as one HTML page that needs nothing else: tables, plots, and every question to look into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from tmem_integrations.evaluation.measures import bootstrap_interval, macro
from tmem_integrations.evaluation.plots import Axis, bar_plot, line_plot
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.report import (
    Prices,
    accuracy_scores,
    kinds_of,
    markdown_report,
    total_cost,
)
from tmem_integrations.evaluation.runs.results import QuestionResult, RunResults

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
       color-scheme: light dark; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .6rem; border-bottom: 1px solid #8884; text-align: right; }
td:first-child, th:first-child { text-align: left; }
svg { max-width: 52rem; width: 100%; height: auto; color: inherit; }
details { border-top: 1px solid #8884; padding: .4rem 0; }
.beside { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
pre, ol { white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; margin: .4rem 0; }
.evidence { font-weight: bold; }
@media (max-width: 60rem) { .beside { grid-template-columns: 1fr; } }
"""


def html_report(
    dataset: Dataset, runs: Sequence[RunResults], prices: Prices, *, max_questions: int = 100
) -> str:
    """The page.

    Args:
        dataset: What was asked of.
        runs: At least one.
        prices: USD a million tokens, by model.
        max_questions: How many questions can be looked into: those that the runs differ in first.
    """
    title = escape(f"{dataset.name}: {', '.join(run.name for run in runs)}")
    body = [_tables(markdown_report(dataset, runs, prices)), *_plots(runs, prices)]
    body += ["<h2>Questions</h2>", *_questions(dataset, runs, max_questions)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _tables(markdown: str) -> str:
    """The Markdown of `markdown_report` as HTML; it holds headings and tables only."""
    parts: list[str] = []
    for block in markdown.strip().split("\n\n"):
        if block.startswith("#"):
            marks, _, text = block.partition(" ")
            parts.append(f"<h{len(marks)}>{escape(text)}</h{len(marks)}>")
            continue
        lines = [
            [cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").split("|")[1:-1]]
            for line in block.splitlines()
        ]
        header, _, *rows = lines
        parts.append("<table><tr>" + "".join(f"<th>{escape(c)}</th>" for c in header) + "</tr>")
        parts += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows]
        parts.append("</table>")
    return "\n".join(parts)


def _plots(runs: Sequence[RunResults], prices: Prices) -> list[str]:
    plots = [budget_plot(runs), kind_plot(runs), _cost_plot(runs, prices)]
    return [plot for plot in plots if plot is not None]


def budget_plot(runs: Sequence[RunResults]) -> str | None:
    """Recall against the mean tokens of the texts, runs of one method and structure joined."""
    series: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        shares = [r.share for r in run.results if r.share is not None]
        if shares:
            tokens = sum(r.n_tokens for r in run.results) / len(run.results)
            contract = run.contract
            parts = [contract.method, contract.structure]
            parts += ["truncated"] if contract.compression == "truncate" else []
            name = ", ".join(parts)
            series.setdefault(name, []).append((tokens, macro(shares)))
    if not series:
        return None
    ordered = {name: sorted(points) for name, points in series.items()}
    budgets = [tokens for points in series.values() for tokens, _ in points]
    x = Axis.around("tokens of the text, mean", budgets)
    return line_plot("Recall against budget", ordered, x, Axis("recall", 0, 1))


def kind_plot(runs: Sequence[RunResults]) -> str | None:
    """Accuracy by type; where nothing was judged, recall by type."""
    judged = any(accuracy_scores(run) for run in runs)
    what = "Accuracy" if judged else "Recall"
    kinds = kinds_of(runs)
    series = {run.name: [_bar(_scores(run, kind, judged)) for kind in kinds] for run in runs}
    if not any(bar for bars in series.values() for bar in bars):
        return None
    return bar_plot(f"{what} by type of question", kinds, series, Axis(what.lower(), 0, 1))


def _scores(run: RunResults, kind: str, judged: bool) -> list[float]:
    own = [r for r in run.results if (r.question.kind or "any") == kind]
    if judged:
        return [float(r.correct) for r in own if r.correct is not None]
    return [r.share.value for r in own if r.share is not None]


def _bar(scores: Sequence[float]) -> tuple[float, float, float] | None:
    if not scores:
        return None
    return (sum(scores) / len(scores), *bootstrap_interval(scores))


def _cost_plot(runs: Sequence[RunResults], prices: Prices) -> str | None:
    points: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        cost, scores = total_cost(run, prices), accuracy_scores(run)
        if cost is not None and scores:
            points[run.name] = [(cost / len(run.results), sum(scores) / len(scores))]
    if not points:
        return None
    x = Axis.around("USD a question", [own[0][0] for own in points.values()])
    y = Axis("accuracy", 0, 1)
    return line_plot("Cost against accuracy", points, x, y, joined=False)


def _questions(dataset: Dataset, runs: Sequence[RunResults], max_questions: int) -> list[str]:
    texts = {message.id: f"{message.author or '?'}: {message.text}" for message in dataset.messages}
    by_key: dict[str, dict[str, QuestionResult]] = {}
    for run in runs:
        for result in run.results:
            by_key.setdefault(result.question.id, {})[run.name] = result
    order = sorted(by_key, key=lambda key: -_spread(by_key[key]))
    shown = [_question(dataset, by_key[key], key, texts) for key in order[:max_questions]]
    if len(order) > max_questions:
        shown.append(f"<p>{len(order) - max_questions} more are not shown.</p>")
    return shown


def _spread(results: Mapping[str, QuestionResult]) -> float:
    """How much the runs differ in a question."""
    values = [r.share.value for r in results.values() if r.share is not None]
    verdicts = [float(r.correct) for r in results.values() if r.correct is not None]
    return sum(max(v) - min(v) for v in (values, verdicts) if v)


def _question(
    dataset: Dataset, results: Mapping[str, QuestionResult], key: str, texts: Mapping[str, str]
) -> str:
    gold = dataset.gold[key]
    evidence = frozenset().union(*gold.evidence)
    question = next(iter(results.values())).question
    wanted = gold.answer or ", ".join(gold.must_include) or gold.expected_action or "–"
    parts = [
        f"<details><summary>{escape(question.text)} <small>{escape(key)}</small></summary>",
        f"<p>Expected: {escape(wanted)}</p>",
    ]
    for name, result in results.items():
        parts.append(f"<h3>{escape(name)}: {escape(_verdict(result))}</h3>")
        if result.answer is not None:
            parts.append(f"<p>Answer: {escape(result.answer)}</p>")
        items = "".join(
            f"<li{' class=evidence' if i in evidence else ''}>{escape(texts[i])}</li>"
            for i in result.ranked
        )
        parts.append(f'<div class="beside"><pre>{escape(result.text)}</pre><ol>{items}</ol></div>')
    return "".join([*parts, "</details>"])


def _verdict(result: QuestionResult) -> str:
    said = []
    if result.share is not None:
        said.append(f"{result.share.found} of {result.share.wanted} shown")
    if result.correct is not None:
        said.append("right" if result.correct else "wrong")
    if result.leaks:
        said.append(f"leaks {', '.join(result.leaks)}")
    return ", ".join([*said, f"{result.n_tokens} tokens"])
