r"""How dense an episode has to be: the theory of the density gate (TEF App. F), fitted to a history.

Anchors fall at random: at rate λ₀ where nobody talks about the question, at rate λ₁ where somebody does. Whether
n anchors in T hours come from the one or the other is decided best at

$$ \mu^* = (\lambda_1 - \lambda_0) / \ln(\lambda_1 / \lambda_0) $$

anchors per hour, where both are equally likely. Chernoff's bound tells how often that errs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.config import EpisodeConfig
from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.plots import Axis, line_plot, sample

Seconds = NDArray[np.float64]
_HOUR = 3600.0


def best_threshold(background: float, episode: float) -> float:
    """μ*: the density at which both rates explain what is seen equally well.

    Args:
        background: λ₀, anchors per hour, positive.
        episode: λ₁, larger than λ₀.

    Raises:
        InputError: If the rates are not 0 < λ₀ < λ₁.

    Examples:
        >>> round(best_threshold(1.0, math.e), 3)
        1.718
    """
    if not 0 < background < episode:
        raise InputError(
            f"A threshold needs rates 0 < background < episode, got {background!r}, {episode!r}: "
            "anchors do not fall more often around the evidence than elsewhere."
        )
    return (episode - background) / math.log(episode / background)


def error_bound(threshold: float, rate: float, hours: float) -> float:
    r"""Bound on how often anchors at `rate` fall on the wrong side of `threshold` (Chernoff).

    $$ \exp(-T (\mu \ln(\mu / \lambda) - \mu + \lambda)) $$

    For λ₀ < μ it bounds false episodes, for λ₁ > μ missed ones.

    Args:
        threshold: μ, anchors per hour, positive.
        rate: λ, anchors per hour, positive.
        hours: T.

    Examples:
        >>> error_bound(2.0, 2.0, 10.0)
        1.0
    """
    exponent = threshold * math.log(threshold / rate) - threshold + rate
    return math.exp(-hours * max(exponent, 0.0))


@dataclass(frozen=True, slots=True)
class Observation:
    """Where anchors and evidence of one question lie in one partition.

    Attributes:
        anchors: (k,) times, POSIX seconds.
        evidence: (e,) times, POSIX seconds.
        start: First message of the partition.
        end: Last message of the partition.
    """

    anchors: Seconds
    evidence: Seconds
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Rates:
    """What the anchors of a history look like.

    Attributes:
        background: λ₀, anchors per hour away from the evidence.
        episode: λ₁, anchors per hour around the evidence.
        hours: T: median length of a stretch of evidence.
        gaps: ε that joins half, and 90 %, of neighbouring evidence of a question, hours; None where no
            question has two in one partition.
        n_anchors: Anchors seen.
        n_stretches: Stretches of evidence seen.
    """

    background: float
    episode: float
    hours: float
    gaps: tuple[float, float] | None
    n_anchors: int
    n_stretches: int

    @property
    def threshold(self) -> float:
        """μ*."""
        return best_threshold(self.background, self.episode)

    def errors(self, threshold: float) -> tuple[float, float]:
        """Bounds on false and on missed episodes of median length, at a threshold."""
        return (
            error_bound(threshold, self.background, self.hours)
            if threshold > self.background
            else 1.0,
            error_bound(threshold, self.episode, self.hours) if threshold < self.episode else 1.0,
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        false, missed = self.errors(self.threshold)
        return {
            "background_per_hour": self.background,
            "episode_per_hour": self.episode,
            "hours": self.hours,
            "threshold_per_hour": self.threshold,
            "false_episodes_bound": false,
            "missed_episodes_bound": missed,
            "gap_hours": self.gaps,
            "anchors": self.n_anchors,
            "stretches": self.n_stretches,
        }


def estimate_rates(observations: Sequence[Observation], config: EpisodeConfig) -> Rates:
    """Estimate both rates from where anchors fall.

    Evidence of one partition that lies within ε is one stretch; it reaches half the span floor δ beyond
    its ends, so that a single message has a length. Anchors inside stretches give λ₁, all others λ₀.

    Args:
        observations: One per question and partition that holds an anchor or evidence.
        config: ε and δ.

    Raises:
        InputError: If no evidence is known, no time lies outside it, or anchors fall no more often around
            it than elsewhere.
    """
    epsilon, margin = config.radius.total_seconds(), config.span_floor.total_seconds() / 2
    inside = outside = 0
    inside_time = outside_time = 0.0
    lengths: list[float] = []
    gaps: list[float] = []
    for seen in observations:
        stretches = _stretches(seen.evidence, epsilon, margin)
        within = sum(
            int(((seen.anchors >= start) & (seen.anchors <= end)).sum()) for start, end in stretches
        )
        covered = sum(end - start for start, end in stretches)
        inside += within
        outside += len(seen.anchors) - within
        inside_time += covered
        outside_time += max(seen.end - seen.start - covered, 0.0)
        lengths += [end - start for start, end in stretches]
        gaps += [b - a for a, b in pairwise(np.sort(seen.evidence).tolist())]
    if not lengths or outside_time == 0:
        raise InputError(
            "Rates need questions with known evidence, and time outside it; found "
            f"{len(lengths)} stretches of evidence and {outside_time / _HOUR:.1f} hours outside."
        )
    rates = Rates(
        # One anchor at least: a rate of zero would make any threshold look safe.
        background=float(max(outside, 1) / (outside_time / _HOUR)),
        episode=float(inside / (inside_time / _HOUR)),
        hours=float(np.median(lengths)) / _HOUR,
        gaps=_quantiles(gaps) if gaps else None,
        n_anchors=inside + outside,
        n_stretches=len(lengths),
    )
    best_threshold(rates.background, rates.episode)
    return rates


def _quantiles(gaps: Sequence[float]) -> tuple[float, float]:
    half, most = np.quantile(gaps, [0.5, 0.9]) / _HOUR
    return (float(half), float(most))


def _stretches(times: Seconds, epsilon: float, margin: float) -> list[tuple[float, float]]:
    """Runs of times no further apart than ε, with a margin around them; none overlaps another."""
    found: list[list[float]] = []
    for time in np.sort(times).tolist():
        if found and time - found[-1][1] <= max(epsilon, 2 * margin):
            found[-1][1] = time
        else:
            found.append([time, time])
    return [(start - margin, end + margin) for start, end in found]


def error_plot(rates: Rates, settings: Mapping[str, float]) -> str:
    """Both error bounds over the threshold, as SVG, with the thresholds of some settings marked.

    Args:
        rates: Of a history.
        settings: Name to μ, anchors per hour.
    """
    low, high = rates.background, rates.episode
    y = Axis("bound on errors", 0, 1)
    marks = {f"{name} ({mu:g})": [(mu, 0.0), (mu, 1.0)] for name, mu in settings.items()}
    best = {f"best ({rates.threshold:.3g})": [(rates.threshold, 0.0), (rates.threshold, 1.0)]}
    return line_plot(
        "How dense an episode has to be",
        {
            "false episodes": sample(lambda mu: rates.errors(mu)[0], low, high),
            "missed episodes": sample(lambda mu: rates.errors(mu)[1], low, high),
            **best,
            **marks,
        },
        Axis("threshold, anchors per hour", low, high, logarithmic=True),
        y,
        dots=False,
    )
