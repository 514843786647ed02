"""`TemporalMemory`: a history one can add to, edit, forget from and ask. No framework.

The retrievers of both frameworks and the command line are thin shells around it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from tmem_integrations.access import AccessLike, as_policy, scope_of
from tmem_integrations.config import ForestConfig, ModelConfig
from tmem_integrations.drivers import Seats, adrive, drive
from tmem_integrations.errors import IngestError, MessageError, QueryError
from tmem_integrations.judges.model import Prompts, model_panel
from tmem_integrations.judges.panel import RULES, Panel
from tmem_integrations.messages import FILTERS, Message, Query, Scope, read_messages, zone_of
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.models.verdicts import VerdictCache
from tmem_integrations.pipeline import Retrieval, answer_question
from tmem_integrations.protocols import (
    Embedder,
    IngestReport,
    LanguageModel,
    MessageStore,
    TokenCounter,
)
from tmem_integrations.requests import Flow

# How many messages are embedded and stored at a time: bounds memory, and what a crash can lose.
_CHUNK = 2_000


class TemporalMemory:
    """A history of messages with the temporal evidence forest on top (TEF).

    Args:
        store: Where messages live.
        embedder: Makes their vectors; None keeps none.
        llm: Judges evidence and relations; None uses rules.
        config: Settings; `PAPER` when None.
        timezone: Zone of times that carry none, and of the times shown.
        access: Who may read which channel: see `access.as_policy`.
        verdicts: Keeps what the model said, so that it is asked once; in memory when None.
        prompts: What the model is asked.
        counter: Counts tokens for the budget.

    Raises:
        MessageError: If `timezone` is no zone.
        ConfigError: If `access` cannot be read.
    """

    def __init__(
        self,
        store: MessageStore,
        *,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        config: ForestConfig | None = None,
        timezone: str | tzinfo | None = None,
        access: AccessLike = None,
        verdicts: VerdictCache | None = None,
        prompts: Prompts | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.llm = llm
        self.config = config or ForestConfig()
        self.timezone = zone_of(timezone)
        self.policy = as_policy(access)
        self.verdicts = verdicts or VerdictCache()
        self.prompts = prompts or Prompts()
        self.counter = counter or default_counter()

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        store: MessageStore | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        config: ForestConfig | None = None,
        timezone: str | tzinfo | None = None,
        access: AccessLike = None,
    ) -> TemporalMemory:
        """Build a memory from messages; in memory unless a store is given.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            IngestError: If the store failed part-way.
        """
        zone = zone_of(timezone)
        history = read_messages(messages, timezone=zone)
        if store is None:
            from tmem_integrations.stores.chroma import ChromaStore

            store = ChromaStore.in_memory(model=embedder.name if embedder else None)
        memory = cls(store, embedder=embedder, llm=llm, config=config, timezone=zone, access=access)
        memory.add(history)
        return memory

    def __len__(self) -> int:
        return len(self.store)

    def add(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """Add messages; one whose id is there already replaces it, an equal one changes nothing.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            IngestError: If the store failed part-way; running the same call again adds the rest.
        """
        # Of a repeated id the last one holds, at the place of the first.
        history = {m.id: m for m in read_messages(messages, timezone=self.timezone)}
        total = IngestReport()
        stored: list[str] = []
        for chunk in _chunks(list(history.values())):
            try:
                total += self._add_chunk(chunk)
            except IngestError as error:
                raise IngestError(str(error), stored=(*stored, *error.stored)) from error
            stored.extend(m.id for m in chunk)
        return total

    def update(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """Replace messages that are there.

        Raises:
            MessageError: If one is not there, naming it; nothing is changed then.
        """
        history = read_messages(messages, timezone=self.timezone)
        known = self.store.get(m.id for m in history)
        missing = [m.id for m in history if m.id not in known]
        if missing:
            raise MessageError(
                f"update needs messages that are stored; unknown: {missing[:5]}. Use add for new ones."
            )
        return self.add(history)

    def delete(self, ids: Collection[str]) -> int:
        """Remove messages from every index; returns how many were there."""
        if isinstance(ids, str):
            raise MessageError(f"delete needs several ids, got the text {ids!r}; pass [{ids!r}].")
        ids = list(ids)
        n_deleted = self.store.delete(ids)
        self.verdicts.forget(ids)
        return n_deleted

    def query(self, question: str, **filters: Any) -> Query:
        """Read a question with its filters; times without zone are in the memory's zone.

        Raises:
            QueryError: If a filter is unknown or a value is not of its kind.
        """
        for name in filters.keys() - FILTERS:
            near = difflib.get_close_matches(name, FILTERS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {sorted(FILTERS)}."
            raise QueryError(f"Unknown filter {name!r}{hint}")
        return Query.create(question, timezone=self.timezone, **filters)

    def retrieve(
        self,
        question: str | Query,
        *,
        config: ForestConfig | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        llm: LanguageModel | None = None,
        **filters: Any,
    ) -> Retrieval:
        """Answer one question with a forest of evidence.

        Args:
            question: Text, or a `Query` that has its filters.
            config: Settings for this question; those of the memory when None.
            max_messages: At most this many messages.
            max_tokens: Budget of the whole text.
            llm: Model for this question; that of the memory when None.
            **filters: See `Query`.

        Raises:
            QueryError: If a filter makes no sense.
            AccessError: If access control is on and nobody asks.
        """
        scope, flow = self._flow(question, config, max_messages, max_tokens, llm, filters)
        return drive(flow, self._seats(scope, llm))

    async def aretrieve(
        self,
        question: str | Query,
        *,
        config: ForestConfig | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        llm: LanguageModel | None = None,
        **filters: Any,
    ) -> Retrieval:
        """`retrieve` without blocking the event loop."""
        scope, flow = self._flow(question, config, max_messages, max_tokens, llm, filters)
        return await adrive(flow, self._seats(scope, llm))

    def close(self) -> None:
        """Release the store. Closing twice is fine."""
        self.store.close()

    def scope(self, query: Query) -> Scope:
        """What `query` may read, by its filters and the access policy."""
        return scope_of(query, self.policy, self.store.channels())

    def _flow(
        self,
        question: str | Query,
        config: ForestConfig | None,
        max_messages: int | None,
        max_tokens: int | None,
        llm: LanguageModel | None,
        filters: Mapping[str, Any],
    ) -> tuple[Scope, Flow[Retrieval]]:
        if isinstance(question, Query) and filters:
            raise QueryError(f"A Query has its filters already; got also {sorted(filters)}.")
        query = question if isinstance(question, Query) else self.query(question, **filters)
        settings = (config or self.config).limited(max_messages=max_messages, max_tokens=max_tokens)
        scope = self.scope(query)
        unknown = unknown_channels(scope, self.store.channels())
        flow = answer_question(
            query,
            settings,
            panel=self._panel(llm or self.llm, settings.models),
            unknown_channels=unknown,
            counter=self.counter,
            zone=self.timezone,
        )
        return scope, flow

    def _seats(self, scope: Scope, llm: LanguageModel | None) -> Seats:
        return Seats(
            view=self.store.view(scope),
            scope=scope,
            store=self.store,
            embedder=self.embedder,
            llm=llm or self.llm,
            verdicts=self.verdicts,
        )

    def _panel(self, llm: LanguageModel | None, config: ModelConfig) -> Panel:
        if llm is None:
            return RULES
        return model_panel(llm.name, config, self.prompts, self.counter)

    def _add_chunk(self, chunk: Sequence[Message]) -> IngestReport:
        """Store what is new or changed: an unchanged message costs no embedding."""
        known = self.store.get(m.id for m in chunk)
        fresh = [m for m in chunk if known.get(m.id) != m]
        vectors = self.embedder.embed([m.text for m in fresh]) if self.embedder and fresh else None
        report = IngestReport(unchanged=len(chunk) - len(fresh))
        if fresh:
            report += self.store.upsert(fresh, vectors)
            self.verdicts.forget([m.id for m in fresh if m.id in known])
        return report


def unknown_channels(scope: Scope, channels: frozenset[str]) -> tuple[str, ...]:
    """Channels the query names that do not exist or may not be read: to the asker it is the same."""
    known = channels if scope.readable is None else scope.readable
    return tuple(sorted((scope.query.channels or frozenset()) - known))


def _chunks(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    for start in range(0, len(messages), _CHUNK):
        yield messages[start : start + _CHUNK]
