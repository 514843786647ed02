"""What a selection is worth: shares of evidence and of required values (TEF Eq. 9–10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tmem_integrations.evaluation.questions import Gold, Question, Unit


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, of one question.

    Attributes:
        found: How many were found.
        wanted: How many there are, at least 1.
    """

    found: int
    wanted: int

    @property
    def value(self) -> float:
        """0 to 1."""
        return self.found / self.wanted


def evidence_share(ids: Collection[str], units: Sequence[Unit]) -> Share:
    """How many units of evidence are among `ids`; one alternative of a unit is enough.

    Examples:
        >>> evidence_share(["a", "b"], [frozenset("a"), frozenset("cd")])
        Share(found=1, wanted=2)
    """
    shown = frozenset(ids)
    return Share(sum(not unit.isdisjoint(shown) for unit in units), len(units))


def _values_share(text: str, patterns: Sequence[str]) -> Share:
    """How many required values a text holds; case is ignored.

    Examples:
        >>> _values_share("July 24, at 9%", ["july 2[0-9]", "10%"])
        Share(found=1, wanted=2)
    """
    return Share(sum(bool(re.search(p, text, re.IGNORECASE)) for p in patterns), len(patterns))


def precision(ids: Collection[str], units: Sequence[Unit]) -> float:
    """Share of `ids` that are evidence; 0 when nothing is shown."""
    evidence = frozenset().union(*units)
    return sum(i in evidence for i in ids) / len(ids) if ids else 0.0


Scoring = Callable[[Sequence[str], Sequence[str]], Share]
"""Ids and texts of what is shown, to a share."""


def scoring_of(question: Question, gold: Gold) -> Scoring | None:
    """How a question is scored by what a method shows for it; None when only its answer can be.

    By evidence where the data set names it; else, for questions of utility (GateMem), by the required
    values in the shown texts. What must be refused says nothing about finding.
    """
    if gold.evidence:
        return lambda ids, texts: evidence_share(ids, gold.evidence)
    if question.kind in (None, "utility") and gold.must_include:
        return lambda ids, texts: _values_share("\n".join(texts), gold.must_include)
    return None


def macro(shares: Sequence[Share]) -> float:
    """Mean over questions (TEF Eq. 9)."""
    return float(np.mean([share.value for share in shares]))


def micro(shares: Sequence[Share]) -> float:
    """Over all units of all questions (TEF Eq. 10)."""
    return sum(s.found for s in shares) / sum(s.wanted for s in shares)


def bootstrap_interval(
    values: Sequence[float], *, confidence: float = 0.95, seed: int = 0, n_resamples: int = 2_000
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean over questions.

    Questions of one history are drawn as if independent, so with few histories the interval is too
    narrow for other histories.
    """
    if len(values) < 2 or min(values) == max(values):
        return (float(values[0]), float(values[0]))
    scores = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    means = [scores[rng.integers(len(scores), size=len(scores))].mean() for _ in range(n_resamples)]
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return (float(low), float(high))


def paired_test(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, n_resamples: int = 2_000
) -> float:
    """Two-sided p that two methods differ by chance, by swapping their scores question by question.

    Raises:
        ValueError: If the two do not score the same questions.
    """
    if len(first) != len(second):
        raise ValueError(f"expected scores of the same questions, got {len(first)}, {len(second)}.")
    differences = np.asarray(first) - np.asarray(second)
    if not differences.any():
        return 1.0
    rng = np.random.default_rng(seed)
    swaps = (rng.choice((-1.0, 1.0), size=len(differences)) for _ in range(n_resamples))
    observed = abs(differences.mean()) - 1e-12  # sums in another order round differently
    extreme = sum(abs((differences * swap).mean()) >= observed for swap in swaps)
    return float((extreme + 1) / (n_resamples + 1))
