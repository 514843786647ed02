"""Models over a real wire: the clients of both frameworks against a service that fails as told."""

import asyncio
import json
import threading
from datetime import UTC, datetime

import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_openai import ChatOpenAI
from support.openai_server import (
    OpenAIServer,
    answers,
    blocks,
    cut,
    drops,
    fails,
    filtered,
    refuses,
    sends_no_json,
    waits,
)

from tmem_integrations.models.budget import Budget
from tmem_integrations.models.failures import classify_blank, reply_from_error
from tmem_integrations.models.judging import RetryPolicy, judge_batches
from tmem_integrations.models.replies import read_gate
from tmem_integrations.prompts.gate import GatePrompt, gate_schema
from tmem_integrations.prompts.transcript import PromptMessage
from tmem_integrations.protocols import Reply

ANSWER = '{"selected":[{"id":"c1","label":"KEY","reason":"date"}]}'


@pytest.fixture
def server():
    with OpenAIServer(answers(ANSWER)) as running:
        yield running


def chat_openai(server, **settings):
    settings = {"model": "any", "api_key": "none", "max_retries": 0, "timeout": 10} | settings
    return ChatOpenAI(base_url=server.base_url, **settings)


def candidates(n):
    at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    return [PromptMessage(f"c{i}", at, text=f"text{i}.") for i in range(1, n + 1)]


def reply(model, prompt):
    """The last step of a bridge: one call as a `Reply`."""
    try:
        message = model.invoke(prompt)
    except Exception as error:  # whatever the client raises is what this is about
        return reply_from_error(error)
    usage = message.usage_metadata or {}
    text = str(message.text)
    why = message.response_metadata.get("finish_reason")
    refusal = message.additional_kwargs.get("refusal")
    return Reply(
        text,
        error=None if text else "no text",
        failure=None if text else classify_blank(why, refusal),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
    )


def run(flow, model):
    """Drive the flow without sleeping; return its result and the waits it wanted."""
    waited, replies = [], None
    while True:
        try:
            asked = flow.send(replies)
        except StopIteration as stop:
            return stop.value, waited
        waited.append(asked.wait)
        replies = [reply(model, prompt) for prompt in asked.prompts]


def judge(batches, model):
    budget = Budget()
    flow = judge_batches(
        batches,
        prompt=lambda items: GatePrompt().render("When?", items),
        read=lambda items, text: read_gate(text, [item.label for item in items]),
        budget=budget,
        count_tokens=len,
        reply_tokens=lambda n: 20 * n,
        retries=RetryPolicy(jitter=0.0),
    )
    parts, waited = run(flow, model)
    return parts, waited, budget


def test_a_prompt_goes_out_and_its_verdict_comes_back_with_usage(server):
    (part,), _, budget = judge([candidates(2)], chat_openai(server))
    assert [verdict.label for verdict in part.reading.entries] == ["c1"]
    assert server.calls[0].prompt == GatePrompt().render("When?", candidates(2))
    assert budget.input_tokens == len(server.calls[0].prompt) // 4
    assert budget.output_tokens == len(ANSWER) // 4


def test_structured_output_sends_the_schema_of_the_prompt(server):
    schema = gate_schema(2)
    model = chat_openai(server).with_structured_output(schema, method="json_schema")
    assert model.invoke("x") == json.loads(ANSWER)
    assert server.calls[0].schema["properties"] == schema["properties"]


@pytest.mark.parametrize("usage", [True, False])
def test_a_streamed_answer_is_the_same(server, usage):
    chunks = list(chat_openai(server, stream_usage=usage).stream("12345678"))
    whole = sum(chunks[1:], chunks[0])
    assert len(chunks) > 3
    assert read_gate(str(whole.text), ["c1"]) == read_gate(ANSWER, ["c1"])
    assert (whole.usage_metadata or {}).get("input_tokens") == (8 // 4 if usage else None)


def test_usage_reaches_a_callback(server):
    handler = UsageMetadataCallbackHandler()
    chat_openai(server).invoke("12345678", config={"callbacks": [handler]})
    (usage,) = handler.usage_metadata.values()
    assert (usage["input_tokens"], usage["output_tokens"]) == (8 // 4, len(ANSWER) // 4)


def test_a_service_that_tells_no_usage_is_counted_by_estimate(server):
    server.script(answers(ANSWER, reports_usage=False))
    _, _, budget = judge([candidates(2)], chat_openai(server))
    assert budget.input_tokens == len(server.calls[0].prompt)


def test_the_wait_that_a_busy_service_asks_for_is_honoured(server):
    server.script(fails(429, retry_after=2.5))
    (part,), waited, _ = judge([candidates(1)], chat_openai(server))
    assert (waited, part.failure) == ([0.0, 2.5], None)


@pytest.mark.parametrize(
    "behaviour",
    [fails(500), fails(503), drops(), drops(b'{"id": "x", "choi'), sends_no_json()],
    ids=["500", "503", "dropped", "dropped midway", "no json"],
)
def test_a_call_that_fails_in_passing_is_made_again(server, behaviour):
    server.script(behaviour)
    (part,), waited, _ = judge([candidates(1)], chat_openai(server))
    assert (waited, part.failure, len(server.calls)) == ([0.0, 0.5], None, 2)


def test_a_time_out_may_pass(server):
    answered = threading.Event()
    server.script(waits(answered, answers(ANSWER)))
    got = reply(chat_openai(server, timeout=0.05), "x")
    answered.set()
    assert got.failure == "transient"
    assert got.error.endswith("TimeoutError")


def test_a_wrong_key_is_not_tried_again_nor_told():
    with OpenAIServer(answers(ANSWER), api_key="right") as server:
        (part,), waited, _ = judge([candidates(4)], chat_openai(server, api_key="sk-wrong"))
        assert part.failure.endswith("AuthenticationError (401 invalid_api_key)")
        assert (waited, len(server.calls)) == ([0.0], 1)


def test_a_filter_that_stops_at_one_message_of_twenty_costs_that_message():
    def select_all(call):
        shown = [c.label for c in candidates(20) if f" ?: {c.text}" in call.prompt]
        return json.dumps({"selected": shown})

    with OpenAIServer(blocks("text13.", answers(select_all))) as server:
        parts, _, _ = judge([candidates(20)], chat_openai(server))
    lost = [item.label for part in parts if part.failure for item in part.items]
    kept = [v.label for part in parts if part.reading for v in part.reading.entries]
    assert lost == ["c13"]
    assert kept == [f"c{i}" for i in range(1, 21) if i != 13]


@pytest.mark.parametrize("behaviour", [refuses(), filtered(), cut(ANSWER, 0)], ids=["refused", "filtered", "cut"])  # fmt: skip
def test_an_answer_without_text_is_of_the_content(server, behaviour):
    server.script(behaviour)
    assert reply(chat_openai(server), "x").failure == "content"


def test_a_refusal_of_the_whole_is_asked_about_in_halves(server):
    server.script(refuses(), *[answers('{"selected":[]}')] * 2)
    parts, _, _ = judge([candidates(4)], chat_openai(server))
    assert [len(part.items) for part in parts] == [2, 2]
    assert len(server.calls) == 3


def test_of_an_answer_cut_by_length_the_complete_entries_are_kept(server):
    two = ANSWER[:-2] + ',{"id":"c2","label":"KEY","reason":"who"}]}'
    server.script(cut(two, len(two) - 6))
    (part,), _, _ = judge([candidates(2)], chat_openai(server))
    assert [verdict.label for verdict in part.reading.entries] == ["c1"]


async def test_slow_calls_wait_side_by_side(server):
    arrived = threading.Event()

    def last_one_frees_all(call):
        if call.number == 2:
            arrived.set()
        return waits(arrived, answers(ANSWER))(call)

    server.script(*[last_one_frees_all] * 3)
    model = chat_openai(server)
    await asyncio.gather(*(model.ainvoke("x") for _ in range(3)))
    assert server.max_in_flight == 3


def test_llama_index_reads_the_same_service(server):
    openai_like = pytest.importorskip("llama_index.llms.openai_like")
    llm = openai_like.OpenAILike(
        model="any",
        api_base=server.base_url,
        api_key="none",
        is_chat_model=True,
        max_retries=0,
        http_client=server.http_client(),
    )
    assert read_gate(llm.complete("x").text, ["c1"]) == read_gate(ANSWER, ["c1"])
    assert "".join(piece.delta or "" for piece in llm.stream_complete("x")) == ANSWER
    server.script(fails(429, retry_after=2.5))
    with pytest.raises(Exception, match="429") as caught:
        llm.complete("x")
    failed = reply_from_error(caught.value)
    assert (failed.failure, failed.retry_after) == ("transient", 2.5)
