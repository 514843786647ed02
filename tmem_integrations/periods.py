"""A period in the question as a bound on what it may read, and what that did to the answer.

"What was decided last week?" asks for what was said then, and reads that alone. "Did the report go out on
18 March?" asks for what happened then, of which people tell afterwards ("last night it went out") and plan
before ("Thursday the 19th"). So it reads what was said then and what tells of it by a date, with the rest
of that day's conversation; a neighbour's date does not pass for the one asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.config import ForestConfig
from tmem_integrations.dates import Period, find_period, tells_of
from tmem_integrations.messages import Message, Query
from tmem_integrations.protocols import HistoryView, Matches, Partition, Rows, Scores, Vectors
from tmem_integrations.requests import Flow, count
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.listing import Listing
from tmem_integrations.text import content_words

Bound = Literal["said", "told"] | None
"""What a period lets a question read: what was said in it; also what tells of it; all."""

# A history in which nobody spoke for so long is asked as of its last message.
_SILENCE = timedelta(days=365)
# Of the messages outside the period that share a word with the question, so many best are read for dates.
_READ_FOR_DATES = 300
# What of a question says no more than that it wants to know what there was.
_ASKS_FOR_ALL = re.compile(
    r"\b(?:said|say|talk(?:ed|ing)?|discuss(?:ed|ion|ions)?|decide[ds]?|decisions?|chat(?:ted)?|happen(?:ed|ing)?"
    r"|messages?|conversations?|topics?|announced?|announcements?|agreed?|agreements?|news?|going|went|everything"
    r"|anything|things?|stuff|summari[sz]e|summary|recap|overview|highlights?|important|team|people|everyone"
    r"|everybody|somebody|anyone|channels?|group|list|show|tell|give|please|us|get|got|catch|miss(?:ed)?)\b",
    re.IGNORECASE,
)


def period_of(
    query: Query,
    config: ForestConfig,
    zone: tzinfo | None,
    last_said: Callable[[Query], datetime | None],
) -> tuple[Period | None, Bound]:
    """The period that a question names, seen from its `as_of`, else from now, and what it lets it read.

    In a history in which nobody spoke for a year, "in June" without `as_of` means the last June of the
    history, and what happened "last month" is no bound: nobody can have told of it.

    Args:
        query: The question.
        config: `periods` is looked at.
        zone: Whose days are meant; UTC when None.
        last_said: When the last message was sent that a question may read; None when there is none.
    """
    if config.periods == "never":
        return None, None
    zone, now = zone or UTC, query.as_of or datetime.now(UTC)
    period = find_period(query.text, now=now, zone=zone)
    if period is None:
        return None, None
    bound: Bound = None
    if period.of_saying or config.periods == "always":
        bound = "said"
    elif config.periods == "told":
        bound = "told"
    if query.as_of is None and period.counted_from is not None:
        last = last_said(query)
        if last is not None and last < now - _SILENCE:
            if period.counted_from == "year":
                return find_period(query.text, now=last, zone=zone), bound
            return period, bound if period.of_saying else None
    return period, bound


def within(query: Query, period: Period) -> Query:
    """The question narrowed to a period; bounds that it has already stay."""
    after = max((t for t in (query.after, period.start) if t is not None), default=None)
    before = min((t for t in (query.before, period.end) if t is not None), default=None)
    return replace(query, after=after, before=before)


def listing_of(query: Query, period: Period | None, bound: Bound) -> Listing | None:
    """The stretch of time that a question wants listed; None when it names a subject."""
    if period is None or bound is None:
        return None
    start = -math.inf if period.start is None else period.start.timestamp()
    end = math.inf if period.end is None else period.end.timestamp()
    listing = Listing(start, end, period.phrase)
    subject = _ASKS_FOR_ALL.sub(" ", listing.without_phrase(query.text))
    return None if content_words(subject) else listing


class ToldView:
    """A `HistoryView` of what was said in a period and of what tells of it.

    Counts and frequencies stay those of the whole view, so scores do not depend on the period.

    Args:
        view: What the question may read.
        period: That it names.
        zone: Whose days are meant.
    """

    def __init__(self, view: HistoryView, period: Period, zone: tzinfo) -> None:
        self._view = view
        self._period = period
        self._zone = zone
        self._tells: dict[int, bool] = {}

    @property
    def n_messages(self) -> int:
        """How many messages the scope admits."""
        return self._view.n_messages

    def pace(self) -> float | None:
        """As of the whole view."""
        return self._view.pace()

    def search(self, text: str) -> Matches:
        """Matches that were said in the period or tell of it by a date."""
        matches = self._view.search(text)
        said = self._said(matches.rows)
        outside = np.flatnonzero(~said)
        best = outside[np.argsort(-matches.scores[outside], kind="stable")[:_READ_FOR_DATES]]
        said[best] = self._tell(matches.rows[best])
        return Matches(matches.rows[said], matches.scores[said])

    def term_scores(self, text: str, rows: Rows) -> Scores:
        """As of the whole view."""
        return self._view.term_scores(text, rows)

    def document_frequencies(self, text: str) -> dict[str, int]:
        """As of the whole view."""
        return self._view.document_frequencies(text)

    def window(self, partition: Partition, start: float, end: float) -> Rows:
        """Messages of a window of the period, or of days on which somebody told of it."""
        return self._kept(self._view.window(partition, start, end))

    def traffic(self, partitions: Sequence[Partition]) -> tuple[Scores, ...]:
        """As of the whole view."""
        return self._view.traffic(partitions)

    def within(self, start: float, end: float) -> Rows:
        """Messages between two times that were said in the period."""
        rows = self._view.within(start, end)
        return rows[self._said(rows)]

    def latest(self) -> float | None:
        """As of the whole view."""
        return self._view.latest()

    def neighbours(self, row: int, before: int, after: int) -> Rows:
        """Neighbours of the period, or of days on which somebody told of it."""
        return self._kept(self._view.neighbours(row, before, after))

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Rows that were said in the period or tell of it."""
        rows = self._view.rows_of(ids)
        return rows[self._said(rows) | self._tell(rows)]

    def times(self, rows: Rows) -> Scores:
        """(n,) sent_at in POSIX seconds."""
        return self._view.times(rows)

    def load(self, rows: Rows) -> tuple[Message | None, ...]:
        """The messages; None where one was deleted since the view was made."""
        return self._view.load(rows)

    def vectors(self, rows: Rows) -> Vectors | None:
        """(n, d) unit vectors; None when the store keeps none."""
        return self._view.vectors(rows)

    def _said(self, rows: Rows) -> NDArray[np.bool_]:
        at = self._view.times(rows)
        start = -np.inf if self._period.start is None else self._period.start.timestamp()
        end = np.inf if self._period.end is None else self._period.end.timestamp()
        return (start <= at) & (at < end)

    def _tell(self, rows: Rows) -> NDArray[np.bool_]:
        new = np.array([row for row in rows.tolist() if row not in self._tells], dtype=np.int64)
        for row, message in zip(new.tolist(), self._view.load(new), strict=True):
            self._tells[row] = message is not None and tells_of(
                message.text, message.sent_at, self._period, self._zone
            )
        return np.array([self._tells[row] for row in rows.tolist()], dtype=np.bool_)

    def _kept(self, rows: Rows) -> Rows:
        """Rows of one partition that belong to the period: said in it, or on a day that tells of it."""
        said = self._said(rows)
        if said.all():
            return rows
        days = np.array(
            [datetime.fromtimestamp(at, self._zone).toordinal() for at in self._view.times(rows)]
        )
        return rows[said | np.isin(days, days[self._tell(rows)])]


def explain_period(flow: Flow[Retrieval], period: Period, bound: Bound) -> Flow[Retrieval]:
    """Run a flow and say what the period did: a neighbour's date must not pass for the one asked.

    Args:
        flow: Answers the question.
        period: That the question names.
        bound: What it let the question read.
    """
    answer = yield from flow
    named = period.describe()
    if bound is None:
        if len(answer.forest) and not any(period.holds(n.message.sent_at) for n in answer.forest):
            note = f"None of the messages shown was sent in the period {named} that the question names."
            return replace(answer, degraded=(*answer.degraded, note))
        return answer
    if answer.dropped:
        return answer
    looked_at = "sent in" if bound == "said" else "sent in, or telling of,"
    explanation = f"Only messages {looked_at} the period {named} were looked at."
    listed = next((s for s in answer.trace.stages if s.stage == "listing"), None)
    if listed is not None and listed.kept:
        explanation += (
            f" The question names no subject: {listed.kept} of {listed.taken} messages, spread over "
            "time and channels, stand for them."
        )
    if not len(answer.forest):
        n_messages = yield from count()
        explanation = f"Nothing in the period {named}: {_why_nothing(n_messages, bound)}."
    return replace(answer, trace=replace(answer.trace, explanation=explanation))


def _why_nothing(n_messages: int, bound: Bound) -> str:
    if bound == "told":
        return f"none of the {n_messages} messages in scope that share a word with the question was sent then or names it"
    if n_messages:
        return f"none of the {n_messages} messages sent then shares a word with the question"
    return "no message was sent then"
