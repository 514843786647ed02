"""Compression: leaving out what says least, until the whole text fits the budget (TEF §4.4).

Nothing is left out while the text fits. Then spans are omitted; every message keeps its header and one
span. Where that is still too much the remaining spans are cut, those of KEY messages last. Where even
that is too much, the policy decides: give up the least useful messages, or raise.

The policy that gives up messages does so earlier than the paper's: rather than leave out what one says
of names, times and numbers (its protected spans), it gives up the least useful one. Thirty stumps of
messages name a value less often than fifteen whole ones do.

Token counts of parts do not add up exactly. So parts only tell how far to go; whether the text fits is
always counted on the whole of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from tmem_integrations.config import CompressionConfig
from tmem_integrations.errors import BudgetError
from tmem_integrations.protocols import TokenCounter
from tmem_integrations.stages.draft import Draft
from tmem_integrations.stages.evidence import Label
from tmem_integrations.stages.forest import Forest, Relation
from tmem_integrations.stages.linearization import LEGEND, linearize, node_blocks
from tmem_integrations.stages.omission import (
    DocumentFrequencies,
    count_shown,
    measure_spans,
    omission_order,
)
from tmem_integrations.stages.pruning import least_useful_first, without
from tmem_integrations.stages.quoting import Excerpt
from tmem_integrations.stages.spans import grapheme_ends

# The legend may take this part of the budget, else evidence gets its place.
_LEGEND_SHARE = 1 / 20
# So much of the budget one message may claim before others are given up for it.
_CLAIM_SHARE = 1 / 8


@dataclass(frozen=True, slots=True)
class CompressedForest:
    """A forest that fits the budget, with what was left out of it.

    Attributes:
        forest: The messages that are shown; indices are those of `excerpts` and `omitted`.
        excerpts: Per node the runs of kept text; between two neighbours something was left out.
        omitted: Per node how many spans were left out.
        cut: Ids of messages whose one remaining span was cut.
        dropped: Ids of messages that are not shown at all, least useful first.
        text: The linearized text.
        n_tokens: Tokens of `text`, never more than the budget.
        explanation: Why messages were dropped; None when none was.
    """

    forest: Forest
    excerpts: tuple[Excerpt, ...]
    omitted: tuple[int, ...]
    cut: tuple[str, ...]
    dropped: tuple[str, ...]
    text: str
    n_tokens: int
    explanation: str | None = None

    @property
    def degraded(self) -> tuple[str, ...]:
        """What is less than the whole forest, a sentence each."""
        said = []
        if any(self.omitted):
            n_nodes = sum(map(bool, self.omitted))
            said.append(
                f"Spans left out to fit the budget: {sum(self.omitted)} (messages: {n_nodes})."
            )
        if self.cut:
            said.append(f"Cut within a sentence: {', '.join(self.cut)}.")
        if self.explanation:
            said.append(self.explanation)
        return tuple(said)


def show_whole(
    forest: Forest,
    *,
    counter: TokenCounter,
    config: CompressionConfig,
    zone: tzinfo = UTC,
    legend: bool = True,
) -> CompressedForest | None:
    """The forest with nothing left out; None when that does not fit `config.max_tokens`.

    Args:
        zone: Zone of the times shown.
        legend: As for `compress_forest`.
    """
    legend = legend and _has_room_for_legend(config.max_tokens, counter)
    text = linearize(forest, zone=zone, legend=legend)
    n_tokens = counter.count(text)
    if n_tokens > config.max_tokens:
        return None
    texts = tuple((node.message.text,) for node in forest)
    return CompressedForest(forest, texts, (0,) * len(forest), (), (), text, n_tokens)


def compress_forest(
    forest: Forest,
    question: str,
    *,
    document_frequencies: DocumentFrequencies,
    n_messages: int,
    counter: TokenCounter,
    config: CompressionConfig | None = None,
    zone: tzinfo = UTC,
    legend: bool = True,
    language: str | None = None,
) -> CompressedForest:
    """Make the linearized forest fit `config.max_tokens`, headers and legend included (TEF Eq. 6-7).

    Args:
        document_frequencies: df(u) of the terms of the texts, or what gives them for a text (asked
            once); a term it does not know counts as held by no message.
        n_messages: N: how many messages the question may read.
        zone: Zone of the times shown.
        legend: Begin with a line on how to read the text, where the budget is large enough for it.
        language: As for `split_terms`; that of the document frequencies.

    Raises:
        BudgetError: If headers and one span per message do not fit and the policy is "raise".
    """
    config = config or CompressionConfig()
    budget = config.max_tokens
    whole = show_whole(forest, counter=counter, config=config, zone=zone, legend=legend)
    if whole is not None:
        return whole
    legend = legend and _has_room_for_legend(budget, counter)
    spans = measure_spans(forest, question, document_frequencies, n_messages, counter, language)
    draft = Draft(forest, spans, counter, zone, legend, budget)
    claim = int(budget * _CLAIM_SHARE) if config.on_infeasible == "prune" else 0
    order = _drop_order(forest, counter, zone, budget)
    kept = tuple(range(len(forest)))
    dropped: list[int] = []
    while len(draft.forest) and (excess := _fit(draft, claim)) > 0:
        if config.on_infeasible == "raise":
            raise BudgetError(
                f"A header and one sentence of each message need about {budget + excess} tokens "
                f"(messages: {len(forest)}), but max_tokens is {budget}: raise it, keep fewer "
                'messages, or use on_infeasible="prune".'
            )
        sizes = dict(zip(kept, draft.smallest_sizes(claim), strict=True))
        dropped += _choose_drops(order, sizes, excess)
        rest, kept = without(forest, set(dropped))
        draft = Draft(rest, [spans[i] for i in kept], counter, zone, legend, budget)
    return _result(draft, [forest.nodes[i].message.id for i in dropped])


def _fit(draft: Draft, claim: int) -> int:
    """Omit and cut spans until the text fits.

    Args:
        claim: Tokens that each message may claim; the last one is cut as far as need be.

    Returns:
        About how many tokens are still too many; 0 when it fits.
    """
    sizes = draft.smallest_sizes(claim if len(draft.forest) > 1 else 0)
    size = sum(sizes) + draft.counter.count(LEGEND) * draft.legend
    if size > draft.budget:
        return size - draft.budget
    order = omission_order(draft.forest, draft.spans)
    while (excess := draft.excess()) > 0:
        saved = 0
        for index, at in order:
            saved += draft.omit(index, at)
            if saved >= excess:
                break
        else:
            return _cut_spans(draft)
    return 0


def _has_room_for_legend(budget: int, counter: TokenCounter) -> bool:
    return counter.count(LEGEND) <= budget * _LEGEND_SHARE


def _cut_spans(draft: Draft) -> int:
    """Shorten the longest remaining spans to a common length, those of KEY messages last.

    Returns:
        Tokens still too many, 0 when it fits.
    """
    lengths = draft.lengths()
    is_key = [node.label is Label.KEY for node in draft.forest]
    to_save = 0
    while (excess := draft.excess()) > 0:
        to_save += excess
        draft.cuts.clear()
        rest = to_save
        for group in (False, True):
            nodes = [i for i, key in enumerate(is_key) if key is group]
            cap = _common_length([lengths[i] for i in nodes], rest, draft.floor)
            for i in nodes:
                if lengths[i] > cap:
                    rest -= lengths[i] - cap
                    _cut(draft, i, cap - draft.mark)
        if rest > 0:
            return max(draft.excess(), 0)
    return 0


def _common_length(lengths: Sequence[int], excess: int, floor: int) -> int:
    """The largest cap that takes `excess` off, or `floor` when none does."""
    low, high = floor, max([floor, *lengths])
    while low < high:
        cap = (low + high + 1) // 2
        if sum(max(n - cap, 0) for n in lengths) >= excess:
            low = cap
        else:
            high = cap - 1
    return low


def _cut(draft: Draft, index: int, max_tokens: int) -> None:
    """Keep the longest beginning of at most `max_tokens`, and at least one character a reader sees."""
    span = draft.remaining(index)
    if span is None:
        return
    ends = grapheme_ends(span.text)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if count_shown(span.text[: ends[middle]], draft.counter) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    if low < len(ends) - 1:
        draft.cuts[index] = span.text[: ends[low]]


def _drop_order(forest: Forest, counter: TokenCounter, zone: tzinfo, budget: int) -> Iterator[int]:
    """Messages whose header alone is too long, then the least useful first."""

    def is_hopeless(index: int) -> bool:
        alone = replace(forest.nodes[index], parent=None, relation=Relation.ROOT, depth=0)
        return counter.count(node_blocks(Forest((alone,)), [("",)], zone=zone)[0]) > budget

    order = least_useful_first(forest)
    hopeless = [index for index in order if is_hopeless(index)]
    yield from hopeless
    yield from (index for index in order if index not in hopeless)


def _choose_drops(order: Iterator[int], sizes: Mapping[int, int], excess: int) -> list[int]:
    """The next messages to drop, for most of the excess but not all: as updates go, so do the words
    in other headers that point to them. One is always left to be tried, cut as far as need be.
    """
    drops = [next(order)]
    saved = sizes[drops[0]]
    while saved < excess * 0.75 and len(drops) + 1 < len(sizes):
        drops.append(next(order))
        saved += sizes[drops[-1]]
    return drops


def _result(draft: Draft, dropped: Sequence[str]) -> CompressedForest:
    text = draft.text()
    explanation = None
    if dropped:
        n_all = len(draft.forest) + len(dropped)
        explanation = (
            f"Messages dropped to fit {draft.budget} tokens: {len(dropped)} of {n_all}."
            if len(draft.forest)
            else f"No message fits {draft.budget} tokens; dropped: {n_all} of {n_all}."
        )
    return CompressedForest(
        forest=draft.forest,
        excerpts=draft.excerpts(),
        omitted=tuple(row.count(False) for row in draft.kept),
        cut=tuple(draft.forest.nodes[i].message.id for i in sorted(draft.cuts)),
        dropped=tuple(dropped),
        text=text,
        n_tokens=draft.counter.count(text),
        explanation=explanation,
    )
