"""Native structured output is used where a model has it, and plain text everywhere else."""

import json
import warnings

import pytest
from framework_fakes import Chat, Completion
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from support.openai_server import OpenAIServer, answers, fails

from tmem_integrations.bridges.language_models import as_language_model
from tmem_integrations.bridges.llama_index_llm import LlamaIndexChatModel
from tmem_integrations.bridges.structured_output import bind_schema, text_of
from tmem_integrations.prompts.gate import gate_schema

SCHEMA = gate_schema(2)


def chat_openai(model="any", **settings):
    return ChatOpenAI(model=model, api_key="none", max_retries=0, **settings)


def test_openais_models_take_the_schema_as_it_is_and_not_strict():
    wanted = bind_schema(chat_openai(), SCHEMA).kwargs["response_format"]["json_schema"]
    assert wanted["schema"]["properties"] == SCHEMA["properties"]
    # Strict mode refuses the bounds that keep a token limit from cutting the answer.
    assert not wanted.get("strict")


def test_an_old_model_of_openais_answers_by_a_tool_call_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = bind_schema(chat_openai("gpt-4"), SCHEMA)
    assert bound.kwargs["tools"][0]["function"]["name"] == "evidence"


@pytest.mark.parametrize(
    "chat", [Chat(), LlamaIndexChatModel(llm=Completion())], ids=["langchain", "llama_index"]
)
def test_a_model_without_structured_output_is_bound_to_nothing(chat):
    assert bind_schema(chat, SCHEMA) is None


def test_a_model_that_refuses_to_be_bound_is_asked_in_plain_text():
    class Refusing(Chat):
        def with_structured_output(self, schema, *, method: "json_schema" = None, **kwargs):  # noqa: F821  # as in a client with postponed annotations
            raise NotImplementedError

    assert bind_schema(Refusing(), SCHEMA) is None
    (reply,) = as_language_model(Refusing()).ask(["a"], schema=SCHEMA)
    assert reply.text == "A"


def test_a_tool_call_is_read_as_the_text_it_stands_for():
    call = {"name": "evidence", "args": {"selected": []}, "id": "1"}
    assert json.loads(text_of(AIMessage("", tool_calls=[call]))) == {"selected": []}
    assert text_of(AIMessage("words", tool_calls=[call])) == "words"


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_schema_that_is_refused_is_left_out_of_all_later_calls(status):
    def behave(call):
        return fails(status)(call) if call.schema else answers("ok")(call)

    with OpenAIServer(behave) as server:
        model = as_language_model(chat_openai(base_url=server.base_url))
        (refused,) = await model.aask(["a"], schema=SCHEMA)
        (again,) = await model.aask(["a"], schema=SCHEMA)
        (sync,) = model.ask(["a"], schema=SCHEMA)
    # It may pass, since the next call is another one.
    assert (refused.text, refused.failure) == ("", "transient")
    assert (again.text, sync.text) == ("ok", "ok")


@pytest.mark.parametrize(("status", "failure"), [(401, "permanent"), (500, "transient")])
def test_another_failure_is_none_of_the_schemas(status, failure):
    with OpenAIServer(fails(status)) as server:
        model = as_language_model(chat_openai(base_url=server.base_url))
        for _ in range(2):
            assert model.ask(["a"], schema=SCHEMA)[0].failure == failure
        assert all(call.schema for call in server.calls)


def test_without_a_schema_none_is_sent():
    with OpenAIServer(answers("ok")) as server:
        as_language_model(chat_openai(base_url=server.base_url)).ask(["a"])
        assert server.calls[0].schema is None


class WithRetries(Chat):
    """Its client repeats failed calls itself, as most do."""

    max_retries: int | None = 2

    def _answer(self, prompt):
        if prompt == "fail":
            raise TimeoutError
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])


@pytest.mark.parametrize(("retries", "failure"), [(2, "retried"), (None, "retried"), (0, "transient")])  # fmt: skip
async def test_what_the_client_has_repeated_is_not_to_be_repeated_again(retries, failure):
    model = as_language_model(WithRetries(max_retries=retries))
    assert model.ask(["fail"])[0].failure == failure
    assert (await model.aask(["fail"]))[0].failure == failure
