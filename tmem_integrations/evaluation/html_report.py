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
:root { color-scheme: light dark; --line: light-dark(#0003, #fff4); --quiet: light-dark(#555, #aaa);
        --good: light-dark(#0a6b33, #6fd08c); --bad: light-dark(#a3220f, #ff9d8a); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem;
       overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2rem; } h3 { font-size: 1rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
tbody th { font-weight: normal; }
svg { display: block; width: 100%; min-width: 38rem; max-width: 52rem; height: auto; color: inherit; }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; }
.quiet, small { color: var(--quiet); }
.right { color: var(--good); } .wrong { color: var(--bad); }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 1.5rem; }
pre, ol { white-space: pre-wrap; font-size: .8rem; margin: .4rem 0; }
ol { padding-left: 2.2rem; }
.evidence { font-weight: bold; }
@media (max-width: 48rem) { .beside { grid-template-columns: minmax(0, 1fr); } }
"""
# A page of other people's words: nothing in it may run or be fetched, whatever slips through.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LEGEND = (
    "N: messages at most; B: tokens of the text at most. Recall: share of the evidence, or of required "
    "values, in the text; macro with its bootstrap interval, then micro. Accuracy: share of right answers, "
    "which somebody who never answers has too. p: how likely so large a difference is by chance."
)


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
    body = [_tables(markdown_report(dataset, runs, prices)), f'<p class="quiet">{_LEGEND}</p>']
    body += ["<h2>Plots</h2>", *_plots(runs, prices)]
    body += ["<h2>Questions</h2>", *_questions(dataset, runs, max_questions)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _tables(markdown: str) -> str:
    """The Markdown of `markdown_report` as HTML; it holds headings and tables only."""
    parts: list[str] = []
    heading = ""
    for block in markdown.strip().split("\n\n"):
        if block.startswith("#"):
            marks, _, heading = block.partition(" ")
            parts.append(f"<h{len(marks)}>{escape(heading)}</h{len(marks)}>")
        else:
            parts.append(_table(heading, block.splitlines()))
    return "\n".join(parts)


def _table(name: str, lines: Sequence[str]) -> str:
    header, _, *rows = (
        [cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").split("|")[1:-1]]
        for line in lines
    )
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return _wide(name, table)


def _wide(name: str, inner: str) -> str:
    """What may be wider than a phone scrolls by itself, with the keys too."""
    label = escape(name, quote=True)
    return f'<div class="wide" role="region" tabindex="0" aria-label="{label}">{inner}</div>'


def _plots(runs: Sequence[RunResults], prices: Prices) -> list[str]:
    plots = {
        "Recall against budget": budget_plot(runs),
        "By type of question": kind_plot(runs),
        "Cost against accuracy": _cost_plot(runs, prices),
    }
    return [_wide(f"Plot: {name}", plot) for name, plot in plots.items() if plot is not None]


def budget_plot(runs: Sequence[RunResults]) -> str | None:
    """Recall against the mean tokens of the texts, runs of one method and structure joined."""
    series: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        shares = [r.share for r in run.results if r.share is not None]
        if shares:
            tokens = sum(r.n_tokens for r in run.results) / len(run.results)
            contract = run.contract
            parts = [contract.method]
            parts += [contract.structure] if contract.structure != "forest" else []
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
    verdicts = " · ".join(f"{escape(name)} {_mark(result)}" for name, result in results.items())
    parts = [
        f"<details><summary>{escape(question.text)} <br><small>{escape(key)} · {verdicts}</small>"
        f"</summary><p>Expected: {escape(wanted)}</p>",
    ]
    for name, result in results.items():
        parts.append(f"<h3>{escape(name)}: {escape(_verdict(result))}</h3>")
        if result.answer is not None:
            parts.append(f"<p>Answer: {escape(result.answer)}</p>")
        items = "".join(
            f'<li class="evidence">evidence: {escape(texts[i])}</li>'
            if i in evidence
            else f"<li>{escape(texts[i])}</li>"
            for i in result.ranked
        )
        parts.append(
            f'<div class="beside"><div>As the model reads it:<pre>{escape(result.text)}</pre></div>'
            f"<div>As found, best first:<ol>{items}</ol></div></div>"
        )
    return "".join([*parts, "</details>"])


def _mark(result: QuestionResult) -> str:
    """The verdict in a word, so that one need not open every question."""
    if result.correct is not None:
        word = "right" if result.correct else "wrong"
        return f'<span class="{word}">{word}</span>'
    return "–" if result.share is None else f"{result.share.found}/{result.share.wanted}"


def _verdict(result: QuestionResult) -> str:
    said = []
    if result.share is not None:
        said.append(f"{result.share.found} of {result.share.wanted} shown")
    if result.correct is not None:
        said.append("right" if result.correct else "wrong")
    if result.leaks:
        said.append(f"leaks {', '.join(result.leaks)}")
    return ", ".join([*said, f"{result.n_tokens} tokens"])
