"""Tables in Markdown, aligned so that they read well in a terminal too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tmem_integrations.evaluation.recall import Recall


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is left-aligned and all others right-aligned.

    Examples:
        >>> print(markdown_table(["method", "@12"], [["bm25", ".625"]]))
        | method |  @12 |
        |:-------|-----:|
        | bm25   | .625 |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(header))]
    lines = [" | ".join(_aligned(row, widths)) for row in cells]
    rule = "|".join(
        f":{'-' * (w + 1)}" if i == 0 else f"{'-' * (w + 1)}:" for i, w in enumerate(widths)
    )
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def fraction(value: float | None) -> str:
    """A share to three places; a dash when there is none.

    Examples:
        >>> fraction(0.625), fraction(1.0), fraction(None)
        ('.625', '1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def recall_rows(
    recalls: Sequence[Recall], ranking: Sequence[dict[str, float]]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of recall.

    Args:
        recalls: The cells, all N of a method together.
        ranking: Ranking measures of each, or nothing.
    """
    names = list(ranking[0]) if ranking else []
    figures_of = [recall.to_dict() for recall in recalls]
    noisy = any(figures["misled"] is not None for figures in figures_of)
    header = ["method", "N", "recall", "95 % interval", "micro", "complete", "precision"]
    header += [*(["misled"] if noisy else []), *names, "messages", "ms"]
    rows = []
    for index, (recall, figures) in enumerate(zip(recalls, figures_of, strict=True)):
        rows.append(
            [
                recall.method,
                str(recall.max_messages),
                fraction(figures["macro"]),
                "–".join(fraction(bound) for bound in figures["interval"]),
                fraction(figures["micro"]),
                fraction(figures["complete"]),
                fraction(figures["precision"]),
                *([fraction(figures["misled"])] if noisy else []),
                *(fraction(ranking[index][name]) for name in names),
                f"{figures['messages']:.1f}",
                f"{1000 * figures['seconds']:.0f}",
            ]
        )
    return header, rows


def recall_records(
    recalls: Sequence[Recall], ranking: Sequence[dict[str, float]]
) -> list[dict[str, Any]]:
    """The same as JSON values."""
    return [
        {**recall.to_dict(), **({"ranking": ranking[i]} if ranking else {})}
        for i, recall in enumerate(recalls)
    ]
