"""Ranking measures, by `ir_measures` (an interface to trec_eval)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmem_integrations.errors import MissingExtraError
from tmem_integrations.evaluation.questions import Gold
from tmem_integrations.evaluation.recall import Recall

MEASURES = ("RR", "P@5", "AP", "nDCG")


def ranking_measures(
    recall: Recall, gold: Mapping[str, Gold], measures: Sequence[str] = MEASURES
) -> dict[str, float]:
    """Measures of the ranked selections of one cell, averaged over questions with evidence.

    Every id of a unit counts as relevant: trec_eval knows no alternatives.

    Args:
        recall: Selections, the most relevant first.
        gold: By question id.
        measures: Names as `ir_measures` writes them.

    Returns:
        By name; empty when no question has evidence.

    Raises:
        MissingExtraError: If `ir_measures` is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("ir-measures", "eval", "Ranking measures") from error
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for outcome in recall.outcomes:
        units = gold[outcome.question_id].evidence
        if units:
            qrels[outcome.question_id] = dict.fromkeys(frozenset().union(*units), 1)
            ids = outcome.selection.ids
            run[outcome.question_id] = {i: float(len(ids) - rank) for rank, i in enumerate(ids)}
    if not qrels:
        return {}
    wanted = [ir_measures.parse_measure(name) for name in measures]
    found = ir_measures.calc_aggregate(wanted, qrels, run)
    return {str(measure): float(found[measure]) for measure in wanted}
