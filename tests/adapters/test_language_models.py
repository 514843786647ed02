import asyncio
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from framework_fakes import Chat, Completion, Runs
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.llms import MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from pydantic import Field

from tmem_integrations.bridges.language_models import as_language_model
from tmem_integrations.errors import ConfigError
from tmem_integrations.protocols import LanguageModel, Reply


def test_no_llm_gives_no_language_model():
    assert as_language_model(None) is None


def test_a_language_model_of_ours_goes_through():
    own = SimpleNamespace(name="own", ask=lambda prompts: (), aask=None)
    assert as_language_model(own) is own


@pytest.mark.parametrize("wrong", ["gpt-5", Chat, MockLLM, object()])
def test_what_is_no_language_model_is_refused(wrong):
    with pytest.raises(ConfigError, match="LangChain chat model, a LlamaIndex LLM"):
        as_language_model(wrong)


def test_at_least_one_call_at_a_time():
    with pytest.raises(ConfigError, match="at least 1, got 0"):
        as_language_model(Chat(), max_concurrency=0)


@pytest.mark.parametrize("llm", [Chat(), Completion()])
async def test_replies_stand_in_the_order_of_the_prompts_with_their_tokens(llm):
    model = as_language_model(llm)
    expected = tuple(Reply(t, input_tokens=7, output_tokens=2) for t in ("A", "B", "C"))
    assert model.ask(["a", "b", "c"]) == expected
    assert await model.aask(["a", "b", "c"]) == expected


@pytest.mark.parametrize("llm", [Chat(), Completion()])
async def test_a_failed_call_costs_its_own_reply_only(llm):
    model = as_language_model(llm)
    for replies in (model.ask(["a", "fail", "c"]), await model.aask(["a", "fail", "c"])):
        assert [r.text for r in replies] == ["A", "", "C"]
        assert [r.error for r in replies] == [None, "RuntimeError", None]


@pytest.mark.parametrize("llm", [Chat(), Completion()])
def test_no_prompts_give_no_replies(llm):
    assert as_language_model(llm).ask([]) == ()


def test_a_blank_answer_is_an_error_with_the_finish_reason():
    reply = as_language_model(Chat()).ask(["mute"])[0]
    assert (reply.error, reply.failure) == ("no text, finish reason 'length'", "content")


def test_a_refusal_is_an_error_without_its_words():
    reply = as_language_model(Chat(refusal="I cannot judge Ann")).ask(["mute"])[0]
    assert (reply.error, reply.failure) == ("no text, refused", "content")


def test_the_tokens_of_a_blank_answer_are_still_counted():
    assert as_language_model(Chat()).ask(["mute"])[0].input_tokens == 7


@pytest.mark.parametrize(("llm", "name"), [(Chat(), "capitals-1"), (Completion(), "capitals-2")])
def test_a_language_model_has_the_name_of_its_model(llm, name):
    assert as_language_model(llm).name == name


def test_a_llama_index_model_without_a_name_has_that_of_its_class():
    assert as_language_model(MockLLM()).name == "MockLLM"


async def test_as_many_calls_run_at_once_as_max_concurrency_says():
    two = asyncio.Barrier(2)

    class Pairs(Chat):
        async def _agenerate(self, messages, **kwargs):
            self.running += 1
            self.most = max(self.most, self.running)
            await two.wait()  # alone it would wait for ever
            self.running -= 1
            return self._answer("a")

    chat = Pairs()
    replies = await as_language_model(chat, max_concurrency=2).aask(["a"] * 6, timeout=30)
    assert [reply.error for reply in replies] == [None] * 6
    assert chat.most == 2


class Slow(Chat):
    """Answers "slow" when it is told to."""

    go: threading.Event = Field(default_factory=threading.Event)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if messages[-1].text == "slow":
            self.go.wait(30)
        return self._answer(messages[-1].text)

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        if messages[-1].text == "slow":
            await asyncio.sleep(30)
        return self._answer(messages[-1].text)


async def test_a_late_call_is_given_up_and_the_others_count():
    chat = Slow()
    model = as_language_model(chat)
    replies = model.ask(["a", "slow"], timeout=1)
    chat.go.set()
    for got in (replies, await model.aask(["a", "slow"], timeout=1)):
        assert [r.text for r in got] == ["A", ""]
        assert (got[1].error, got[1].failure) == ("TimeoutError", "transient")


async def test_a_call_that_nobody_waits_for_is_cancelled():
    begun, cancelled = asyncio.Event(), asyncio.Event()

    class Told(Chat):
        async def _agenerate(self, messages, **kwargs):
            begun.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                cancelled.set()
                raise

    question = asyncio.create_task(as_language_model(Told()).aask(["a"]))
    await begun.wait()
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    assert cancelled.is_set()


def test_an_answer_in_blocks_is_read_as_their_text():
    class Blocks(Chat):
        def _answer(self, prompt):
            blocks = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "yes"}]
            return ChatResult(generations=[ChatGeneration(message=AIMessage(blocks))])

    assert as_language_model(Blocks()).ask(["a"])[0].text == "yes"


@pytest.mark.parametrize("raw", [object(), None, 3, {"usage": None}])
def test_a_llama_index_answer_without_readable_usage_has_unknown_tokens(raw):
    class Odd(Completion):
        @llm_completion_callback()
        def complete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text="ok", raw=raw)

    assert as_language_model(Odd()).ask(["a"]) == (Reply("ok"),)


async def test_a_llama_index_chat_model_is_asked_through_chat():
    class ChatOnly(Completion):
        @property
        def metadata(self):
            return LLMMetadata(is_chat_model=True)

        def chat(self, messages, **kwargs):
            return ChatResponse(
                message=ChatMessage(role="assistant", content=f"{messages[0].content}!")
            )

        async def achat(self, messages, **kwargs):
            return self.chat(messages)

    model = as_language_model(ChatOnly())
    assert [r.text for r in (*model.ask(["a"]), *await model.aask(["b"]))] == ["a!", "b!"]


async def test_a_sync_llama_index_llm_does_not_block_the_event_loop():
    threads = []

    class Where(Completion):
        @llm_completion_callback()
        def complete(self, prompt, formatted=False, **kwargs):
            threads.append(threading.current_thread())
            return CompletionResponse(text="ok")

    await as_language_model(Where()).aask(["a"])
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("llm", [Chat(), Completion()])
async def test_a_call_appears_under_the_run_it_is_made_in_and_streams_nothing(llm):
    model = as_language_model(llm)
    runs = Runs()

    async def aask(prompt):
        await model.aask([prompt])

    chain = RunnableLambda(lambda prompt: model.ask([prompt]), afunc=aask)
    chain.invoke("a", {"callbacks": [runs]})
    await chain.ainvoke("a", {"callbacks": [runs]})
    assert runs.calls == [("chain", ["nostream"])] * 2


def test_a_bridged_language_model_fulfils_the_protocol():
    model: LanguageModel = as_language_model(Chat())
    assert {"name", "ask", "aask"} <= set(dir(model))


def test_a_late_call_does_not_hold_up_the_end_of_the_program():
    script = (
        "import time\n"
        "from langchain_core.language_models import FakeListChatModel\n"
        "from tmem_integrations.bridges.language_models import as_language_model\n"
        "model = as_language_model(FakeListChatModel(responses=['x'], sleep=600))\n"
        "print(model.ask(['a'], timeout=0.01)[0].error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "TimeoutError\n"
