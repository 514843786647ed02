"""`AnticipatoryMemory`: messages filed at once under the situations in which they will matter (AM)."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from tmem_integrations.access import AccessLike, Redact
from tmem_integrations.anticipation.estimate import rehearse
from tmem_integrations.anticipation.ingest import Desk, OnStep, file_messages, finish_filing
from tmem_integrations.anticipation.ledger import Ledger
from tmem_integrations.anticipation.recalling import Recaller
from tmem_integrations.anticipation.recipes import CENTRED, RecallConfig
from tmem_integrations.anticipation.recollection import Recollection
from tmem_integrations.anticipation.retiring import mend_scenes, retire_orphans
from tmem_integrations.anticipation.rule_writer import RuleWriter
from tmem_integrations.anticipation.writer import Writer
from tmem_integrations.config import ModelConfig
from tmem_integrations.drivers import Seats, adrive, drive
from tmem_integrations.errors import ConfigError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Query, Scope, read_messages
from tmem_integrations.models.budget import Estimate
from tmem_integrations.protocols import (
    AccessPolicy,
    Embedder,
    IngestReport,
    LanguageModel,
    MessageStore,
    Reached,
    Vectors,
)

# Seconds after which an asynchronous write looks again whether another one is done.
_LOOK_AGAIN = 0.02


class AnticipatoryMemory:
    """Scenes, labels, items, triggers and persona over a history of messages.

    It stands alone (`retrieve`), and as `associative` of a `TemporalForestRetriever` it gives the forest
    anchors that share no word with the question.

    Args:
        history: The messages, with an embedder; its access rules and filters hold for all that is derived.
        writer: Who writes; rules when None.
        config: How questions are recalled; `CENTRED` when None, `PAPER` has the paper's values.
        on_step: Told of each saved chunk while filing: step, done, total.

    Raises:
        ConfigError: If the history has no embedder.
        StoreError: If what was derived before cannot be read.
    """

    def __init__(
        self,
        history: TemporalMemory,
        *,
        writer: Writer | None = None,
        config: RecallConfig | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        if history.embedder is None:
            raise ConfigError("A memory that anticipates needs an embedder; the history has none.")
        self.history = history
        self.embedder: Embedder = history.embedder
        self.writer: Writer = writer or RuleWriter()
        self.config = config or CENTRED
        self.ledger = Ledger(
            history.store.derived, read_only=bool(getattr(history.store, "read_only", False))
        )
        if not self.ledger.read_only:
            retire_orphans(self.ledger, history.store)
            mend_scenes(self.ledger, history.store.get)
        self._on_step = on_step
        # Filing reads what is left to do off the ledger: two at once would do it twice. Not bound to a
        # thread: an asynchronous filing ends where the event loop lets it.
        self._writing = threading.Lock()
        self._recaller = Recaller(history, self.embedder, self.ledger)

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Message | Mapping[str, Any]],
        *,
        store: MessageStore | None = None,
        embedder: Embedder | None = None,
        llm: LanguageModel | None = None,
        writer: Writer | None = None,
        config: RecallConfig | None = None,
        timezone: str | tzinfo | None = None,
        access: AccessLike = None,
        on_step: OnStep | None = None,
        models: ModelConfig | None = None,
        redact: Redact | None = None,
    ) -> AnticipatoryMemory:
        """Store messages and file them.

        Args:
            messages: In order of arrival.
            store: Where they are kept; in memory when None.
            embedder: Static vectors when None.
            llm: Writes, unless a writer is given; rules write when None.
            writer: Who writes.
            config: How questions are recalled.
            timezone: Zone of times that carry none.
            access: Who may read which channel.
            on_step: Told of each saved chunk while filing.
            models: What bounds the calls of one write, and what to do when the model fails.
            redact: What of a message an asker gets, where channels cannot tell: see `access.Redact`. What
                was derived from a message that is withheld or changed for them is not shown.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            IngestError: If the store failed part-way.
            ModelError: If the model failed and the policy is to raise; the rest is saved.
        """
        if embedder is None:
            from tmem_integrations.models.embeddings import StaticEmbedder

            embedder = StaticEmbedder()
        if writer is None and llm is not None:
            from tmem_integrations.anticipation.model_writer import ModelWriter

            writer = ModelWriter(llm.name, config=models)
        history = TemporalMemory.from_messages(
            [], store=store, embedder=embedder, llm=llm, timezone=timezone, access=access,
            redact=redact,
        )  # fmt: skip
        memory = cls(history, writer=writer, config=config, on_step=on_step)
        memory.add(messages)
        return memory

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.describe().items())
        return f"{type(self).__name__}({told})"

    def describe(self) -> dict[str, Any]:
        """Of its messages as `TemporalMemory.describe`, and how many scenes are filed."""
        return {**self.history.describe(), "scenes": len(self.ledger.scenes)}

    @property
    def store(self) -> MessageStore:
        """Where the messages are kept."""
        return self.history.store

    @property
    def policy(self) -> AccessPolicy | None:
        """Who may read which channel; None when everybody may read all."""
        return self.history.policy

    @property
    def redact(self) -> Redact | None:
        """What of a message an asker gets; None for all of it."""
        return self.history.redact

    def add(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """Store messages and file them: new ones continue open scenes, edited ones are filed anew.

        Raises:
            MessageError: If a message cannot be read; nothing is stored then.
            IngestError: If the store failed part-way.
        """
        stored, read = self._store(messages)
        self.file(read)
        return stored

    async def aadd(self, messages: Iterable[Message | Mapping[str, Any]]) -> IngestReport:
        """`add` without blocking the event loop while a model writes."""
        stored, read = self._store(messages)
        # Not in a thread: one whose waiting was cancelled would take the lock for good.
        while not self._writing.acquire(blocking=False):
            await asyncio.sleep(_LOOK_AGAIN)
        try:
            self.writer.begin()
            await adrive(file_messages(self._with_unfiled(read), self._desk()), self._seats())
        finally:
            self._writing.release()
        self.writer.end()
        return stored

    def file(self, messages: Sequence[Message]) -> None:
        """File messages that are stored already, and do what an earlier run left to do."""
        if self.ledger.read_only and not messages:
            return
        with self._writing:
            self.writer.begin()
            drive(file_messages(self._with_unfiled(messages), self._desk()), self._seats())
        self.writer.end()

    def sync(self) -> None:
        """Bring what is derived in line with the store, whoever wrote to it meanwhile."""
        retire_orphans(self.ledger, self.store)
        present = self.store.ids(Scope())
        found = self.store.get(present)
        self.file([found[one] for one in present if one in found])

    def prepare(self) -> None:
        """Make the vectors of what is derived and keep them, so that no question, nor a reader, need do so."""
        self._recaller.prepare()

    def delete(self, ids: Collection[str | int]) -> int:
        """Remove messages and all that was derived from them; returns how many were there."""
        n_deleted = self.history.delete(ids)
        if self.history.associative is not self:
            self.forget([str(one) for one in ids])
        return n_deleted

    def forget(self, ids: Collection[str]) -> None:
        """Take back all that was derived from messages; what is left of their scenes is written anew."""
        with self._writing:
            self.ledger.erase(ids)
            if not mend_scenes(self.ledger, self.store.get):
                return
            self.writer.begin()
            drive(finish_filing(self._desk()), self._seats())
        self.writer.end()

    def query(self, question: str, **filters: Any) -> Query:
        """Read a question with its filters, as `TemporalMemory.query`."""
        return self.history.query(question, **filters)

    def retrieve(
        self, question: str | Query, *, config: RecallConfig | None = None, **filters: Any
    ) -> Recollection:
        """Recall what answers a question or matters to it.

        Args:
            question: Text, or a `Query` that has its filters.
            config: The recipe for this question; that of the memory when None.
            **filters: See `Query`.

        Raises:
            QueryError: If a filter makes no sense.
            AccessError: If access control is on and nobody asks.
        """
        query = question if isinstance(question, Query) else self.query(question, **filters)
        (vector,) = self.embedder.embed([query.text])
        return self._recaller.recall(query, vector, config or self.config)

    async def aretrieve(
        self, question: str | Query, *, config: RecallConfig | None = None, **filters: Any
    ) -> Recollection:
        """`retrieve` without blocking the event loop."""
        query = question if isinstance(question, Query) else self.query(question, **filters)
        (vector,) = await self.embedder.aembed([query.text])
        return await asyncio.to_thread(self._recaller.recall, query, vector, config or self.config)

    def reach(
        self, question: str, scope: Scope, vector: Vectors | None, most: int
    ) -> tuple[Reached, ...]:
        """Messages that share no word with a question, best first: anchors for a forest."""
        if vector is None:
            return ()
        return self._recaller.reach(question, scope, vector, self.config, most)

    def estimate(self, messages: Iterable[Message | Mapping[str, Any]]) -> Estimate:
        """What a model would be asked to write about new messages, before it is: see `estimate`.

        Args:
            messages: As for `add`; nothing is stored.
        """
        read = read_messages(messages, timezone=self.history.timezone)
        flow, rehearsal = rehearse(read, self.history.counter, self.writer.name)
        drive(flow, replace(self._seats(), llm=None))
        return rehearsal.estimate

    def stats(self) -> dict[str, Any]:
        """How much was derived, by whom, and what is still to do; JSON values only."""
        ledger = self.ledger
        items = Counter(item.kind for item in ledger.items.values())
        return {
            "writer": self.writer.name,
            "associative": "written" if self.writer.anticipates else "weak: rules imagine nothing",
            "messages": len(ledger.turns),
            "scenes": len(ledger.scenes),
            "topics": len(ledger.topics),
            "items": dict(items),
            "bridges": sum(bool(i.trigger and i.trigger.bridge) for i in ledger.items.values()),
            "horizons": sum(len(t.horizons) for t in ledger.scene_triggers.values()),
            "persona": len(ledger.persona),
            "model": self._spent(),
            "undescribed": sum(not scene.is_described for scene in ledger.scenes.values()),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """With its history, which is pickled by its folder and read only: see `TemporalMemory.__reduce__`."""
        make, (kind, folder, parts) = self.history.__reduce__()
        joined = parts.pop("associative") is self
        return _read_again, (
            type(self), make, (kind, folder, {**parts, "associative": None}), joined,
            self.writer, self.config,
        )  # fmt: skip

    def close(self) -> None:
        """Release the store and what is derived. Closing twice is fine."""
        self.history.close()

    def _store(
        self, messages: Iterable[Message | Mapping[str, Any]]
    ) -> tuple[IngestReport, list[Message]]:
        read = list(
            {m.id: m for m in read_messages(messages, timezone=self.history.timezone)}.values()
        )
        return self.history.add(read), read

    def _with_unfiled(self, messages: Sequence[Message]) -> list[Message]:
        """These messages and those that an earlier run stored and was stopped before it filed them."""
        self.ledger.refresh()
        known = {message.id for message in messages} | self.ledger.turns.keys()
        missing = [one for one in self.store.ids(Scope()) if one not in known]
        found = self.store.get(missing)
        return [*(found[one] for one in missing if one in found), *messages]

    def _spent(self) -> dict[str, Any] | None:
        """Calls and tokens of this writer since it was made; None where no model writes."""
        spent: Callable[[], dict[str, Any]] | None = getattr(self.writer, "spent", None)
        return None if spent is None else spent()

    def _desk(self) -> Desk:
        return Desk(self.ledger, self.writer, self.store.get, self._on_step)

    def _seats(self) -> Seats:
        history = self.history
        return Seats(
            view=history.store.view(Scope()), scope=Scope(), store=history.store,
            embedder=self.embedder, llm=history.llm,
        )  # fmt: skip


def _read_again(
    kind: type[AnticipatoryMemory],
    make: Callable[..., TemporalMemory],
    arguments: tuple[Any, ...],
    joined: bool,
    writer: Writer,
    config: RecallConfig,
) -> AnticipatoryMemory:
    history = make(*arguments)
    memory = kind(history, writer=writer, config=config)
    if joined:
        history.associative = memory
    return memory
