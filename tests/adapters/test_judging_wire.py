"""The whole way of a question with the real clients of both frameworks over a real wire."""

import json
import re
import threading

import pytest
from langchain_openai import ChatOpenAI
from support.judging import label_of
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

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.bridges.language_models import as_language_model
from tmem_integrations.errors import ModelError
from tmem_integrations.prompts.gate import gate_schema

QUESTION = "When do we launch?"
TEXTS = {
    "a": "We launch on Friday.",
    "b": "Soup for lunch?",
    "c": "No, we launch on Monday.",
}


def history(texts=TEXTS):
    return [
        {"id": i, "timestamp": f"2026-03-02T09:{n:02}:00Z", "author": "Ann", "text": text}
        for n, (i, text) in enumerate(texts.items())
    ]


def judge(call):
    """All about a launch is KEY; every child continues the first message."""
    prompt = call.prompt
    if "Children and their eligible parents" in prompt:
        children = re.findall(r"^(m\d+): (m\d+)", prompt, re.MULTILINE)
        links = [{"child": c, "parent": p, "relation": "UPDATE", "confidence": 0.9, "relevance": 1} for c, p in children]  # fmt: skip
        return json.dumps({"links": links})
    found = [label_of(prompt, text) for text in TEXTS.values() if "launch" in text]
    return json.dumps({"selected": [{"id": c, "label": "KEY", "reason": "x"} for c in found if c]})


@pytest.fixture
def server():
    with OpenAIServer(answers(judge)) as running:
        yield running


def chat_openai(server, **settings):
    settings = {"model": "any", "api_key": "none", "max_retries": 0, "timeout": 10} | settings
    return ChatOpenAI(base_url=server.base_url, **settings)


def openai_like(server, **settings):
    module = pytest.importorskip("llama_index.llms.openai_like")
    settings = {"model": "any", "api_key": "none", "max_retries": 0, "timeout": 10} | settings
    return module.OpenAILike(
        api_base=server.base_url,
        is_chat_model=True,
        http_client=server.http_client(),
        **settings,
    )


MODELS = [chat_openai, openai_like]


def ask(model, texts=TEXTS, **settings):
    retriever = TemporalForestRetriever.from_messages(
        history(texts), llm=model, embeddings=False, **settings
    )
    (document,) = retriever.invoke(QUESTION)
    return document.metadata


def relations(metadata):
    return [(node["message_id"], node["relation"]) for node in metadata["nodes"]]


@pytest.mark.parametrize("make", MODELS)
def test_a_model_judges_over_the_wire(server, make):
    metadata = ask(make(server))
    assert relations(metadata) == [("a", "ROOT"), ("c", "UPDATE")]
    assert (metadata["llm_calls"], metadata["degraded"]) == (2, [])
    assert metadata["llm_tokens"]["input"] == sum(len(call.prompt) // 4 for call in server.calls)


async def test_async_it_is_the_same(server):
    retriever = TemporalForestRetriever.from_messages(
        history(), llm=chat_openai(server), embeddings=False
    )
    (document,) = await retriever.ainvoke(QUESTION)
    assert relations(document.metadata) == [("a", "ROOT"), ("c", "UPDATE")]


@pytest.mark.parametrize(
    ("make", "settings"),
    [(chat_openai, {}), (openai_like, {"should_use_structured_outputs": True})],
    ids=["langchain", "llama_index"],
)
def test_the_schema_reaches_a_service_with_structured_output(server, make, settings):
    ask(make(server, **settings))
    gate, linker = (call.schema for call in server.calls)
    assert gate["properties"] == gate_schema(3)["properties"]
    assert "links" in linker["properties"]


def test_a_llama_index_model_without_structured_output_is_asked_in_plain_text(server):
    ask(openai_like(server))
    assert [call.schema for call in server.calls] == [None, None]


def test_a_service_that_refuses_the_schema_is_asked_in_plain_text_from_then_on():
    refusal = fails(400, "invalid_request_error", message="response_format is not supported")

    def behave(call):
        return refusal(call) if call.schema else answers(judge)(call)

    with OpenAIServer(behave) as server:
        metadata = ask(chat_openai(server))
        assert [call.schema is not None for call in server.calls] == [True, False, False]
    assert relations(metadata) == [("a", "ROOT"), ("c", "UPDATE")]
    # The refused call counts as one.
    assert (metadata["llm_calls"], metadata["degraded"]) == (3, [])


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize(
    "behaviour",
    [fails(500), fails(429, retry_after=0.1), drops(), sends_no_json()],
    ids=["500", "429", "dropped", "no json"],
)
def test_a_call_that_fails_in_passing_is_made_again(server, make, behaviour):
    server.script(behaviour)
    metadata = ask(make(server))
    assert relations(metadata) == [("a", "ROOT"), ("c", "UPDATE")]
    assert (metadata["llm_calls"], len(server.calls), metadata["degraded"]) == (3, 3, [])


def test_a_malformed_answer_is_asked_for_again(server):
    server.script(answers("I would pick the first one."))
    metadata = ask(chat_openai(server))
    assert relations(metadata) == [("a", "ROOT"), ("c", "UPDATE")]


@pytest.mark.parametrize("behaviour", [refuses(), filtered(), cut("{}", 0)], ids=["refused", "filtered", "cut"])  # fmt: skip
def test_a_refusal_of_all_is_judged_by_rule_and_told(behaviour):
    with OpenAIServer(behaviour) as server:
        metadata = ask(chat_openai(server))
    assert "a" in metadata["message_ids"]
    assert "judged by rule" in metadata["degraded"][0]


def test_one_message_of_twenty_that_a_filter_stops_costs_that_message():
    texts = {f"m{i}": f"We launch number {i}." for i in range(20)}

    def select_all(call):
        shown = re.findall(r"^(c\d+) \d\d:\d\d", call.prompt, re.MULTILINE)
        return json.dumps(
            {"selected": [{"id": c, "label": "SUPPORT", "reason": "x"} for c in shown]}
        )

    otherwise = answers(lambda call: '{"links": []}' if "Children" in call.prompt else select_all(call))  # fmt: skip
    with OpenAIServer(blocks("number 13.", otherwise)) as server:
        metadata = ask(chat_openai(server), texts)
    labels = {node["message_id"]: node["label"] for node in metadata["nodes"]}
    # All are anchors, and an anchor that the model did not judge is KEY by rule.
    assert labels == {i: "KEY" if i == "m13" else "SUPPORT" for i in texts}
    assert metadata["degraded"][0].startswith("1 candidate message was judged by rule: ")


@pytest.mark.parametrize("make", MODELS)
def test_a_client_that_retries_by_itself_is_not_retried_on_top(make):
    settings = {"max_retries": 1}
    with OpenAIServer(fails(500, retry_after=0.1)) as server:
        metadata = ask(make(server, **settings))
        per_question = len(server.calls)
    # The gate's and the linker's call, each made once or twice by the client alone.
    assert metadata["llm_calls"] == 2
    assert per_question <= 4


def test_a_wrong_key_is_asked_with_once_per_seat_and_never_told():
    with OpenAIServer(answers(judge), api_key="right") as server:
        metadata = ask(chat_openai(server, api_key="sk-wrong"))
        assert len(server.calls) == 2
    assert "401 invalid_api_key" in metadata["degraded"][0]
    assert "sk-wrong" not in json.dumps(metadata)


def test_a_failing_service_raises_where_that_is_the_policy():
    with (
        OpenAIServer(fails(401)) as server,
        pytest.raises(ModelError, match=r"any did not judge 3 messages: .*401"),
    ):
        ask(chat_openai(server), on_model_failure="raise")


async def test_after_the_deadline_the_question_returns_what_it_has():
    answered = threading.Event()
    with OpenAIServer(waits(answered, answers(judge))) as server:
        retriever = TemporalForestRetriever.from_messages(
            history(), llm=chat_openai(server), embeddings=False, deadline=0.2
        )
        for (document,) in (retriever.invoke(QUESTION), await retriever.ainvoke(QUESTION)):
            assert "deadline of 0:00:00.200000 reached" in document.metadata["degraded"][0]
            assert "a" in document.metadata["message_ids"]
        answered.set()


def test_all_batches_of_a_question_are_in_flight_at_once_within_the_bound():
    texts = {f"m{i}": f"We launch number {i}." for i in range(20)}
    three, lock, seen = threading.Event(), threading.Lock(), []

    def behave(call):
        with lock:
            seen.append(call)
            if len(seen) == 3:
                three.set()
        return waits(three, answers('{"selected": []}'))(call)

    with OpenAIServer(behave) as server:
        model = as_language_model(chat_openai(server), max_concurrency=3)
        replies = model.ask([f"{text}" for text in texts])
        assert [reply.error for reply in replies] == [None] * 20
        assert server.max_in_flight == 3
