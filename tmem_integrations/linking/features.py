"""Features of a pair: what links a later message to an earlier one, as numbers.

All pairs of a list are compared at once with matrix products over small vocabularies, so a hundred
messages cost milliseconds. Every feature is bounded (the distance by its logarithm), and is a
statement about form (a value changed while its words stayed, an addressee, a cue), never about a
particular word of a particular channel.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from tmem_integrations.linking.context import Context
from tmem_integrations.linking.cues import CUES
from tmem_integrations.linking.reading import Reading, read_utterance
from tmem_integrations.linking.utterance import Utterance

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
    names = [r.names for r in readings]
    kinds = sorted({kind for r in readings for kind, _ in r.values})
    audience, trigrams, terms, named, slots, *values = _overlaps(
        [
            ([r.addressed for r in readings], None),
            ([r.trigrams for r in readings], None),
            ([r.terms for r in readings], context.idf),
            (names, context.idf),
            ([r.near_values for r in readings], context.idf),
            *(([{v for v in r.values if v[0] == kind} for r in readings], None) for kind in kinds),
        ]
    )
    grid = (
        _distances(utterances)
        | _people(utterances, readings, audience)
        | _words(terms, slots, trigrams)
        | _names(named, names)
        | _forms(readings)
        | _values(readings, values)
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


def _people(
    utterances: Sequence[Utterance], readings: Sequence[Reading], audience: FloatArray
) -> Grid:
    """Who speaks to whom."""
    speakers: dict[str | None, int] = {None: 0}
    by = np.array([speakers.setdefault(u.speaker or None, len(speakers)) for u in utterances])
    speaks_to = np.zeros(audience.shape)
    for i, reading in enumerate(readings):
        for person in reading.addressed & speakers.keys():
            speaks_to[i, by == speakers[person]] = 1
    turns = np.array([float(bool(r.addressed)) for r in readings])
    same_audience = np.minimum(audience, 1)
    return {
        "same_author": (np.equal.outer(by, by) & (by > 0)).astype(np.float64),
        "answers_author": speaks_to.T,
        "addressed_by": speaks_to,
        "turns_elsewhere": turns[None, :] * (1 - speaks_to.T) * (1 - same_audience),
        "addressed_elsewhere": turns[:, None] * (1 - speaks_to) * (1 - same_audience),
        "same_audience": same_audience,
    }


def _words(terms: FloatArray, slots: FloatArray, trigrams: FloatArray) -> Grid:
    """What is talked about: shared rare terms, the slots that values fill, near-copies."""
    mass = np.maximum(np.diagonal(terms), _TINY)
    return {
        "term_cosine": _cosine(terms),
        "later_covered": terms / mass[None, :],
        "earlier_covered": terms / mass[:, None],
        "slot_cosine": _cosine(slots),
        "trigram_cosine": _cosine(trigrams),
    }


def _names(shared: FloatArray, names: Sequence[frozenset[str]]) -> Grid:
    """Whether both name the same things, other things, or things with names that begin alike."""
    named = np.diagonal(shared)
    both_named = np.outer(named > 0, named > 0)
    only_earlier = 1 - shared / np.maximum(named[:, None], _TINY)
    only_later = 1 - shared / np.maximum(named[None, :], _TINY)
    least = np.maximum(np.minimum.outer(named, named), _TINY)
    return {
        "names_shared": both_named * shared / least,
        "names_clash": both_named * only_earlier * only_later,
        "siblings": _siblings(names),
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


def _values(readings: Sequence[Reading], by_kind: Sequence[FloatArray]) -> Grid:
    """Values repeated, swapped (none of a kind repeated), added to a common kind, or unlike.

    Args:
        by_kind: For each kind that occurs, (n, n) how many values two messages share.
    """
    n = len(readings)
    repeated, swapped, added, common = (np.zeros((n, n), dtype=np.bool_) for _ in range(4))
    for shared in by_kind:
        count = np.diagonal(shared)
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


def _overlaps(
    blocks: Sequence[tuple[Sequence[AbstractSet[Any]], Callable[[str], float] | None]],
) -> FloatArray:
    """Shared weight of each pair of messages, for several kinds of members at once.

    Args:
        blocks: k times the members of each message, which are texts where they have a weight; without
            one each weighs 1.

    Returns:
        (k, n, n); the diagonal holds each message's own weight.
    """
    n = len(blocks[0][0]) if blocks else 0
    columns: list[int] = []
    roots: list[float] = []
    for sets, weight in blocks:
        index: dict[Any, int] = {}
        start = len(roots)
        for members in sets:
            # In a fixed order: sums in the order of a set would differ from process to process.
            for member in sorted(members) if weight else members:
                columns.append(start + index.setdefault(member, len(index)))
        # Each member enters as the root of its weight, so that products sum whole weights.
        roots += [math.sqrt(weight(member)) for member in index] if weight else [1.0] * len(index)
    ends = np.cumsum([0, *(len(members) for sets, _ in blocks for members in sets)])
    at = np.array(columns, dtype=np.int32)
    # Sparse: a dense product goes to several threads, which costs more than the product itself.
    matrix = csr_matrix((np.array(roots)[at], at, ends), shape=(len(ends) - 1, max(len(roots), 1)))
    matrix.sort_indices()
    product = matrix @ matrix.T
    shared = np.zeros((len(ends) - 1, n))
    rows = np.repeat(np.arange(len(shared)), np.diff(product.indptr))
    # Members of two blocks are never the same, so a row meets rows of its own block only.
    shared[rows, product.indices % max(n, 1)] = product.data
    return shared.reshape(len(blocks), n, n)


def _cosine(shared: FloatArray) -> FloatArray:
    mass = np.diagonal(shared)
    return np.asarray(shared / np.sqrt(np.maximum(np.outer(mass, mass), _TINY)))
