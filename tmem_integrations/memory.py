"""`TemporalMemory`: a history one can add to, edit, forget from and ask. No framework.

The retrievers of both frameworks and the command line are thin shells around it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from tmem_integrations.access import AccessLike, Redact, as_policy
from tmem_integrations.config import ForestConfig, ModelConfig
from tmem_integrations.drivers import Seats, adrive, drive
from tmem_integrations.errors import MessageError, QueryError, StoreError
from tmem_integrations.forgetting import Forgotten, Selector
from tmem_integrations.judges.model import Prompts, ceilings_of, model_panel
from tmem_integrations.judges.panel import RULES, Panel
from tmem_integrations.judges.reranking import RerankedGate
from tmem_integrations.messages import FILTERS, Message, Query, Scope, read_messages
from tmem_integrations.models.budget import Estimate, EstimatingBudget
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.models.verdicts import VerdictCache, verdict_cache_of
from tmem_integrations.pipeline import answer_question
from tmem_integrations.protocols import (
    Associative,
    Embedder,
    IngestReport,
    LanguageModel,
    MessageStore,
    Reranker,
    TokenCounter,
)
from tmem_integrations.reading import read_for, scope_for
from tmem_integrations.requests import Flow
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stores.forgotten import forgotten_ids_of
from tmem_integrations.storing import remake_vectors, store_changes, store_in_chunks
from tmem_integrations.suggestions import suggest
from tmem_integrations.times import zone_of
from tmem_integrations.trace import OnStage

# User and password in the address of a server.
_SECRETS = re.compile(r"//[^/@]*@")


class TemporalMemory:
    """A history of messages with the temporal evidence forest on top (TEF).

    Args:
        store: Where messages live.
        embedder: Makes their vectors; None keeps none.
        llm: Judges evidence and relations; None uses rules.
        config: Settings; `PAPER` when None.
        timezone: Zone of times that carry none, and of the times shown.
        access: Who may read which channel: see `access.as_policy`.
        redact: What of a message an asker gets, where channels cannot tell: see `access.Redact`.
        verdicts: Keeps what the model said, so that it is asked once; when None, `verdicts.sqlite` in
            the folder of the store where there is one that can be written, else in memory.
        prompts: What the model is asked.
        reranker: Bounds the evidence to the best of what the gate keeps.
        counter: Counts tokens for the budget.
        associative: Finds what shares no word with a question; told of every write. Its `access` and
            `redact` hold where none is given here.

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
        redact: Redact | None = None,
        verdicts: VerdictCache | None = None,
        prompts: Prompts | None = None,
        reranker: Reranker | None = None,
        counter: TokenCounter | None = None,
        associative: Associative | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.llm = llm
        self.config = config or ForestConfig()
        self.timezone = zone_of(timezone)
        # What is private to the one is not to be read through the other.
        self.policy = as_policy(
            associative.policy if access is None and associative is not None else access
        )
        self.redact = associative.redact if redact is None and associative is not None else redact
        self.verdicts = verdict_cache_of(store) if verdicts is None else verdicts
        self.prompts = prompts or Prompts()
        self.reranker = reranker
        self.counter = counter or default_counter()
        self.associative = associative

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
        redact: Redact | None = None,
        prompts: Prompts | None = None,
        reranker: Reranker | None = None,
        associative: Associative | None = None,
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
        memory = cls(
            store, embedder=embedder, llm=llm, config=config, timezone=zone, access=access,
            redact=redact, prompts=prompts, reranker=reranker, associative=associative,
        )  # fmt: skip
        memory.add(history)
        return memory

    def __len__(self) -> int:
        return len(self.store)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.describe().items())
        return f"{type(self).__name__}({told})"

    def describe(self) -> dict[str, Any]:
        """How much there is, where, and with which models, for people; nothing of a message, no key."""
        try:
            n_messages: int | str = len(self.store)
        except StoreError:
            n_messages = "unknown"  # It is closed, or its server is away.
        name = str(getattr(self.store, "name", type(self.store).__name__)).strip("'")
        return {
            "messages": n_messages,
            "store": _SECRETS.sub("//", name),
            "embeddings": None if self.embedder is None else self.embedder.name,
            "llm": None if self.llm is None else self.llm.name,
        }

    def add(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """Add messages; one whose id is there already replaces it, an equal one changes nothing.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            IngestError: If the store failed part-way; running the same call again adds the rest.
        """
        # Of a repeated id the last one holds, at the place of the first.
        history = {m.id: m for m in read_messages(messages, timezone=self.timezone)}
        return store_in_chunks(history.values(), self._add_chunk)

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

    def delete(self, ids: Collection[str | int]) -> int:
        """Remove messages from every index; returns how many were there."""
        if isinstance(ids, str):
            raise MessageError(f"delete needs several ids, got the text {ids!r}; pass [{ids!r}].")
        # As messages are given: the message of {"id": 7} has the id "7".
        names = list(map(str, ids))
        # Before the messages, so that a crash in between leaves nothing that is found by them alone; and
        # after, since a question may have asked about them meanwhile.
        if self.verdicts is not None:
            self.verdicts.forget(names)
        n_deleted = self.store.delete(names)
        if self.associative is not None:
            self.associative.forget(names)
        if self.verdicts is not None:
            self.verdicts.forget(names)
        return n_deleted

    def lost_vectors(self) -> tuple[str, ...]:
        """Ids of messages without a vector whose text has one: added without an embedder, or lost."""
        return tuple(m.id for lost, _ in remake_vectors(self.store, self.embedder) for m in lost)

    def mend_vectors(self) -> int:
        """Make the vectors that are missing; returns how many. Importing a message again does so, too.

        Raises:
            StoreError: If the database fails.
        """
        n_mended = 0
        for lost, made in remake_vectors(self.store, self.embedder):
            if lost:
                self.store.upsert(lost, made)
            n_mended += len(lost)
        return n_mended

    def forget(
        self,
        *,
        ids: str | Collection[str] | None = None,
        authors: str | Collection[str] | None = None,
        channels: str | Collection[str] | None = None,
        before: datetime | str | float | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove messages for good: text, vector, every index, and what a model said about them.

        Conditions must all hold; a repeated one means any of its values. What others wrote about a
        message, such as a quote of it, is theirs and stays. Of a store in a folder a hash of each id
        stays, by which `tmem import` leaves the message out of later exports; `add` takes what it is given.

        Args:
            ids: These messages.
            authors: Of these authors, by id or by the name they wrote under.
            channels: In these channels.
            before: Sent before then; a time without zone is in the memory's zone.
            dry_run: Only say what would go.

        Raises:
            QueryError: If there is no condition, or one is empty.
            StoreError: If the database fails; running it again removes the rest.
        """
        selector = Selector.create(
            ids=ids, authors=authors, channels=channels, before=before, timezone=self.timezone
        )
        found = selector.select(self.store)
        if not dry_run:
            # First, so that whoever is killed in between forgets the rest by the same call again.
            remembered = forgotten_ids_of(self.store)
            if remembered is not None and not getattr(self.store, "read_only", False):
                remembered.add(found)
            self.delete(found)
        return Forgotten(found, len(self.store), not dry_run)

    def query(self, question: str, **filters: Any) -> Query:
        """Read a question with its filters; times without zone are in the memory's zone.

        Raises:
            QueryError: If a filter is unknown or a value is not of its kind.
        """
        for name in filters:
            if name not in FILTERS:
                raise QueryError(f"{name!r} is no filter of a question; {suggest(name, FILTERS)}")
        return Query.create(question, timezone=self.timezone, **filters)

    def retrieve(
        self,
        question: str | Query,
        *,
        config: ForestConfig | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        llm: LanguageModel | None = None,
        on_stage: OnStage | None = None,
        **filters: Any,
    ) -> Retrieval:
        """Answer one question with a forest of evidence.

        Args:
            question: Text, or a `Query` that has its filters.
            config: Settings for this question; those of the memory when None.
            max_messages: At most this many messages.
            max_tokens: Budget of the whole text.
            llm: Model for this question; that of the memory when None.
            on_stage: Told of each stage as it ends.
            **filters: See `Query`.

        Raises:
            QueryError: If a filter makes no sense.
            AccessError: If access control is on and nobody asks.
            ModelError: If the model fails and the policy is to raise.
        """
        settings = (config or self.config).limited(max_messages=max_messages, max_tokens=max_tokens)
        query = self._read(question, filters)
        return drive(*self._seated(query, settings, llm or self.llm, on_stage))

    async def aretrieve(
        self,
        question: str | Query,
        *,
        config: ForestConfig | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        llm: LanguageModel | None = None,
        on_stage: OnStage | None = None,
        **filters: Any,
    ) -> Retrieval:
        """`retrieve` without blocking the event loop."""
        settings = (config or self.config).limited(max_messages=max_messages, max_tokens=max_tokens)
        query = self._read(question, filters)
        return await adrive(*self._seated(query, settings, llm or self.llm, on_stage))

    def estimate(
        self,
        question: str | Query,
        *,
        config: ForestConfig | None = None,
        max_messages: int | None = None,
        llm: LanguageModel | None = None,
        **filters: Any,
    ) -> Estimate:
        """What a question would cost, without asking the model: prompts are written and counted.

        Known verdicts cost nothing. Which messages are to be linked depends on what the gate keeps;
        here it keeps what rules keep. An embedder is asked for the question's vector, as ever.

        Args:
            question: Text, or a `Query` that has its filters.
            config: Settings for this question; those of the memory when None.
            max_messages: At most this many messages.
            llm: Model for this question; that of the memory when None. Without one nothing is asked.
            **filters: See `Query`.

        Raises:
            QueryError: If a filter makes no sense.
            AccessError: If access control is on and nobody asks.
        """
        llm = llm or self.llm
        if llm is None:
            return Estimate()
        settings = (config or self.config).limited(max_messages=max_messages)
        models = replace(settings.models, on_failure="degrade")
        budget = EstimatingBudget(ceilings_of(models))
        panel = model_panel(llm.name, models, self.prompts, self.counter, budget)
        # Without a model in its seat every call fails for good.
        drive(*self._ask(self._read(question, filters), settings, panel, None))
        return budget.estimate

    def __reduce__(self) -> tuple[Any, ...]:
        """By the folder of its store; the copy reads it, since a folder has one writer at a time.

        Raises:
            StoreError: If the store is in no folder.
        """
        folder = getattr(self.store, "folder", None)
        if folder is None:
            raise StoreError(
                "A memory is pickled by the folder of its store, and this one has none; build it with "
                "store='folder/', or build it anew where it is needed."
            )
        names = (
            "embedder",
            "llm",
            "config",
            "timezone",
            "redact",
            "prompts",
            "reranker",
            "counter",
        )
        parts = {name: getattr(self, name) for name in names}
        return _read_again, (
            type(self), folder, {**parts, "access": self.policy, "associative": self.associative},
        )  # fmt: skip

    def close(self) -> None:
        """Release the store. Closing twice is fine."""
        self.store.close()

    def scope(self, query: Query) -> Scope:
        """What `query` may read, by its filters and the access policy."""
        return scope_for(query, self.store, self.policy)

    def _read(self, question: str | Query, filters: Mapping[str, Any]) -> Query:
        if not isinstance(question, Query):
            return self.query(question, **filters)
        if filters:
            raise QueryError(f"A Query has its filters already; got also {sorted(filters)}.")
        return question

    def _seated(
        self,
        query: Query,
        settings: ForestConfig,
        llm: LanguageModel | None,
        on_stage: OnStage | None,
    ) -> tuple[Flow[Retrieval], Seats]:
        """`_ask` with the model, or the rules, in its seat."""
        flow, seats = self._ask(query, settings, self._panel(llm, settings.models), on_stage)
        return flow, replace(seats, llm=llm)

    def _ask(
        self, query: Query, settings: ForestConfig, panel: Panel, on_stage: OnStage | None
    ) -> tuple[Flow[Retrieval], Seats]:
        """The flow of a question and who answers its requests, without a model."""
        reading = read_for(query, self.store, self.policy, settings, self.timezone)
        flow = answer_question(
            reading.query,
            settings,
            panel=panel,
            unknown_channels=reading.unknown,
            counter=self.counter,
            zone=self.timezone,
            language=self.store.language,
            on_stage=on_stage,
            associative=self.associative is not None,
            listing=reading.listing,
        )
        seats = Seats(
            view=reading.view,
            scope=reading.scope,
            store=self.store,
            embedder=self.embedder,
            verdicts=self.verdicts,
            reranker=self.reranker,
            redact=self.redact,
            associative=self.associative,
        )
        return reading.explain(flow), seats

    def _panel(self, llm: LanguageModel | None, config: ModelConfig) -> Panel:
        panel = RULES
        if llm is not None:
            panel = model_panel(llm.name, config, self.prompts, self.counter)
        if self.reranker is None:
            return panel
        may_fail = config.on_failure == "degrade"
        return replace(panel, gate=RerankedGate(panel.gate, config.gate_candidates, may_fail))

    def _add_chunk(self, chunk: Sequence[Message]) -> IngestReport:
        report, changed = store_changes(chunk, self.store, self.embedder)
        if changed and self.verdicts is not None:
            self.verdicts.forget(changed)
        if self.associative is not None:
            self.associative.file(chunk)
        return report


def _read_again(kind: type[TemporalMemory], folder: Path, parts: dict[str, Any]) -> TemporalMemory:
    """A pickled memory, over the store that its associative one has opened already."""
    associative, embedder = parts["associative"], parts["embedder"]
    if associative is not None:
        return kind(associative.store, **parts)
    from tmem_integrations.stores.chroma import ChromaStore

    model = None if embedder is None else embedder.name
    return kind(ChromaStore.open(folder, model=model, read_only=True), **parts)
