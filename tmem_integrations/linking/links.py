"""Links: one parent per message, and what it does to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.linking.context import Context, content_stems, normalize, split_words
from tmem_integrations.linking.cues import find_cues
from tmem_integrations.linking.features import FloatArray, pair_features
from tmem_integrations.linking.listing import candidate_features, opening_features
from tmem_integrations.linking.models import (
    RELATIONS,
    Models,
    RelationModel,
    load_models,
    softmax,
)
from tmem_integrations.linking.utterance import Utterance

NO_PARENT: Final = -1

MIN_CHANCE: Final = 0.25
"""A parent less likely than this is none: in a question's evidence the right one may be missing."""


_MIN_ODDS: Final = 0.25
"""An UPDATE must be at least this likely against no relation at all. With it one in seventeen of the
messages that hold is shown as superseded, without it one in thirteen; 1.5 % of the chains are lost."""

_ONLY_ASKS: Final = re.compile(r"[^.!?。！？\n]*[?？]\W*")
_ENDS_ASKING: Final = re.compile(r"[?？]\W*$")
_REASON: Final = re.compile(r"\W*(?:because|cause|cuz|weil|denn|porque|parce que)\b|\W*因为")
_NEGATION: Final = re.compile(r"\b(?:no|not|never|nor|nicht|kein\w*|pas)\b|n['’]t\b")
_TINY: Final = 1e-300  # Both may underflow beside NONE.


class Link(NamedTuple):
    """A message's place.

    Attributes:
        parent: Index of its parent in the list, lower than its own; None for a root.
        updates: Whether it is an UPDATE of its parent rather than an EXPAND.
        confidence: Probability of this parent with this relation (of no parent for a root), 0 to 1.
    """

    parent: int | None
    updates: bool
    confidence: float


def link_utterances(
    utterances: Sequence[Utterance],
    context: Context,
    *,
    models: Models | None = None,
    allowed: NDArray[np.bool_] | None = None,
    known: Mapping[int, int] | None = None,
) -> tuple[Link, ...]:
    """Give each message at most one earlier parent.

    Args:
        utterances: The n messages of one partition in time order.
        context: Of the conversation they come from.
        models: Those of the package when None.
        allowed: (n, n) whether earlier i may be the parent of later j; all may when None.
        known: Child to parent where the parent is known; the models then say the relation only.

    Returns:
        A link for each message, in order.
    """
    if not utterances:
        return ()
    relation, parent = models or load_models()
    pairs = pair_features(utterances, context)
    scores, opening = parent.scores(
        pairs | candidate_features(utterances, pairs), opening_features(pairs)
    )
    n = len(utterances)
    earlier = np.triu(np.ones((n, n), dtype=np.bool_), 1)
    scores = np.where(earlier if allowed is None else earlier & allowed, scores, -np.inf)
    chance = softmax(np.column_stack([scores.T, opening]))
    parents, chances = _most_likely(chance, known or {})
    updates, shares = _kinds(pairs, parents, relation, known or {})
    for child in np.flatnonzero(updates & (parents != NO_PARENT)).tolist():
        text, earlier = utterances[child].text, utterances[parents[child]].text
        updates[child] = _states_something(text) and not _repeats(text, earlier)
    return tuple(
        Link(None, False, p) if i == NO_PARENT else Link(i, update, p * share)
        for i, p, update, share in zip(
            parents.tolist(), chances.tolist(), updates.tolist(), shares.tolist(), strict=True
        )
    )


def relate_utterances(earlier: Utterance, later: Utterance, context: Context) -> dict[str, float]:
    """Probabilities of UPDATE, EXPAND and NONE for one pair."""
    pairs = {name: grid[0, 1] for name, grid in pair_features([earlier, later], context).items()}
    model = load_models().relation
    return dict(zip(RELATIONS, model.probabilities(pairs).tolist(), strict=True))


def _most_likely(
    chance: FloatArray, known: Mapping[int, int]
) -> tuple[NDArray[np.intp], FloatArray]:
    """(n,) parent of each message, NO_PARENT for none, and how likely it is.

    Args:
        chance: (n, n + 1) by child: probability of each candidate, then of none.
        known: Child to parent where that is certain.
    """
    n = len(chance)
    parents = np.argmax(chance, axis=1)
    chances = chance[np.arange(n), parents]
    alone = (parents == n) | (chances < MIN_CHANCE)
    parents[alone], chances[alone] = NO_PARENT, chance[alone, n]
    for child, parent in known.items():
        parents[child], chances[child] = parent, 1.0
    return parents, chances


def _states_something(text: str) -> bool:
    """Whether a message can change a state: a bare question, "hmm", "please do" or a mere reason
    cannot, "8.10" or "cancelled" can. One that ends by asking can with a number only: of labelled
    ones without, 6 are UPDATEs and 122 are not."""
    text = text.strip().lower()
    has_number = any(character.isdigit() for character in text)
    if _ONLY_ASKS.fullmatch(text) or (_ENDS_ASKING.search(text) and not has_number):
        return False
    if _REASON.match(text):
        return bool(find_cues(text))
    words = split_words(normalize(text))
    return (
        (len(words) > 1 and (_NEGATION.search(text) is not None or bool(content_stems(words))))
        or has_number
        or text.startswith("*")
        or not text.isascii()
        or bool(find_cues(text))
    )


def _repeats(later: str, earlier: str) -> bool:
    """Whether a message says what the earlier one said, word for word: that confirms, it changes nothing."""
    return split_words(later.lower()) == split_words(earlier.lower()) and bool(later.strip())


def _kinds(
    pairs: Mapping[str, FloatArray],
    parents: NDArray[np.intp],
    model: RelationModel,
    known: Collection[int],
) -> tuple[NDArray[np.bool_], FloatArray]:
    """(n,) whether UPDATE is likelier than EXPAND, and its share (or that of EXPAND) of both.

    Where the two messages are likelier unrelated it is no UPDATE: a wrong UPDATE hides what holds, a
    wrong EXPAND only stands in the wrong place. The children of `known` parents are related for sure.
    """
    children = np.arange(len(parents))
    chosen = {name: pairs[name][parents, children] for name in model.standard.names}
    kinds = model.probabilities(chosen)
    update, expand, none = (
        kinds[:, RELATIONS.index(kind)] for kind in ("UPDATE", "EXPAND", "NONE")
    )
    is_related = (update >= _MIN_ODDS * none) | np.isin(children, list(known))
    is_update = (update >= expand) & is_related
    return is_update, np.maximum(update, expand) / np.maximum(update + expand, _TINY)
