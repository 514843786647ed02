"""Features of a pair: what links a later message to an earlier one, as numbers.

All pairs of a list are compared at once with matrix products over small vocabularies, so a hundred
messages cost milliseconds. Every feature is bounded (the distance by its logarithm), and is a
statement about form (a value changed while its words stayed, an addressee, a cue), never about a
particular word of a particular channel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from tmem_integrations.linking.context import Context
from tmem_integrations.linking.cues import CUES
from tmem_integrations.linking.reading import Reading, read_utterance
from tmem_integrations.linking.utterance import Utterance
from tmem_integrations.linking.values import KINDS

FloatArray = NDArray[np.float64]
Grid = dict[str, FloatArray]

_TINY: Final = 1e-12  # Keeps an empty message from dividing by zero.
_SIBLING_PREFIX: Final = 4


def pair_features(utterances: Sequence[Utterance], context: Context) -> Grid:
    """Every feature of every pair.

    Args:
        utterances: The n messages in time order.
        context: Of the conversation they come from.

    Returns:
        Feature name to (n, n) array; entry [i, j] compares earlier i with later j. Only i < j has a
        meaning.
    """
    readings = [read_utterance(utterance, context) for utterance in utterances]
    grid = (
        _distances(utterances)
        | _people(utterances, readings)
        | _words(readings, context)
        | _forms(readings)
        | _values(readings)
    )
    return grid | _combined(grid)


def _combined(grid: Grid) -> Grid:
    """Statements that need two features at once."""
    other = 1 - grid["same_author"]
    repeated, added = grid["value_repeated"], grid["value_added"]
    return {
        "slot_changed": grid["slot_cosine"] * grid["value_swapped"],
        "slot_kept": repeated * (1 - added),
        "slot_moved": repeated * added,
        "question_answered": grid["earlier_asks"] * (1 - grid["later_asks"]) * other,
        "retract_of_value": grid["later_retract"] * np.maximum(repeated, grid["earlier_covered"]),
        "keeps_terms": grid["later_persist"] * grid["term_cosine"],
        "own_done": grid["same_author"] * grid["later_done"],
        "own_correct": grid["same_author"] * grid["later_correct"],
        "own_opened": grid["same_author"] * grid["later_opens"],
        "reply_near": other * grid["near"],
    }


def _distances(utterances: Sequence[Utterance]) -> Grid:
    """Distance in messages. Time adds nothing to it, and tempo differs by source."""
    position = np.array([u.position for u in utterances], dtype=np.float64)
    gap = np.maximum(position[None, :] - position[:, None], 0)
    return {"near": 1 / np.maximum(gap, 1), "log_gap": np.log1p(gap)}


def _people(utterances: Sequence[Utterance], readings: Sequence[Reading]) -> Grid:
    """Who speaks to whom."""
    speakers = [frozenset([u.speaker]) if u.speaker else frozenset() for u in utterances]
    addressed = [r.addressed for r in readings]
    both = _incidence([*speakers, *addressed]).toarray()
    by, to = both[: len(speakers)], both[len(speakers) :]
    same, audience = by @ by.T, np.minimum(to @ to.T, 1)
    speaks_to = np.minimum(to @ by.T, 1)
    turns = np.array([float(bool(r.addressed)) for r in readings])
    return {
        "same_author": same,
        "answers_author": speaks_to.T,
        "addressed_by": speaks_to,
        "turns_elsewhere": turns[None, :] * (1 - speaks_to.T) * (1 - audience),
        "addressed_elsewhere": turns[:, None] * (1 - speaks_to) * (1 - audience),
        "same_audience": audience,
    }


def _words(readings: Sequence[Reading], context: Context) -> Grid:
    """What is talked about: shared rare terms, the slots that values fill, names."""
    shared, mass = _overlap(_incidence([r.terms for r in readings], context.idf))
    names, named = _overlap(_incidence([r.names for r in readings], context.idf))
    both_named = np.outer(named > 0, named > 0)
    only_earlier = 1 - names / np.maximum(named[:, None], _TINY)
    only_later = 1 - names / np.maximum(named[None, :], _TINY)
    slots = _overlap(_incidence([r.near_values for r in readings], context.idf))
    return {
        "term_cosine": _cosine(shared, mass),
        "later_covered": shared / np.maximum(mass[None, :], _TINY),
        "earlier_covered": shared / np.maximum(mass[:, None], _TINY),
        "slot_cosine": _cosine(*slots),
        "trigram_cosine": _cosine(*_overlap(_incidence([r.trigrams for r in readings]))),
        "names_shared": both_named * names / np.maximum(np.minimum.outer(named, named), _TINY),
        "names_clash": both_named * only_earlier * only_later,
        "siblings": _siblings([r.names for r in readings]),
    }


def _siblings(names: Sequence[frozenset[str]]) -> FloatArray:
    """Pairs where one names a thing whose name begins like the other's: Maple and Maplemark."""
    families: dict[str, list[str]] = defaultdict(list)
    for name in sorted(frozenset().union(*names)):
        if len(name) >= _SIBLING_PREFIX:
            families[name[:_SIBLING_PREFIX]].append(name)
    grid = np.zeros((len(names), len(names)))
    for family in families.values():
        holds = {name: np.array([name in members for members in names]) for name in family}
        for a, b in permutations(family, 2):
            apart = np.outer(holds[a], holds[b]) & ~np.outer(
                holds[a] & holds[b], holds[a] & holds[b]
            )
            grid[apart & ~np.outer(holds[b], holds[a])] = 1.0
    return grid


def _values(readings: Sequence[Reading]) -> Grid:
    """Values repeated, swapped (none of a kind repeated), added to a common kind, or unlike."""
    n = len(readings)
    repeated, swapped, added, common = (np.zeros((n, n), dtype=np.bool_) for _ in range(4))
    for kind in KINDS:
        own = [frozenset(v for v in r.values if v[0] == kind) for r in readings]
        if not any(own):
            continue
        shared, count = _overlap(_incidence(own))
        both = np.outer(count > 0, count > 0)
        repeated |= shared > 0
        swapped |= both & (shared == 0)
        added |= both & (shared < count[None, :])
        common |= both
    has_any = np.array([bool(r.values) for r in readings])
    found = {
        "value_repeated": repeated,
        "value_swapped": swapped,
        "value_added": added,
        "values_unlike": np.outer(has_any, has_any) & ~common,
    }
    return {name: mask.astype(np.float64) for name, mask in found.items()}


def _forms(readings: Sequence[Reading]) -> Grid:
    """What each message does, alone and after what the other one did."""
    shape = (len(readings), len(readings))
    has = {cue: np.array([float(cue in r.cues) for r in readings]) for cue in CUES}
    asks = np.array([float(r.asks) for r in readings])
    later = has | {
        "asks": asks,
        "opens": np.array([float(r.opens) for r in readings]),
        "brief": np.array([1 / (1 + r.n_words / 10) for r in readings]),
    }
    earlier = {cue: has[cue] for cue in ("retract", "tentative")} | {"asks": asks}
    return (
        {f"later_{name}": np.broadcast_to(row[None, :], shape) for name, row in later.items()}
        | {f"earlier_{name}": np.broadcast_to(row[:, None], shape) for name, row in earlier.items()}
        | {
            "tentative_then_done": np.outer(has["tentative"], has["done"]),
            "trouble_then_done": np.outer(np.maximum(has["trouble"], asks), has["done"]),
            "retract_twice": np.outer(has["retract"], has["retract"]),
            "change_twice": np.outer(has["change"], has["change"]),
        }
    )


def _incidence(
    sets: Sequence[frozenset[Hashable]], weight: Callable[[str], float] | None = None
) -> csr_matrix:
    """Weighted incidence, shape (messages, distinct members).

    Each member enters as the root of its weight, so that products sum whole weights.
    """
    index: dict[Hashable, int] = {}
    # In a fixed order: sums in the order of a set would differ from process to process.
    columns = [
        index.setdefault(member, len(index))
        for members in sets
        for member in sorted(members, key=str)
    ]
    at = np.array(columns, dtype=np.intp)
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    roots = np.ones(max(len(index), 1))
    if weight is not None and index:
        roots = np.sqrt([weight(str(member)) for member in index])
    # Sparse: a dense product goes to several threads, which costs more than the product itself.
    matrix = csr_matrix((roots[at], (rows, at)), shape=(len(sets), len(roots)))
    matrix.sort_indices()
    return matrix


def _overlap(matrix: csr_matrix) -> tuple[FloatArray, FloatArray]:
    """Shared weight of each pair, and each message's own weight."""
    shared = np.asarray((matrix @ matrix.T).toarray())
    return shared, np.diagonal(shared).copy()


def _cosine(shared: FloatArray, mass: FloatArray) -> FloatArray:
    return np.asarray(shared / np.sqrt(np.maximum(np.outer(mass, mass), _TINY)))
