"""Omission: what each span tells, and in which order spans may be left out (TEF Eq. 6-7).

Spans go from leaves first, then from parents whose children have nothing more to give, each time the
one with the least new information per token. Two orders stand above that. Spans with a name the
question holds, a time, a number or, on an UPDATE, a change of state go last, as in the paper. And, our
own, KEY messages go after all others within both, since they state the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tmem_integrations.protocols import TokenCounter
from tmem_integrations.stages.evidence import Label
from tmem_integrations.stages.forest import Forest, Relation
from tmem_integrations.stages.quoting import quote
from tmem_integrations.stages.spans import (
    names_a_change,
    names_a_time_or_number,
    question_entities,
    split_spans,
)
from tmem_integrations.text import split_terms

DocumentFrequencies = Mapping[str, int] | Callable[[str], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a message's text.

    Attributes:
        n_tokens: l(s), at least 1, as shown: with the mark of each line and with escapes.
        gain: g(s) = G(s|p) / l(s) (TEF Eq. 7).
        is_protected: Whether it is left out only after all that are not.
    """

    text: str
    n_tokens: int
    gain: float
    is_protected: bool


def term_weight(df: int, n_messages: int) -> float:
    r"""Weight of a term (TEF Eq. 6): $w(u) = \ln((N + 1) / (df(u) + 1)) + 1$.

    Args:
        df: How many messages hold the term; at most N counts.
        n_messages: N.

    Examples:
        >>> term_weight(3, 3)
        1.0
    """
    return math.log((n_messages + 1) / (min(df, n_messages) + 1)) + 1


def information_gain(
    span: frozenset[str],
    parent: frozenset[str],
    question: frozenset[str],
    weight: Callable[[str], float],
) -> float:
    r"""What a span tells about the question and beyond its parent (TEF Eq. 6).

    $$ G(s|p) = \sum_{u \in U(s) \cap U(q)} w(u) + \sum_{u \in U(s) \setminus U(p)} w(u) $$

    Args:
        span: Terms U(s).
        parent: Terms U(p) of the parent's whole text; empty for a root.
        question: Terms U(q).
        weight: w.
    """
    return math.fsum(map(weight, span & question)) + math.fsum(map(weight, span - parent))


def count_shown(text: str, counter: TokenCounter) -> int:
    """Tokens that a part of a text adds to its message as shown, at least 1."""
    return max(counter.count(quote((text,))) - counter.count("\n>"), 1)


def measure_spans(
    forest: Forest,
    question: str,
    document_frequencies: DocumentFrequencies,
    n_messages: int,
    counter: TokenCounter,
    language: str | None,
) -> list[list[Span]]:
    """Split the text of each node and weigh its spans against the question and the parent's text.

    Args:
        document_frequencies: df(u), or what gives them for a text (asked once).
        n_messages: N.
        language: As for `split_terms`.
    """
    texts = [split_spans(node.message.text) for node in forest]
    if not isinstance(document_frequencies, Mapping):
        pieces = [span for spans in texts for span in spans]
        document_frequencies = document_frequencies("\n".join([question, *pieces]))
    df = document_frequencies

    def weight(term: str) -> float:
        return term_weight(df.get(term, 0), n_messages)

    def terms(text: str) -> frozenset[str]:
        return frozenset(split_terms(text, language=language))

    asked = terms(question)
    messages = [node.message for node in forest]
    names = {name for m in messages for name in (m.author, m.channel) if name}
    entities = question_entities(question, sorted(names))
    whole = [terms(message.text) for message in messages]
    measured = []
    for node, spans in zip(forest, texts, strict=True):
        parent = whole[node.parent] if node.parent is not None else frozenset()
        is_update = node.relation is Relation.UPDATE
        row = []
        for text in spans:
            own = terms(text)
            n_tokens = count_shown(text.rstrip(" "), counter)
            gain = information_gain(own, parent, asked, weight) / n_tokens
            is_protected = (
                not own.isdisjoint(entities)
                or names_a_time_or_number(text)
                or (is_update and names_a_change(text))
            )
            row.append(Span(text, n_tokens, gain, is_protected))
        measured.append(row)
    return measured


def omission_order(forest: Forest, spans: Sequence[Sequence[Span]]) -> Iterator[tuple[int, int]]:
    """(node, span) in the order of omission; each node keeps one span."""
    n_left = [len(row) for row in spans]
    for is_protected in (False, True):
        for is_key in (False, True):
            rows = [
                [j for j, span in enumerate(row) if span.is_protected is is_protected]
                if (node.label is Label.KEY) is is_key
                else []
                for node, row in zip(forest, spans, strict=True)
            ]
            for index, span in _leaves_first(forest, spans, rows):
                if n_left[index] > 1:
                    n_left[index] -= 1
                    yield index, span


def _leaves_first(
    forest: Forest, spans: Sequence[Sequence[Span]], rows: Sequence[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """The spans of `rows` by ascending g, a parent's only when those of its children are through."""
    n_open = [0] * len(forest)
    for node in forest:
        if node.parent is not None:
            n_open[node.parent] += 1
    n_rest = [len(row) for row in rows]
    eligible: list[tuple[float, int, int]] = []

    def expose(index: int | None) -> None:
        while index is not None and not n_open[index]:
            for j in rows[index]:
                heappush(eligible, (spans[index][j].gain, -index, j))
            if rows[index]:
                return
            index = close(index)

    def close(index: int) -> int | None:
        parent = forest.nodes[index].parent
        if parent is not None:
            n_open[parent] -= 1
        return parent

    for leaf in [i for i, n in enumerate(n_open) if not n]:
        expose(leaf)
    while eligible:
        _, negative, j = heappop(eligible)
        yield -negative, j
        n_rest[-negative] -= 1
        if not n_rest[-negative]:
            expose(close(-negative))
