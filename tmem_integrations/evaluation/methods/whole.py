"""`full`: everything the question may read, however much; the upper bound of recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tmem_integrations.evaluation.methods.base import Searcher, Selection
from tmem_integrations.evaluation.methods.ranking import Messages, visible_to
from tmem_integrations.messages import Message, Query


@dataclass(frozen=True, slots=True)
class FullMethod:
    """The whole visible history, latest first. The bound on messages does not hold for it."""

    name: str = "full"

    def index(self, messages: Sequence[Message]) -> Searcher:
        """Keep the messages."""
        return _FullSearcher(tuple(messages))


@dataclass(frozen=True, slots=True)
class _FullSearcher:
    messages: Messages

    def select(self, query: Query, max_messages: int, max_tokens: int) -> Selection:
        visible = sorted(visible_to(query, self.messages), key=lambda m: m.sent_at)
        return Selection(tuple(m.id for m in reversed(visible)))
