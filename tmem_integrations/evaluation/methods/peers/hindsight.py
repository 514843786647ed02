"""Hindsight (`hindsight-client` 1.1): a server whose model keeps facts and what follows from them.

The server runs elsewhere, with a model and an embedder of its own: its address stands in HINDSIGHT_API_URL,
its key, where it wants one, in HINDSIGHT_API_KEY. Each history gets a memory bank of its own, named
tmem-eval-…, which is deleted in the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any
from uuid import uuid4

from tmem_integrations.errors import ConfigError, MissingExtraError
from tmem_integrations.evaluation.methods.base import Passage, Usage
from tmem_integrations.evaluation.methods.peers.growing import PeerMethod, spoken
from tmem_integrations.evaluation.methods.peers.own_loop import OwnLoop
from tmem_integrations.messages import Message


def make() -> PeerMethod:
    """Hindsight as a method.

    Raises:
        MissingExtraError: If `hindsight-client` is not installed.
        ConfigError: If no server is named.
    """
    try:
        import_module("hindsight_client")
    except ImportError as error:
        raise MissingExtraError("hindsight-client", "hindsight", "The method hindsight") from error
    url = os.environ.get("HINDSIGHT_API_URL")
    if not url:
        raise ConfigError("hindsight needs the address of its server in HINDSIGHT_API_URL.")
    return PeerMethod("hindsight", lambda: HindsightMemory(url))


class HindsightMemory:
    """A bank on a Hindsight server."""

    def __init__(self, url: str) -> None:
        from hindsight_client import Hindsight

        self._usage = Usage()
        self._loop = OwnLoop()
        self._bank = f"tmem-eval-{uuid4().hex}"
        self._client = Hindsight(url, api_key=os.environ.get("HINDSIGHT_API_KEY"))

    def add(self, message: Message) -> None:
        """Let the server take facts out of the next message, and wait until it has."""
        kept = self._loop.run(
            self._client.aretain(
                self._bank,
                spoken(message, dated=False),
                timestamp=message.sent_at,
                context=f"chat message in {message.channel or 'a group'}",
                document_id=message.id,
            )
        )
        if kept.usage is not None:
            self._usage += Usage(kept.usage.input_tokens or 0, kept.usage.output_tokens or 0, 1)

    def search(self, question: str, max_passages: int, max_tokens: int) -> Sequence[Passage]:
        """Facts, within the budget."""
        found = self._loop.run(
            self._client.arecall(
                self._bank, question, max_tokens=max_tokens, include_source_facts=True
            )
        )
        facts = found.source_facts or {}
        return [Passage(_dated(fact), tuple(_documents(fact, facts))) for fact in found.results]

    def take_usage(self) -> Usage:
        """What the server says that its model took to take facts out."""
        usage, self._usage = self._usage, Usage()
        return usage

    def close(self) -> None:
        """Delete the bank."""
        self._loop.run(self._client.banks.delete_bank(self._bank))
        self._loop.run(self._client.aclose())
        self._loop.close()


def _documents(fact: Any, facts: Mapping[str, Any]) -> Iterator[str]:
    """Ids of the messages of a fact; those of its sources where it was derived from other facts."""
    if fact.document_id is not None:
        yield fact.document_id
    for source_id in fact.source_fact_ids or ():
        if source_id in facts and facts[source_id].document_id is not None:
            yield facts[source_id].document_id


def _dated(fact: Any) -> str:
    said_at = fact.mentioned_at or fact.occurred_start
    return f"[{said_at[:10]}] {fact.text}" if said_at else str(fact.text)
