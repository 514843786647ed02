"""A period in the question as a bound on what it may read, and what that did to the answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from tmem_integrations.config import ForestConfig
from tmem_integrations.dates import Period, find_period
from tmem_integrations.messages import Query
from tmem_integrations.requests import Flow, count
from tmem_integrations.retrieval import Retrieval


def period_of(query: Query, config: ForestConfig, zone: tzinfo | None) -> Period | None:
    """The period that a question names, seen from its `as_of`, else from now; None when that is off.

    Args:
        query: The question.
        config: `periods` is looked at.
        zone: Whose days are meant; UTC when None.
    """
    if config.periods == "never":
        return None
    return find_period(query.text, now=query.as_of or datetime.now(UTC), zone=zone or UTC)


def bounds(period: Period | None, config: ForestConfig) -> bool:
    """Whether the question may read nothing but what was said in the period."""
    return period is not None and (config.periods == "always" or period.of_saying)


def within(query: Query, period: Period) -> Query:
    """The question narrowed to a period; bounds that it has already stay."""
    after = max((t for t in (query.after, period.start) if t is not None), default=None)
    before = min((t for t in (query.before, period.end) if t is not None), default=None)
    return replace(query, after=after, before=before)


def explain_period(flow: Flow[Retrieval], period: Period, *, is_bound: bool) -> Flow[Retrieval]:
    """Run a flow and say what the period did: a neighbour's date must not pass for the one asked.

    Args:
        flow: Answers the question.
        period: That the question names.
        is_bound: Whether the question read nothing else.
    """
    answer = yield from flow
    named = period.describe()
    if is_bound:
        n_messages = yield from count()
        explanation = f"Only messages sent in the period {named} were looked at."
        if not len(answer.forest):
            found = (
                f"none of the {n_messages} messages sent then shares a word with the question"
                if n_messages
                else "no message was sent then"
            )
            explanation = f"Nothing in the period {named}: {found}."
        return replace(answer, trace=replace(answer.trace, explanation=explanation))
    if len(answer.forest) and not any(_holds(period, n.message.sent_at) for n in answer.forest):
        note = f"None of the messages shown was sent in the period {named} that the question names."
        return replace(answer, degraded=(*answer.degraded, note))
    return answer


def _holds(period: Period, moment: datetime) -> bool:
    return (period.start is None or period.start <= moment) and (
        period.end is None or moment < period.end
    )
