"""The two drivers: who answers which request, and what they wait for."""

import asyncio
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support.judging import message

from tmem_integrations.drivers import Seats, adrive, drive
from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Query, Scope
from tmem_integrations.models.verdicts import VerdictCache
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.protocols import Ranking, Reply
from tmem_integrations.requests import Ask, Embed, Load, Recall, Remember, Rerank

SCHEMA = {"title": "x"}
VERDICTS = (GateVerdict("c1", "KEY"),)


class Model:
    """Notes how it is asked."""

    name = "m"

    def __init__(self):
        self.calls = []

    def ask(self, prompts, *, timeout=None, schema=None):
        self.calls.append(("sync", tuple(prompts), timeout, schema))
        return tuple(Reply(prompt.upper()) for prompt in prompts)

    async def aask(self, prompts, *, timeout=None, schema=None):
        self.calls.append(("async", tuple(prompts), timeout, schema))
        return tuple(Reply(prompt.upper()) for prompt in prompts)


class Store:
    """Holds messages by id; `view` hands out whatever is loaded."""

    def __init__(self, *messages):
        self.messages = {m.id: m for m in messages}

    def get(self, ids):
        return {i: self.messages[i] for i in ids if i in self.messages}

    def view(self, scope):
        return self

    def rows_of(self, ids):
        return np.array([], np.int64)

    def load(self, rows):
        return tuple(self.messages.values())


def seats(store=None, *, query=None, **others):
    store = store or Store()
    return Seats(view=store, scope=Scope(query or Query(text="x")), store=store, **others)


async def both(flow, own):
    """The result of a flow under each driver."""
    return drive(flow(), own), await adrive(flow(), own)


async def test_the_model_gets_prompts_time_out_and_schema():
    model = Model()

    def flow():
        return (yield from Ask(["a", "b"], timeout=3.0, schema=SCHEMA))

    assert await both(flow, seats(llm=model)) == ((Reply("A"), Reply("B")),) * 2
    assert model.calls == [("sync", ("a", "b"), 3.0, SCHEMA), ("async", ("a", "b"), 3.0, SCHEMA)]


async def test_without_a_model_each_prompt_fails_for_good_and_nothing_is_waited_for():
    def flow():
        return (yield from Ask(["a", "b"], wait=1e6))

    for replies in await both(flow, seats()):
        assert [reply.failure for reply in replies] == ["permanent"] * 2


async def test_a_wait_comes_before_the_call(monkeypatch):
    model, waited = Model(), []

    async def sleep(seconds):
        waited.append((seconds, len(model.calls)))

    monkeypatch.setattr("time.sleep", lambda seconds: waited.append((seconds, len(model.calls))))
    monkeypatch.setattr("asyncio.sleep", sleep)

    def flow():
        return (yield from Ask(["a"], wait=7.0))

    await both(flow, seats(llm=model))
    assert waited == [(7.0, 0), (7.0, 1)]


async def test_async_the_flow_runs_beside_the_event_loop():
    threads = []

    def flow():
        threads.append(threading.current_thread())
        yield from Ask(["a"])
        threads.append(threading.current_thread())

    await adrive(flow(), seats(llm=Model()))
    assert threads
    assert threading.main_thread() not in threads


async def test_two_flows_wait_for_their_models_side_by_side():
    both_there = asyncio.Barrier(2)

    class Meeting(Model):
        async def aask(self, prompts, **kwargs):
            await asyncio.wait_for(both_there.wait(), 30)
            return (Reply("met"),)

    def flow():
        return (yield from Ask(["a"]))

    own = seats(llm=Meeting())
    assert await asyncio.gather(adrive(flow(), own), adrive(flow(), own)) == [(Reply("met"),)] * 2


async def test_an_error_of_the_flow_comes_out_as_it_is():
    def flow():
        yield from Ask(["a"])
        raise KeyError("x")

    with pytest.raises(KeyError):
        drive(flow(), seats())
    with pytest.raises(KeyError):
        await adrive(flow(), seats())


async def test_the_reranker_orders_messages_and_without_one_there_is_none():
    async def arerank(question, messages):
        return Ranking((1, 0))

    own = SimpleNamespace(rerank=lambda question, messages: Ranking((0, 1)), arerank=arerank)

    def flow():
        return (yield from Rerank("x", [message(1), message(2)]))

    assert await both(flow, seats(reranker=own)) == (Ranking((0, 1)), Ranking((1, 0)))
    assert await both(flow, seats()) == (None, None)


async def test_without_an_embedder_there_are_no_vectors():
    def flow():
        return (yield from Embed(["x"]))

    assert await both(flow, seats()) == (None, None)


def remembering(store, cache, shown):
    def flow():
        yield from Remember("k", VERDICTS, shown)
        return (yield from Recall(["k", "other"], GateVerdict))

    return drive(flow(), seats(store, verdicts=cache))


def test_what_is_remembered_is_recalled():
    shown = [message(1)]
    assert remembering(Store(*shown), VerdictCache(), shown) == (VERDICTS, None)


def test_without_a_cache_nothing_is_known():
    assert remembering(Store(message(1)), None, [message(1)]) == (None, None)


@pytest.mark.parametrize("now", [[], [message(1, "edited")]], ids=["deleted", "edited"])
def test_what_was_deleted_or_edited_while_it_was_judged_is_not_remembered(now):
    assert remembering(Store(*now), VerdictCache(), [message(1)]) == (None, None)


def test_a_cache_that_cannot_be_used_is_told_in_the_log_and_costs_nothing_else(tmp_path, caplog):
    cache = VerdictCache(tmp_path / "v")
    (tmp_path / "v").write_bytes(b"no database" * 100)
    assert remembering(Store(message(1)), cache, [message(1)]) == (None, None)
    assert "cannot be used" in caplog.text


def test_a_message_outside_the_scope_is_never_handed_on():
    store = Store(message(1, channel="board"))

    def flow():
        return (yield Load(rows=None))

    with pytest.raises(StoreError, match="outside the scope"):
        drive(flow(), seats(store, query=Query(text="x", channels=frozenset({"ops"}))))
