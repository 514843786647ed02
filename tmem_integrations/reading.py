"""What one question may read: by its filters, by who asks, and by the period that it names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from tmem_integrations.access import scope_of, unknown_channels
from tmem_integrations.config import ForestConfig
from tmem_integrations.messages import Query, Scope
from tmem_integrations.periods import NamedPeriod, name_period
from tmem_integrations.protocols import AccessPolicy, HistoryView, MessageStore
from tmem_integrations.requests import Flow
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.listing import Listing


@dataclass(frozen=True, slots=True)
class Reading:
    """The part of a history that a question may read.

    Attributes:
        query: The question, narrowed to the period that it names.
        scope: The rule, for the check on everything loaded.
        view: The part itself.
        unknown: Channels that the question names and that are not there for who asks.
        listing: The stretch of time to list, where it names a period and no subject.
        named: The period that it names; None when it names none.
    """

    query: Query
    scope: Scope
    view: HistoryView
    unknown: tuple[str, ...] = ()
    listing: Listing | None = None
    named: NamedPeriod | None = None

    def explain(self, flow: Flow[Retrieval]) -> Flow[Retrieval]:
        """The flow that answers the question, and says what the period did to the answer."""
        return flow if self.named is None or self.unknown else self.named.explain(flow)


def read_for(
    query: Query,
    store: MessageStore,
    policy: AccessPolicy | None,
    config: ForestConfig,
    zone: tzinfo | None,
) -> Reading:
    """What a question may read of a store now.

    Args:
        query: The question.
        store: Where the messages are.
        policy: Who may read which channel; None when everybody may read all.
        config: `periods` says what a period bounds.
        zone: Whose days a period means; UTC when None.

    Raises:
        AccessError: If there is a policy and nobody asks.
    """

    def last_said(asked: Query) -> datetime | None:
        at = store.view(scope_for(asked, store, policy)).latest()
        return None if at is None else datetime.fromtimestamp(at, UTC)

    named = name_period(query, config, zone, last_said)
    asked = query if named is None else named.narrow(query)
    channels = _channels_for(asked, store, policy)
    scope = scope_of(asked, policy, channels)
    view, unknown = store.view(scope), unknown_channels(scope, channels)
    if named is None:
        return Reading(asked, scope, view, unknown)
    return Reading(asked, scope, named.look(view), unknown, named.listing(query), named)


def scope_for(query: Query, store: MessageStore, policy: AccessPolicy | None) -> Scope:
    """The rule of what a question may read, but for the period that it names.

    Raises:
        AccessError: If there is a policy and nobody asks.
    """
    return scope_of(query, policy, _channels_for(query, store, policy))


def _channels_for(query: Query, store: MessageStore, policy: AccessPolicy | None) -> frozenset[str]:
    """All channels, where it matters for a question which there are: a store may have to look."""
    return frozenset() if policy is None and query.channels is None else store.channels()
