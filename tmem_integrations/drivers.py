"""The two drivers of a flow: they answer its requests from a view, an embedder and a model.

Everything a question reads comes through here, so this is where the scope is checked a second time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from tmem_integrations import requests as ask_for
from tmem_integrations.access import Guard, Redact
from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message, Scope
from tmem_integrations.models.verdicts import VerdictCache
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.prompts.relations import RelationVerdict
from tmem_integrations.protocols import (
    Associative,
    Embedder,
    HistoryView,
    LanguageModel,
    MessageStore,
    Reply,
    Reranker,
    Rows,
    Vectors,
)
from tmem_integrations.requests import Flow, Request, Verdict

T = TypeVar("T")
_log = logging.getLogger(__name__)
_NO_MODEL = (Reply("", error="no model", failure="permanent"),)


@dataclass(frozen=True, slots=True)
class Seats:
    """Who answers the requests of one question.

    Attributes:
        view: What the question may read.
        scope: The same rule again, for the check on everything loaded.
        store: What the view is of.
        embedder: None when there is none.
        llm: None when there is none.
        verdicts: What a model said before; None keeps nothing.
        reranker: None when there is none.
        redact: See `access.Redact`.
        associative: None when there is none.
    """

    view: HistoryView
    scope: Scope
    store: MessageStore
    embedder: Embedder | None = None
    llm: LanguageModel | None = None
    verdicts: VerdictCache | None = None
    reranker: Reranker | None = None
    redact: Redact | None = None
    associative: Associative | None = None


def drive(flow: Flow[T], seats: Seats) -> T:
    """Run a flow to its result, blocking."""
    answer: Any = None
    while True:
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        match request:
            case ask_for.Ask(prompts, wait, timeout, schema):
                answer = _NO_MODEL * len(prompts)
                if seats.llm:
                    time.sleep(wait)
                    answer = seats.llm.ask(prompts, timeout=timeout, schema=schema)
            case ask_for.Rerank(question, messages):
                answer = seats.reranker.rerank(question, messages) if seats.reranker else None
            case ask_for.Embed(texts):
                answer = seats.embedder.embed(texts) if seats.embedder else None
            case _:
                answer = read(request, seats)


async def adrive(flow: Flow[T], seats: Seats) -> T:
    """Run a flow to its result; models are awaited, reading and computing happen in a thread."""
    answer: Any = None
    while True:
        match await asyncio.to_thread(_advance, flow, answer, seats):
            case _Done(result):
                return result
            case ask_for.Ask(prompts, wait, timeout, schema):
                answer = _NO_MODEL * len(prompts)
                if seats.llm:
                    await asyncio.sleep(wait)
                    answer = await seats.llm.aask(prompts, timeout=timeout, schema=schema)
            case ask_for.Rerank(question, messages):
                ranker = seats.reranker
                answer = await ranker.arerank(question, messages) if ranker else None
            case ask_for.Embed(texts):
                answer = await seats.embedder.aembed(texts) if seats.embedder else None


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    result: T


_OfModel = ask_for.Ask | ask_for.Embed | ask_for.Rerank


def _advance(flow: Flow[T], answer: Any, seats: Seats) -> _Done[T] | _OfModel:
    """Go on to the next request for a model, or to the result."""
    while True:
        try:
            request = flow.send(answer)
        except StopIteration as stop:
            return _Done(stop.value)
        if isinstance(request, _OfModel):
            return request
        answer = read(request, seats)


def read(request: Request[Any], seats: Seats) -> Any:
    """Answer a request from the view.

    Raises:
        StoreError: If the store hands out a message that the scope does not admit.
    """
    view = seats.view
    match request:
        case ask_for.Count():
            return view.n_messages
        case ask_for.Pace():
            return view.pace()
        case ask_for.Search(text, containing):
            return view.search(text, containing=containing)
        case ask_for.TermScores(text, rows):
            return view.term_scores(text, rows)
        case ask_for.Frequencies(text):
            return view.document_frequencies(text)
        case ask_for.Gather(parts):
            return view.gather(parts)
        case ask_for.Within(start, end):
            return view.within(start, end)
        case ask_for.Traffic(partitions):
            return view.traffic(partitions)
        case ask_for.Associate(question, vector, most):
            return _associate(question, vector, most, seats)
        case ask_for.Times(rows):
            return view.times(rows)
        case ask_for.Load(rows):
            return _guard(seats).check(view.load(rows))
        case ask_for.LoadVectors(rows):
            return view.vectors(rows)
        case ask_for.Recall(keys, kind):
            return _recall(keys, kind, seats.verdicts)
        case ask_for.Remember(key, verdicts, shown):
            return _remember(key, verdicts, shown, seats)
        case _:
            raise TypeError(f"A view cannot answer {request!r}.")


def _recall(
    keys: Sequence[str], kind: type[Verdict], verdicts: VerdictCache | None
) -> tuple[tuple[Verdict, ...] | None, ...]:
    """What is known; a cache that cannot be read costs calls, not the answer."""
    if verdicts is None:
        return (None,) * len(keys)
    try:
        return tuple(verdicts.get(key, kind) for key in keys)
    except StoreError as error:
        _log.warning("%s", error)
        return (None,) * len(keys)


def _remember(
    key: str,
    verdicts: Sequence[GateVerdict | RelationVerdict],
    shown: Sequence[Message],
    seats: Seats,
) -> None:
    """Keep verdicts unless a message was edited or deleted while they were asked for.

    Looked up after they are kept: whoever deletes takes out verdicts after the message, so one of the
    two sees the other.
    """
    if seats.verdicts is None:
        return
    try:
        seats.verdicts.put(key, verdicts, [message.id for message in shown])
    except StoreError as error:
        _log.warning("%s", error)
        return
    # What is out of the scope by now was changed, too.
    now = seats.store.view(seats.scope)
    still = _guard(seats).check(now.load(now.rows_of([message.id for message in shown])))
    same = {message.id: message for message in still if message is not None}
    changed = [message.id for message in shown if same.get(message.id) != message]
    if changed:
        seats.verdicts.forget(changed)


def _associate(
    question: str, vector: Vectors | None, most: int, seats: Seats
) -> tuple[Rows, dict[str, str]]:
    """What an associative memory reaches of the messages in the view."""
    if seats.associative is None:
        return np.empty(0, np.int64), {}
    reached = seats.associative.reach(question, seats.scope, vector, most)
    via = {one.message_id: one.via for one in reached}
    return seats.view.rows_of(list(via)), via


def _guard(seats: Seats) -> Guard:
    return Guard(seats.scope, seats.store, seats.redact)
