import asyncio
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.embeddings.mock_embed_model import MockEmbedding
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback

from tmem_integrations.bridges.embedders import as_embedder
from tmem_integrations.bridges.filters import FILTERS, check_keywords, narrow
from tmem_integrations.bridges.language_models import as_language_model
from tmem_integrations.errors import AccessError, ConfigError, ModelError, QueryError
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.models.embeddings import MiniLM, StaticEmbedder
from tmem_integrations.protocols import Embedder, LanguageModel, Reply


class Lengths(Embeddings):
    """(length, 1) of each text; refuses blank texts as services do."""

    model = "lengths-2"

    def embed_documents(self, texts):
        if not all(text.strip() for text in texts):
            raise ValueError("input cannot be an empty string")
        return [[len(text), 1.0] for text in texts]

    def embed_query(self, text):
        return self.embed_documents([text])[0]


def lengths_function(texts):
    return Lengths().embed_documents(texts)


UNIT_OF_3 = np.array([3, 1]) / np.sqrt(10)


@pytest.mark.parametrize("nothing", [None, False, "none"])
def test_no_embeddings_give_no_embedder(nothing):
    assert as_embedder(nothing) is None


@pytest.mark.parametrize(("word", "kind"), [("static", StaticEmbedder), ("minilm", MiniLM)])
def test_a_word_names_an_offline_embedder(word, kind):
    assert isinstance(as_embedder(word), kind)


def test_an_embedder_of_ours_goes_through():
    own = StaticEmbedder()
    assert as_embedder(own) is own


@pytest.mark.parametrize("wrong", ["openai", 3, Lengths, object()])
def test_what_is_no_embedding_model_is_refused_with_the_choices(wrong):
    with pytest.raises(ConfigError, match='"static", "minilm", "none"'):
        as_embedder(wrong)


@pytest.mark.parametrize("model", [Lengths(), lengths_function])
def test_vectors_of_a_framework_are_scaled_to_length_one(model):
    np.testing.assert_allclose(as_embedder(model).embed(["abc"]), [UNIT_OF_3], atol=1e-6)


@pytest.mark.parametrize("model", [Lengths(), lengths_function])
async def test_async_vectors_equal_the_sync_ones(model):
    np.testing.assert_allclose(await as_embedder(model).aembed(["abc"]), [UNIT_OF_3], atol=1e-6)


def test_blank_texts_are_zero_vectors_and_never_reach_the_model():
    vectors = as_embedder(Lengths()).embed(["", "abc", " "])
    np.testing.assert_allclose(vectors, [[0, 0], UNIT_OF_3, [0, 0]], atol=1e-6)


def test_only_blank_texts_still_have_the_width_of_the_model():
    np.testing.assert_array_equal(as_embedder(Lengths()).embed(["", " "]), np.zeros((2, 2)))


def test_a_lone_surrogate_reaches_no_service():
    seen = []
    as_embedder(lambda texts: seen.extend(texts) or [[1.0]] * len(texts)).embed(["a\ud83d"])
    assert seen == ["a\ufffd"]


def test_llama_index_embeddings_are_read():
    np.testing.assert_allclose(
        as_embedder(MockEmbedding(embed_dim=4)).embed(["a"]), [[0.5] * 4], atol=1e-6
    )  # a constant vector c of 4 d has length 2c


async def test_a_sync_llama_index_model_does_not_block_the_event_loop():
    threads = []

    class Where(MockEmbedding):
        def _get_text_embedding(self, text):
            threads.append(threading.current_thread())
            return [1.0]

    class Plain(Where):
        _aget_text_embedding = BaseEmbedding._aget_text_embedding

    await as_embedder(Plain(embed_dim=1)).aembed(["a"])
    assert threads != [threading.main_thread()]


async def test_an_async_llama_index_model_is_awaited():
    awaited = []

    class Native(MockEmbedding):
        async def _aget_text_embedding(self, text):
            awaited.append(text)
            return [1.0]

    await as_embedder(Native(embed_dim=1)).aembed(["a"])
    assert awaited == ["a"]


class ChromaFunction:
    def __call__(self, input):
        return [np.array([1.0, 0.0]) for _ in input]

    @staticmethod
    def name():
        return "my-service"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Lengths(), "lengths-2"),
        (DeterministicFakeEmbedding(size=4), "DeterministicFakeEmbedding"),
        (MockEmbedding(embed_dim=4), "MockEmbedding"),
        (MockEmbedding(embed_dim=4, model_name="m3"), "m3"),
        (ChromaFunction(), "my-service"),
        (lengths_function, "lengths_function"),
    ],
)
def test_the_stored_name_is_the_models_own(model, name):
    assert as_embedder(model).name == name


def test_chosen_dimensions_are_part_of_the_name():
    model = Lengths()
    model.dimensions = 256
    assert as_embedder(model).name == "lengths-2-256"


def test_chromas_default_function_is_minilm():
    from chromadb.utils.embedding_functions import DefaultEmbeddingFunction

    assert as_embedder(DefaultEmbeddingFunction()).name == MiniLM().name


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ([[1.0]], "1 vectors for 2 texts"),
        ([[1.0], [1.0, 2.0]], "no matrix"),
        ([[float("nan")], [1.0]], "no matrix"),
        (None, "no matrix"),
    ],
)
def test_an_odd_answer_of_an_embedding_model_names_the_model(answer, problem):
    odd = type("Odd", (ChromaFunction,), {"__call__": lambda self, texts: answer})()
    with pytest.raises(ModelError, match=f"my-service.*{problem}"):
        as_embedder(odd).embed(["a", "b"])


class Failing(Lengths):
    def embed_documents(self, texts):
        raise ConnectionError("no route")


def test_a_failing_embedding_model_is_a_model_error_with_its_cause():
    with pytest.raises(
        ModelError, match="lengths-2 could not embed 1 texts: ConnectionError: no r"
    ):
        as_embedder(Failing()).embed(["a"])


async def test_a_failing_embedding_model_is_a_model_error_in_async_too():
    with pytest.raises(
        ModelError, match="lengths-2 could not embed 1 texts: ConnectionError: no r"
    ):
        await as_embedder(Failing()).aembed(["a"])


def test_a_bridged_embedder_can_be_pickled():
    embedder = pickle.loads(pickle.dumps(as_embedder(lengths_function)))
    np.testing.assert_allclose(embedder.embed(["abc"]), [UNIT_OF_3], atol=1e-6)


class Chat(BaseChatModel):
    """Answers in capitals; fails on "fail", says nothing on "mute"; counts calls at once."""

    running: int = 0
    most: int = 0
    refusal: str | None = None
    model_name: str = "capitals-1"

    @property
    def _llm_type(self):
        return "capitals"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._answer(messages[-1].text)

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return self._answer(messages[-1].text)

    def _answer(self, prompt):
        if prompt == "fail":
            raise RuntimeError("content filter")
        message = AIMessage(
            "" if prompt == "mute" else prompt.upper(),
            usage_metadata={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
            additional_kwargs={"refusal": self.refusal} if self.refusal else {},
            response_metadata={"finish_reason": "length"},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


class Completion(CustomLLM):
    """The same of LlamaIndex."""

    @property
    def metadata(self):
        return LLMMetadata(model_name="capitals-2")

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        if prompt == "fail":
            raise RuntimeError("content filter")
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        return CompletionResponse(text=prompt.upper(), raw={"usage": usage})

    @llm_completion_callback()
    def stream_complete(self, prompt, formatted=False, **kwargs):
        yield self.complete(prompt)


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
        assert [r.error for r in replies] == [None, "RuntimeError: content filter", None]


@pytest.mark.parametrize("llm", [Chat(), Completion()])
def test_no_prompts_give_no_replies(llm):
    assert as_language_model(llm).ask([]) == ()


def test_a_blank_answer_is_an_error_with_the_finish_reason():
    assert as_language_model(Chat()).ask(["mute"])[0].error == "no text (finish reason: length)"


def test_a_refusal_is_an_error_with_its_words():
    assert as_language_model(Chat(refusal="I cannot")).ask(["mute"])[0].error == "refused: I cannot"


@pytest.mark.parametrize(("llm", "name"), [(Chat(), "capitals-1"), (Completion(), "capitals-2")])
def test_a_language_model_has_the_name_of_its_model(llm, name):
    assert as_language_model(llm).name == name


def test_a_llama_index_model_without_a_name_has_that_of_its_class():
    assert as_language_model(MockLLM()).name == "MockLLM"


async def test_at_most_max_concurrency_calls_run_at_once():
    chat = Chat()
    await as_language_model(chat, max_concurrency=2).aask(["a"] * 6)
    assert chat.most == 2


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
    class ChatOnly(MockLLM):
        def chat(self, messages, **kwargs):
            return ChatResponse(
                message=ChatMessage(role="assistant", content=f"{messages[0].content}!")
            )

        async def achat(self, messages, **kwargs):
            return self.chat(messages)

    model = as_language_model(ChatOnly(is_chat_model=True))
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


class Runs(BaseCallbackHandler):
    """Records (kind, parent's kind, tags) of each run."""

    def __init__(self):
        self.kinds = {}
        self.calls = []

    def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
        self.kinds[run_id] = "chain"

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id, tags, **kwargs):
        self.calls.append((self.kinds.get(parent_run_id), tags))


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


def test_unknown_keywords_are_refused_with_the_nearest_known_one():
    with pytest.raises(QueryError, match="invoke does not know 'channel'; did you mean 'channels'"):
        check_keywords(["channel"], "invoke")


def test_every_filter_of_a_query_is_a_keyword():
    assert check_keywords([*FILTERS, "max_messages", "max_tokens"], "invoke") is None


names = st.one_of(st.none(), st.frozensets(st.sampled_from("abc")))
moments = st.one_of(
    st.none(), st.sampled_from([f"2026-01-0{day}T00:00:00+00:00" for day in range(1, 7)])
)


@st.composite
def queries(draw):
    return Query.create(
        "q",
        as_of=draw(moments), after=draw(moments), before=draw(moments),
        channels=draw(names), not_channels=draw(names), authors=draw(names), topics=draw(names),
    )  # fmt: skip


@st.composite
def messages(draw):
    letter = st.one_of(st.none(), st.sampled_from("abc"))
    return Message(
        id="m", text="", sent_at=draw(moments.filter(bool)),
        author=draw(letter), channel=draw(letter), topic=draw(letter),
    )  # fmt: skip


@given(queries(), queries(), messages())
def test_a_narrowed_query_admits_what_both_admit(scope, question, message):
    both = Scope(scope).admits(message) and Scope(question).admits(message)
    assert Scope(narrow(scope, question)).admits(message) == both


def test_a_narrowed_query_keeps_the_question():
    assert narrow(Query(text=""), Query(text="q")).text == "q"


@pytest.mark.parametrize(
    ("scoped", "asked", "user"),
    [("ann", None, "ann"), (None, "bo", "bo"), ("ann", "ann", "ann"), (None, None, None)],
)
def test_the_asker_is_the_one_of_the_scope_or_of_the_question(scoped, asked, user):
    narrowed = narrow(Query(text="", asking_user=scoped), Query(text="q", asking_user=asked))
    assert narrowed.asking_user == user


def test_nobody_else_asks_through_a_scope():
    with pytest.raises(AccessError, match="scoped to asking_user='ann'; 'bo' cannot"):
        narrow(Query(text="", asking_user="ann"), Query(text="q", asking_user="bo"))


@pytest.mark.parametrize("model", [Lengths(), MockEmbedding(embed_dim=2), ChromaFunction()])
def test_a_bridged_embedder_fulfils_the_protocol(model):
    assert isinstance(as_embedder(model), Embedder)


def test_a_bridged_language_model_fulfils_the_protocol():
    model: LanguageModel = as_language_model(Chat())
    assert {"name", "ask", "aask"} <= set(dir(model))
