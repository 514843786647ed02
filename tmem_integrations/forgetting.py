"""What to forget: messages by id, author, channel or age; all conditions given must hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, tzinfo

from tmem_integrations.errors import QueryError
from tmem_integrations.messages import Query, Scope
from tmem_integrations.protocols import MessageStore


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a call of `forget` did, or would do.

    Attributes:
        ids: Of the messages that met the conditions, in order of arrival.
        n_left: Messages that are there now.
        done: False for a dry run.
    """

    ids: tuple[str, ...]
    n_left: int
    done: bool


@dataclass(frozen=True, slots=True)
class Selector:
    """Conditions on messages; None is no condition, several values of one mean any of them.

    Attributes:
        ids: These messages.
        authors: Of these authors, by id or by the name they wrote under.
        channels: In these channels.
        before: Sent before then.
    """

    ids: frozenset[str] | None
    authors: frozenset[str] | None
    channels: frozenset[str] | None
    before: datetime | None

    @classmethod
    def create(
        cls,
        *,
        ids: str | Collection[str] | None = None,
        authors: str | Collection[str] | None = None,
        channels: str | Collection[str] | None = None,
        before: datetime | str | float | None = None,
        timezone: str | tzinfo | None = None,
    ) -> Selector:
        """Read conditions as a caller gives them.

        Raises:
            QueryError: If there is none, one is empty, or a value is not of its kind. An empty list is
                no "all": a program that found nobody to forget must not forget everybody.
        """
        given = {"ids": ids, "authors": authors, "channels": channels, "before": before}
        if all(value is None for value in given.values()):
            raise QueryError("Say what to forget: ids, authors, channels or before.")
        for name, value in given.items():
            if isinstance(value, str | Collection) and not value:
                raise QueryError(f"{name} is empty: leave it out, or say which.")
        # Names and times are read by the rules of a question's filters.
        query = Query.create(
            "", authors=authors, channels=channels, before=before, timezone=timezone
        )
        listed = Query.create("", channels=ids).channels
        return cls(listed, query.authors, query.channels, query.before)

    def select(self, store: MessageStore) -> tuple[str, ...]:
        """Ids of the messages of a store that meet the conditions, whoever may read them."""
        scope = Scope(
            Query(text="", authors=self.authors, channels=self.channels, before=self.before)
        )
        found = store.ids(scope)
        return tuple(one for one in found if self.ids is None or one in self.ids)
