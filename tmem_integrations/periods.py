"""A period in the question as a bound on what it may read, and what that did to the answer.

"What was decided last week?" asks for what was said then, and reads that alone. "Did the report go out on
18 March?" asks for what happened then, of which people tell afterwards ("last night it went out") and plan
before ("Thursday the 19th"). So it reads what was said then and what tells of it by a date, with the rest
of that day's conversation; a neighbour's date does not pass for the one asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

from tmem_integrations.config import ForestConfig
from tmem_integrations.dates import Period, find_period
from tmem_integrations.explanations import nothing_in_period
from tmem_integrations.messages import Query
from tmem_integrations.protocols import HistoryView
from tmem_integrations.requests import Count, Flow
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.listing import Listing
from tmem_integrations.text import content_words
from tmem_integrations.told_view import ToldView

Bound = Literal["said", "told"] | None
"""What a period lets a question read: what was said in it; also what tells of it; all."""

# A history in which nobody spoke for so long is asked as of its last message.
_SILENCE = timedelta(days=365)
# What of a question says no more than that it wants to know what there was.
_ASKS_FOR_ALL = re.compile(
    r"\b(?:said|say|talk(?:ed|ing)?|discuss(?:ed|ion|ions)?|decide[ds]?|decisions?|chat(?:ted)?|happen(?:ed|ing)?"
    r"|messages?|conversations?|topics?|announced?|announcements?|agreed?|agreements?|news?|going|went|everything"
    r"|anything|things?|stuff|summari[sz]e|summary|recap|overview|highlights?|important|team|people|everyone"
    r"|everybody|somebody|anyone|channels?|group|list|show|tell|give|please|us|get|got|catch|miss(?:ed)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedPeriod:
    """A period that a question names.

    Attributes:
        period: When.
        bound: What it lets the question read.
        zone: Whose days are meant.
    """

    period: Period
    bound: Bound
    zone: tzinfo

    def narrow(self, query: Query) -> Query:
        """The question, kept to what was said in the period if it reads that alone; its own bounds stay."""
        if self.bound != "said":
            return query
        after = max((t for t in (query.after, self.period.start) if t is not None), default=None)
        before = min((t for t in (query.before, self.period.end) if t is not None), default=None)
        return replace(query, after=after, before=before)

    def look(self, view: HistoryView) -> HistoryView:
        """A view, kept to what was said in the period or tells of it if the question reads both."""
        return ToldView(view, self.period, self.zone) if self.bound == "told" else view

    def listing(self, query: Query) -> Listing | None:
        """The stretch of time that a question wants listed; None when it names a subject."""
        if self.bound is None:
            return None
        listing = Listing(*self.period.seconds, self.period.phrase)
        subject = _ASKS_FOR_ALL.sub(" ", listing.without_phrase(query.text))
        return None if content_words(subject) else listing

    def explain(self, flow: Flow[Retrieval]) -> Flow[Retrieval]:
        """Run a flow and say what the period did: a neighbour's date must not pass for the one asked."""
        answer = yield from flow
        if self.bound is None:
            return self._warned(answer)
        if answer.dropped:
            return answer
        if len(answer.forest):
            explanation = self._what_was_read(answer)
        else:
            n_messages = yield from Count()
            why = nothing_in_period(n_messages, is_told=self.bound == "told")
            explanation = f"Nothing in the period {self.period.describe()}: {why}."
        return replace(answer, trace=replace(answer.trace, explanation=explanation))

    def _warned(self, answer: Retrieval) -> Retrieval:
        """With a word of warning where nothing shown is of the period."""
        shown = [node.message for node in answer.forest]
        if not shown or any(self.period.holds(message.sent_at) for message in shown):
            return answer
        note = (
            f"None of the messages shown was sent in the period {self.period.describe()} "
            "that the question names."
        )
        return replace(answer, degraded=(*answer.degraded, note))

    def _what_was_read(self, answer: Retrieval) -> str:
        looked_at = "sent in" if self.bound == "said" else "sent in, or telling of,"
        read = f"Only messages {looked_at} the period {self.period.describe()} were looked at."
        listed = next((s for s in answer.trace.stages if s.stage == "listing"), None)
        if listed is None or not listed.kept:
            return read
        return (
            f"{read} The question names no subject: {listed.kept} of {listed.taken} messages, spread over "
            "time and channels, stand for them."
        )


def name_period(
    query: Query,
    config: ForestConfig,
    zone: tzinfo | None,
    last_said: Callable[[Query], datetime | None],
) -> NamedPeriod | None:
    """The period that a question names, seen from its `as_of`, else from now.

    In a history in which nobody spoke for a year, "in June" without `as_of` means the last June of the
    history, and what happened "last month" is no bound: nobody can have told of it.

    Args:
        query: The question.
        config: `periods` is looked at.
        zone: Whose days are meant; UTC when None.
        last_said: When the last message was sent that a question may read; None when there is none.
    """
    if config.periods == "never":
        return None
    zone, now = zone or UTC, query.as_of or datetime.now(UTC)
    period = find_period(query.text, now=now, zone=zone)
    if period is None:
        return None
    bound = _bound_of(period, config)
    if query.as_of is None and period.counted_from is not None:
        last = last_said(query)
        if last is not None and last < now - _SILENCE:
            if period.counted_from == "year":
                period = find_period(query.text, now=last, zone=zone)
            elif not period.of_saying:
                bound = None
    return None if period is None else NamedPeriod(period, bound, zone)


def _bound_of(period: Period, config: ForestConfig) -> Bound:
    if period.of_saying or config.periods == "always":
        return "said"
    return "told" if config.periods == "told" else None
