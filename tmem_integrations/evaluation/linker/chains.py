"""Chains of states: does what is true now come out as an UPDATE of what it made stale?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tmem_integrations.linking.links import Link

Counts = tuple[Counter[str], Counter[str]]
"""Hits and totals by measure."""


def count_chains(question: Mapping[str, Any], ids: Sequence[str], links: Sequence[Link]) -> Counts:
    """Hits and totals over one question's asked things that have something stale.

    Args:
        question: As `load_chains` reads it; each of its groups has key, stale and chain.
        ids: Its evidence in order.
        links: One for each.
    """
    hits: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    index = {message: i for i, message in enumerate(ids)}
    for group in question["groups"]:
        if not group["stale"]:
            continue
        key = index[group["key"]]
        stale = {index[i] for i in group["stale"] if i in index}
        chain = [index[i] for i in (group.get("chain") or []) if i in index and i != group["key"]]
        updated, above = updated_by(links, key), ancestors(links, key)
        measures = [("any stale message, by UPDATEs", len(updated & stale), len(stale))]
        if chain:
            right = links[key].parent == chain[-1]
            measures += [
                ("stale message of the chain, by UPDATEs", len(updated & set(chain)), len(chain)),
                ("stale message of the chain, any relation", len(above & set(chain)), len(chain)),
                ("whole chain, by UPDATEs", int(set(chain) <= updated), 1),
                ("last step, right parent", int(right), 1),
                ("last step, right parent and UPDATE", int(right and links[key].updates), 1),
            ]
        for name, hit, total in measures:
            hits[name] += hit
            totals[name] += total
    return hits, totals


def updated_by(links: Sequence[Link], node: int) -> set[int]:
    """Messages from which `node` is reached by UPDATE edges alone."""
    found: set[int] = set()
    while links[node].updates and (above := links[node].parent) is not None:
        found.add(above)
        node = above
    return found


def ancestors(links: Sequence[Link], node: int) -> set[int]:
    """Messages from which `node` is reached by any edges."""
    found: set[int] = set()
    while (above := links[node].parent) is not None:
        found.add(above)
        node = above
    return found
