"""Features that only a list gives: which candidate is the latest, the closest, the partner.

A pair alone cannot say that a better parent lies between its two messages. These features can, and
they serve the choice of the parent only; the relation of a chosen pair is judged from the pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tmem_integrations.linking.features import FloatArray, Grid
from tmem_integrations.linking.utterance import Utterance


def candidate_features(utterances: Sequence[Utterance], pairs: Mapping[str, FloatArray]) -> Grid:
    """Features of each candidate among the others, each of shape (n, n).

    Args:
        utterances: The n messages in time order.
        pairs: What `pair_features` found on the same list.
    """
    at = np.arange(len(utterances))
    rank = np.maximum(at[None, :] - at[:, None], 1).astype(np.float64)
    answers, addressed, same = pairs["answers_author"], pairs["addressed_by"], pairs["same_author"]
    silent = 1 - np.triu(answers, 1).max(axis=0, keepdims=True)
    partner = _partners(utterances, addressed) * (1 - same) * silent
    brief = pairs["later_brief"]
    return {
        "rank": np.log(rank),
        "rank_if_brief": np.log(rank) * brief,
        "covered_if_brief": pairs["later_covered"] * brief,
        "next": 1 / rank,
        "last_own": _latest(same),
        "last_to_me": _latest(addressed),
        "last_addressed": _latest(answers),
        "last_of_partner": _latest(partner),
        "partner": partner,
        "best_cosine": _relative(pairs["term_cosine"]),
        "best_trigrams": _relative(pairs["trigram_cosine"]),
        "best_covered": _relative(pairs["later_covered"]),
    }


def opening_features(pairs: Mapping[str, FloatArray]) -> Grid:
    """Features of each message as the first of a new tree, each of shape (n,)."""
    return {
        "asks": pairs["later_asks"][0],
        "opens": pairs["later_opens"][0],
        "apart": pairs["later_apart"][0],
        "addresses": np.triu(pairs["answers_author"], 1).max(axis=0),
        "spoke_before": np.triu(pairs["same_author"], 1).max(axis=0),
        "best_covered": np.triu(pairs["later_covered"], 1).max(axis=0),
        "best_trigrams": np.triu(pairs["trigram_cosine"], 1).max(axis=0),
        "tentative": pairs["later_tentative"][0],
    }


def _latest(mask: FloatArray) -> FloatArray:
    """Keep of each column only its last true row above the diagonal."""
    above = np.triu(mask > 0, 1)
    n = len(above)
    row = n - 1 - np.argmax(above[::-1], axis=0)
    kept = np.zeros((n, n))
    kept[row, np.arange(n)] = above.any(axis=0)
    return kept


def _relative(values: FloatArray) -> FloatArray:
    """Each column divided by the best of its candidates."""
    above = np.triu(values, 1)
    return np.asarray(above / np.maximum(above.max(axis=0, keepdims=True), 1e-9))


def _partners(utterances: Sequence[Utterance], speaks_to: FloatArray) -> FloatArray:
    """Whether candidate i is by the person with whom j's author last exchanged words; (n, n).

    People drop the addressee once a dialogue is running: then the partner of the last addressed
    message goes on.
    """
    speakers = np.array([u.speaker or "" for u in utterances])
    partner: dict[str, str] = {}
    grid = np.zeros(speaks_to.shape)
    for j, speaker in enumerate(speakers):
        with_whom = partner.get(speaker)
        if with_whom is not None:
            grid[:, j] = speakers == with_whom
        for i in np.flatnonzero(speaks_to[j]) if speaker else ():
            partner[speaker] = speakers[i]
            partner[speakers[i]] = speaker
    return grid
