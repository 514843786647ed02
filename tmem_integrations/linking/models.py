"""The two fitted tables and how they score.

`RelationModel` is a multinomial logit over UPDATE, EXPAND and NONE for one pair. `ParentModel` is a
conditional logit: for each message the earlier ones and "none of them" compete for the place of its
parent. Both are tables of standardised coefficients in one JSON file, which a person can read and a
diff can show. They are fitted apart because their evidence differs: thousands of human reply links
tell parents, a few hundred read pairs tell relations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tmem_integrations.linking.features import FloatArray

RELATIONS: Final = ("UPDATE", "EXPAND", "NONE")
"""What a later message may be to an earlier one, in the order of the model's outputs."""


@dataclass(frozen=True, slots=True)
class Standard:
    """Mean and spread of named features, so that coefficients compare.

    Attributes:
        names: The k features.
        mean: (k,) what is taken off.
        scale: (k,) what is divided by; never 0.
    """

    names: tuple[str, ...]
    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, names: Sequence[str], rows: FloatArray) -> Self:
        """Measure rows, shape (rows, k); a constant feature keeps scale 1."""
        scale = rows.std(axis=0)
        return cls(tuple(names), rows.mean(axis=0), np.where(scale < 1e-6, 1.0, scale))

    def apply(self, rows: FloatArray) -> FloatArray:
        """Standardise the last axis."""
        return np.asarray((rows - self.mean) / self.scale)

    def weigh(self, found: Mapping[str, FloatArray], weights: FloatArray) -> FloatArray:
        """Named arrays of one shape, standardised and summed by weights, (k,).

        One after the other: a stack of all pairs of a thousand messages takes gigabytes.
        """
        slopes = weights / self.scale
        total = np.full(found[self.names[0]].shape, -float(slopes @ self.mean))
        for name, slope in zip(self.names, slopes.tolist(), strict=True):
            total += slope * found[name]
        return total

    def stack(self, found: Mapping[str, FloatArray]) -> FloatArray:
        """Named arrays of one shape, standardised, along a new last axis in this table's order."""
        return self.apply(np.stack([found[name] for name in self.names], axis=-1))


@dataclass(frozen=True, slots=True)
class RelationModel:
    """What a pair's later message does to the earlier one.

    Attributes:
        standard: The k pair features it looks at.
        weights: (k, 3) per standard deviation, columns in the order of `RELATIONS`.
        bias: (3,).
    """

    standard: Standard
    weights: FloatArray
    bias: FloatArray

    def probabilities(self, pairs: Mapping[str, FloatArray]) -> FloatArray:
        """Probability of each relation, along a new last axis in the order of `RELATIONS`."""
        return softmax(self.standard.stack(pairs) @ self.weights + self.bias)


@dataclass(frozen=True, slots=True)
class ParentModel:
    """Which of the earlier messages is the parent, if any.

    Attributes:
        candidate: The k features of a candidate.
        candidate_weights: (k,) per standard deviation.
        opening: The m features of a message as the first of a new tree.
        opening_weights: (m,).
        bias: Of a new tree.
    """

    candidate: Standard
    candidate_weights: FloatArray
    opening: Standard
    opening_weights: FloatArray
    bias: float

    def scores(
        self, candidates: Mapping[str, FloatArray], openings: Mapping[str, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Log-odds of each candidate, shape (n, n), and of no parent, shape (n,)."""
        score = self.candidate.weigh(candidates, self.candidate_weights)
        return score, self.opening.weigh(openings, self.opening_weights) + self.bias


class Models(NamedTuple):
    """Both tables."""

    relation: RelationModel
    parent: ParentModel


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities along the last axis; an entry of -inf gets 0."""
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


@cache
def load_models() -> Models:
    """The tables that come with the package."""
    return parse_models(
        files("tmem_integrations.linking").joinpath("coefficients.json").read_text(encoding="utf-8")
    )


def parse_models(text: str) -> Models:
    """Read what `save_models` wrote."""
    document = json.loads(text)
    relation, parent = document["relation"], document["parent"]
    weights = np.stack([_column(relation["features"], name) for name in RELATIONS], axis=1)
    candidates, openings = parent["candidates"], parent["openings"]
    return Models(
        RelationModel(
            _standard(relation["features"]),
            weights,
            np.array([relation["bias"][name] for name in RELATIONS]),
        ),
        ParentModel(
            _standard(candidates),
            _column(candidates, "weight"),
            _standard(openings),
            _column(openings, "weight"),
            float(parent["bias"]),
        ),
    )


def save_models(path: Path, models: Models) -> None:
    """Write both tables as JSON, a line per feature."""
    relation, parent = models
    by_relation = dict(zip(RELATIONS, relation.weights.T, strict=True))
    document = {
        "relation": {
            "bias": {n: _short(b) for n, b in zip(RELATIONS, relation.bias, strict=True)},
            "features": _table(relation.standard, **by_relation),
        },
        "parent": {
            "candidates": _table(parent.candidate, weight=parent.candidate_weights),
            "openings": _table(parent.opening, weight=parent.opening_weights),
            "bias": _short(parent.bias),
        },
    }
    path.write_text(_lines(document) + "\n", encoding="utf-8")


def _lines(value: Mapping[str, Any], indent: str = "") -> str:
    """JSON with each mapping of plain values on one line."""
    if not any(isinstance(inner, Mapping) for inner in value.values()):
        return json.dumps(value)
    deeper = indent + "  "
    rows = (
        f"{deeper}{json.dumps(key)}: "
        + (_lines(inner, deeper) if isinstance(inner, Mapping) else json.dumps(inner))
        for key, inner in value.items()
    )
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


def _short(value: float) -> float:
    return round(float(value), 5)


def _table(standard: Standard, **columns: FloatArray) -> dict[str, dict[str, float]]:
    """One row per feature: mean, scale and each column."""
    shown = {"mean": standard.mean, "scale": standard.scale} | columns
    return {
        name: {column: _short(values[i]) for column, values in shown.items()}
        for i, name in enumerate(standard.names)
    }


def _column(table: Mapping[str, Mapping[str, float]], name: str) -> FloatArray:
    return np.array([row[name] for row in table.values()])


def _standard(table: Mapping[str, Mapping[str, float]]) -> Standard:
    return Standard(tuple(table), _column(table, "mean"), _column(table, "scale"))
