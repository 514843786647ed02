"""Fit both tables of the linker.

    python -m tmem_integrations.evaluation.linker.fit RELATIONS.jsonl --data DIR --out FILE

Relations come from the labelled pairs and from the labelled chats of the package, parents from those
chats, the human reply links in DIR/irc and the chains of states in DIR/gold/evidence.jsonl. Mixing
reply links into the relations made them worse.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tmem_integrations.evaluation.linker.corpus import (
    UNKNOWN,
    Corpus,
    Listing,
    Pair,
    chain_listings,
    load_chains,
    reply_listings,
)
from tmem_integrations.evaluation.linker.labelled_chats import (
    LabelledChat,
    chat_listings,
    chat_pairs,
    read_labelled,
)
from tmem_integrations.evaluation.linker.priors import PRIOR
from tmem_integrations.linking.features import FloatArray, Grid, pair_features
from tmem_integrations.linking.links import NO_PARENT
from tmem_integrations.linking.listing import candidate_features, opening_features
from tmem_integrations.linking.models import (
    RELATIONS,
    Models,
    ParentModel,
    RelationModel,
    Standard,
    save_models,
)

CANDIDATES: Final = (
    "near", "log_gap", "same_author", "answers_author", "addressed_by", "turns_elsewhere",
    "addressed_elsewhere", "term_cosine", "trigram_cosine", "names_shared", "names_clash",
    "siblings", "value_repeated", "values_unlike", "slot_moved", "slot_kept", "slot_changed",
    "question_answered", "keeps_terms", "retract_of_value", "own_opened", "earlier_tentative",
    "rank", "rank_if_brief", "covered_if_brief", "next", "last_own", "last_to_me",
    "last_addressed", "last_of_partner", "partner", "best_cosine", "best_trigrams",
    "best_covered",
)  # fmt: skip
"""What the parent model looks at: pair features that differ by candidate, and those of the list."""

COPIES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "replies, 36 messages": 1,
        "replies, 100 messages": 1,
        "replies, a third kept": 1,
        "chains": 2,
        "chains among others": 4,
        "labelled chats": 1,
        "labelled chats, thinned": 1,
    }
)
"""How often the lists of each kind count: a few chains of states stand beside many replies."""

_Loss = Callable[[FloatArray], tuple[float, FloatArray]]

_BIAS_RIDGE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Choices:
    """Children with the candidates for their parent, as rows.

    Attributes:
        candidates: (rows, k) features of the candidates, child after child.
        openings: (children, m) features of each child as the first of a tree.
        sizes: (children,) candidates of each.
        truths: (children,) position of the parent among its candidates, or NO_PARENT.
        opening_names: The m names.
    """

    candidates: FloatArray
    openings: FloatArray
    sizes: NDArray[np.intp]
    truths: NDArray[np.intp]
    opening_names: tuple[str, ...]


def measure_pair(pair: Pair, corpus: Corpus) -> dict[str, float]:
    """Features of a labelled pair in its conversation."""
    around = corpus.conversation((pair.earlier, pair.later))
    two = [around.utterances[pair.earlier], around.utterances[pair.later]]
    return {name: float(grid[0, 1]) for name, grid in pair_features(two, around.context).items()}


def _measure_listing(listing: Listing, corpus: Corpus) -> tuple[Grid, Grid]:
    """Features of candidates, (n, n) each, and of openings, (n,) each."""
    around = corpus.conversation(listing.ids)
    utterances = [around.utterances[i] for i in listing.ids]
    pairs = pair_features(utterances, around.context)
    return pairs | candidate_features(utterances, pairs), opening_features(pairs)


def all_listings(
    corpus: Corpus,
    questions: Sequence[Mapping[str, Any]],
    chats: Sequence[LabelledChat] = (),
) -> dict[str, list[Listing]]:
    """The lists that tell parents, by the names of `COPIES`.

    Whole threads and chains tell who answers whom. Those with gaps and among others are like the
    evidence of a question, where the right parent is often missing.

    Args:
        corpus: Messages.
        questions: What `load_chains` read.
        chats: Of the corpus.
    """
    return {
        "replies, 36 messages": reply_listings(corpus),
        "replies, 100 messages": reply_listings(corpus, size=100, seed=1),
        "replies, a third kept": reply_listings(corpus, keep=1 / 3, seed=2),
        "chains": chain_listings(corpus, questions),
        "chains among others": chain_listings(corpus, questions, size=36, seed=3),
        "labelled chats": chat_listings(chats),
        "labelled chats, thinned": chat_listings(chats, keep=0.6, seed=4),
    }


def choices_of(listing: Listing, corpus: Corpus) -> Choices:
    """The messages of a list whose place is known; the first has none to choose from."""
    candidates, openings = _measure_listing(listing, corpus)
    stack = np.stack([candidates[name] for name in CANDIDATES], axis=-1)
    starts = np.stack(list(openings.values()), axis=-1)
    placed = [j for j, parent in enumerate(listing.parents) if j and parent != UNKNOWN]
    return Choices(
        np.concatenate([stack[:0, 0], *(stack[:j, j] for j in placed)]),
        starts[placed],
        np.array(placed, dtype=np.intp),
        np.array([listing.parents[j] for j in placed], dtype=np.intp),
        tuple(openings),
    )


def fit_relation(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[str],
    *,
    ridge: float = 600.0,
    trust: float = 1.0,
) -> RelationModel:
    """Multinomial logit whose ridge penalty draws to `trust` times the prior instead of to zero.

    Args:
        rows: Features of each pair.
        labels: UPDATE, EXPAND or NONE.
        ridge: Strength; with standardised features, about the number of pairs that outweigh the
            prior.
        trust: 0 gives plain ridge.
    """
    names = tuple(PRIOR)
    table = np.array([[row[name] for name in names] for row in rows])
    standard = Standard.of(names, table)
    x, k = standard.apply(table), len(names)
    target = np.array([[label == r for r in RELATIONS] for label in labels], dtype=np.float64)
    centre = trust * np.array([PRIOR[name] for name in names])

    def loss(vector: FloatArray) -> tuple[float, FloatArray]:
        weights, bias = vector[: 3 * k].reshape(k, 3), vector[3 * k :]
        logits = x @ weights + bias
        logits = logits - logits.max(axis=1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        error, off = np.exp(log_p) - target, weights - centre
        penalty = ridge * (off**2).sum() + _BIAS_RIDGE * (bias**2).sum()
        slope = [(x.T @ error + ridge * off).ravel(), error.sum(axis=0) + _BIAS_RIDGE * bias]
        return float(penalty / 2 - (target * log_p).sum()), np.concatenate(slope)

    start = np.concatenate([centre.ravel(), np.zeros(3)])
    found = _minimum(loss, start)
    return RelationModel(standard, found[: 3 * k].reshape(k, 3), found[3 * k :])


def fit_parent(choices: Sequence[Choices], *, ridge: float = 10.0) -> ParentModel:
    """Conditional logit: the true parent against the other candidates and against a new tree.

    Args:
        choices: Of each list.
        ridge: Strength, with standardised features.
    """
    rows = np.concatenate([c.candidates for c in choices])
    firsts = np.concatenate([c.openings for c in choices])
    candidate = Standard.of(CANDIDATES, rows)
    opening = Standard.of(choices[0].opening_names, firsts)
    loss = _ChoiceLoss(
        candidate.apply(rows),
        opening.apply(firsts),
        np.concatenate([c.sizes for c in choices]),
        np.concatenate([c.truths for c in choices]),
        ridge,
    )
    k, m = len(candidate.names), len(opening.names)
    found = _minimum(loss, np.zeros(k + m + 1))
    return ParentModel(candidate, found[:k], opening, found[k : k + m], float(found[-1]))


def _minimum(loss: _Loss, start: FloatArray) -> FloatArray:
    """Where a convex loss is least, so exactly that a second fit writes the same table."""
    tight = {"ftol": 1e-14, "gtol": 1e-7, "maxiter": 10_000, "maxfun": 20_000, "maxcor": 30}
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options=tight).x)


class _ChoiceLoss:
    """Negative log-likelihood of the choices with a ridge penalty, and its gradient."""

    def __init__(
        self,
        x: FloatArray,
        openings: FloatArray,
        sizes: NDArray[np.intp],
        truths: NDArray[np.intp],
        ridge: float,
    ) -> None:
        self.x, self.openings, self.ridge = x, openings, ridge
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        self.has_parent = truths != NO_PARENT
        self.chosen = (self.starts + truths)[self.has_parent]

    def __call__(self, vector: FloatArray) -> tuple[float, FloatArray]:
        k = self.x.shape[1]
        score, none = self.x @ vector[:k], self.openings @ vector[k:-1] + vector[-1]
        top = np.maximum(np.maximum.reduceat(score, self.starts), none)
        odds, none_odds = np.exp(score - top[self.owner]), np.exp(none - top)
        total = np.add.reduceat(odds, self.starts) + none_odds
        won = none.copy()
        won[self.has_parent] = score[self.chosen]
        error = odds / total[self.owner]
        error[self.chosen] -= 1
        none_error = none_odds / total - ~self.has_parent
        value = self.ridge / 2 * (vector[:-1] ** 2).sum() - (won - top - np.log(total)).sum()
        slope = np.concatenate([self.x.T @ error, self.openings.T @ none_error])
        return float(value), np.append(slope + self.ridge * vector[:-1], none_error.sum())


def _fit_models(
    corpus: Corpus, pairs: Sequence[Pair], questions: Path, chats: Sequence[LabelledChat] = ()
) -> Models:
    """Fit both tables to all there is.

    Args:
        corpus: Messages.
        pairs: Labelled.
        questions: File of `load_chains`.
        chats: Of the corpus.
    """
    pairs = [*pairs, *(pair for chat in chats for pair in chat_pairs(chat, corpus))]
    relation = fit_relation([measure_pair(p, corpus) for p in pairs], [p.label for p in pairs])
    choices: list[Choices] = []
    for name, listings in all_listings(corpus, load_chains(questions), chats).items():
        choices += [choices_of(one, corpus) for one in listings] * COPIES[name]
    return Models(relation, fit_parent(choices))


def main() -> None:
    """Read the arguments, fit, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("relations", type=Path, help="labelled pairs, JSONL")
    parser.add_argument("--data", type=Path, required=True, help="holds <source>/messages.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="where the tables go")
    arguments = parser.parse_args()
    corpus, pairs, chats = read_labelled(arguments.relations, arguments.data)
    questions = arguments.data / "gold" / "evidence.jsonl"
    save_models(arguments.out, _fit_models(corpus, pairs, questions, chats))


if __name__ == "__main__":
    main()
