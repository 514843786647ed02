"""Tables of the gate and of relations."""

from __future__ import annotations

from collections.abc import Sequence

from tmem_integrations.evaluation.gate import GateReport
from tmem_integrations.evaluation.relations import KINDS, RelationsReport
from tmem_integrations.evaluation.tables import fraction

Table = tuple[list[str], list[list[str]]]


def gate_rows(reports: Sequence[GateReport]) -> Table:
    """Header and rows, one per method and bound."""
    header = [
        "method", "N", "KEY recall", "precision", "F1", "labelled KEY: recall", "precision", "F1",
        "stale alone", "wrongly superseded", "whole chains", "steps by UPDATE", "for 95 %",
    ]  # fmt: skip
    rows = []
    for report in reports:
        figures = report.to_dict()
        shown, labelled = figures["shown"], figures["labelled"] or {}
        superseding = figures["superseding"] or {}
        needed = figures["candidates_for_95"]
        rows.append(
            [
                report.method,
                str(report.max_messages),
                *(fraction(shown[name]) for name in ("recall", "precision", "f1")),
                *(fraction(labelled.get(name)) for name in ("recall", "precision", "f1")),
                fraction(figures["stale_alone"]),
                fraction(superseding.get("wrongly")),
                fraction(figures["chains"]),
                fraction(superseding.get("linked")),
                "never" if needed is None else str(needed),
            ]
        )
    return header, rows


def relations_rows(reports: Sequence[RelationsReport]) -> Table:
    """Header and rows, one per linker."""
    sources = sorted({source for source, _, _ in reports[0].judged})
    header = ["linker", "accuracy", "95 % interval", "hard", "not hard"]
    header += [name for source in sources for name in (source, f"{source} hard")]
    header += [f"F1 {kind}" for kind in KINDS]
    rows = []
    for report in reports:
        figures = report.to_dict()
        rows.append(
            [
                report.linker,
                fraction(figures["accuracy"]),
                "–".join(fraction(bound) for bound in figures["interval"]),
                fraction(figures["hard"]),
                fraction(figures["not_hard"]),
                *(
                    fraction(figures["by_source"][source][part])
                    for source in sources
                    for part in ("all", "hard")
                ),
                *(fraction(figures["by_kind"][kind]["f1"]) for kind in KINDS),
            ]
        )
    return header, rows
