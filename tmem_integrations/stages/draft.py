"""A draft: which parts of the texts are kept so far, and what they cost.

The working state of compression, and the only record that changes in place: each question has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from tmem_integrations.protocols import TokenCounter
from tmem_integrations.stages.forest import Forest
from tmem_integrations.stages.linearization import join_blocks, node_blocks
from tmem_integrations.stages.omission import Span
from tmem_integrations.stages.quoting import MARK, Excerpt

# A span is cut to no less than about a sentence: rather than that, a less useful message goes.
MIN_SPAN_TOKENS = 16


@dataclass(slots=True)
class Draft:
    """One attempt: which spans of which nodes are kept so far, and which of these are cut."""

    forest: Forest
    spans: Sequence[Sequence[Span]]
    counter: TokenCounter
    zone: tzinfo
    legend: bool
    budget: int
    kept: list[list[bool]] = field(init=False)
    cuts: dict[int, str] = field(init=False, default_factory=dict)
    mark: int = field(init=False)

    def __post_init__(self) -> None:
        self.kept = [[True] * len(row) for row in self.spans]
        # Within a text: the blank after it is part of the next word.
        self.mark = self.counter.count(f"a {MARK} b") - self.counter.count("a b")

    @property
    def floor(self) -> int:
        """Least tokens of a cut span with its mark; the last message goes down to a character."""
        return self.mark + (MIN_SPAN_TOKENS if len(self.forest) > 1 else 1)

    def excerpts(self) -> tuple[Excerpt, ...]:
        return tuple(map(self.excerpt, range(len(self.forest))))

    def excerpt(self, index: int) -> Excerpt:
        runs = [""]
        gap = False
        for span, keep in zip(self.spans[index], self.kept[index], strict=True):
            if keep:
                runs += [""] if gap else []
                runs[-1] += self.cuts.get(index, span.text)
            gap = not keep or index in self.cuts
        return (*runs, "") if gap else tuple(runs)

    def text(self) -> str:
        blocks = node_blocks(self.forest, self.excerpts(), zone=self.zone)
        return join_blocks(self.forest, blocks, legend=self.legend)

    def excess(self) -> int:
        """Tokens of the whole text beyond the budget."""
        return self.counter.count(self.text()) - self.budget

    def omit(self, index: int, at: int) -> int:
        """Leave a span out; returns about how many tokens that saves."""
        kept = self.kept[index]
        kept[at] = False
        around = [kept[i] for i in (at - 1, at + 1) if 0 <= i < len(kept)]
        # One mark more between kept neighbours, one less where two gaps become one.
        n_marks = 1 - around.count(False)
        return self.spans[index][at].n_tokens - n_marks * self.mark

    def remaining(self, index: int) -> Span | None:
        """The span that is kept, once omission has left one; None for an empty text."""
        pairs = zip(self.spans[index], self.kept[index], strict=True)
        return next((span for span, keep in pairs if keep), None)

    def lengths(self) -> list[int]:
        """Per node the tokens of the remaining span."""
        spans = map(self.remaining, range(len(self.forest)))
        return [span.n_tokens if span else 0 for span in spans]

    def smallest_sizes(self, claim: int = 0) -> list[int]:
        """Per node about the tokens of its header and of the least that it shows.

        Args:
            claim: Up to so many tokens of its protected spans, or of its best one, count as the least;
                in any case its best span, cut, does.
        """
        whole = self.kept
        self.kept = [_only(_best(row), len(row)) for row in self.spans]
        blocks = node_blocks(self.forest, self.excerpts(), zone=self.zone)
        lengths = self.lengths()
        self.kept = whole
        most = max(self.floor, claim)
        return [
            self.counter.count(block + "\n") - length + min(_least(row, claim), most)
            for block, length, row in zip(blocks, lengths, self.spans, strict=True)
        ]


def _only(at: int, n_spans: int) -> list[bool]:
    """Kept is the span at one position alone."""
    return [i == at for i in range(n_spans)]


def _best(spans: Sequence[Span]) -> int:
    """Position of the span that is left out last."""
    ranks = [(span.is_protected, span.gain) for span in spans]
    return max(range(len(ranks)), key=ranks.__getitem__, default=0)


def _least(spans: Sequence[Span], claim: int) -> int:
    """Tokens of the best span, and of all protected ones where they may claim some."""
    best = _best(spans)
    return sum(
        span.n_tokens for i, span in enumerate(spans) if i == best or (claim and span.is_protected)
    )
