import asyncio
import copy
import json
import re
import threading
from dataclasses import replace

import pytest
from framework_fakes import Chat, Completion, Runs
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import Field

from tmem_integrations import TemporalForestRetriever, TemporalMemory
from tmem_integrations.bridges.language_models import as_language_model
from tmem_integrations.errors import AccessError, ConfigError, QueryError

QUESTION = "When do we launch?"


def ids(documents):
    return [i for document in documents for i in document.metadata["message_ids"]]


def rooms(n):
    """One message in each of n channels, so that each is a tree of its own."""
    return [
        {
            "id": f"r{i}",
            "timestamp": f"2026-03-0{i}T09:00:00Z",
            "channel": f"room {i}",
            "text": f"The launch party of room {i}.",
        }
        for i in range(1, n + 1)
    ]


class TestStandardPerTree(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return TemporalForestRetriever

    @property
    def retriever_constructor_params(self):
        return {"memory": TemporalMemory.from_messages(rooms(5)), "per_tree": True}

    @property
    def retriever_query_example(self):
        return "launch party"

    @property
    def num_results_arg_name(self):
        return "max_messages"


class TestStandardOneDocument(TestStandardPerTree):
    @property
    def retriever_constructor_params(self):
        return {"memory": TemporalMemory.from_messages(rooms(5))}

    @pytest.mark.xfail(strict=True, reason="one document holds all trees, whatever their number")
    def test_k_constructor_param(self):
        super().test_k_constructor_param()

    @pytest.mark.xfail(strict=True, reason="one document holds all trees, whatever their number")
    def test_invoke_with_k_kwarg(self, retriever):
        super().test_invoke_with_k_kwarg(retriever)


def test_it_is_langchains_retriever(retriever):
    assert isinstance(retriever, BaseRetriever)


def test_the_answer_is_one_document_with_author_and_text_of_each_message(retriever):
    (document,) = retriever.invoke(QUESTION)
    assert "Ann" in document.page_content
    assert "The launch moves from Friday to Monday" in document.page_content


def test_the_same_text_by_two_people_is_two_messages(retriever):
    assert {"m2", "m3"} <= set(ids(retriever.invoke("Who is fine with the launch?")))


async def test_async_gives_the_same_document(retriever):
    assert await retriever.ainvoke(QUESTION) == retriever.invoke(QUESTION)


async def test_invoke_works_inside_a_running_event_loop(retriever):
    assert asyncio.get_running_loop().is_running()
    assert "m4" in ids(retriever.invoke(QUESTION))


@pytest.mark.parametrize("question", ["kubernetes", "", "👍"])
def test_an_empty_answer_is_one_document_that_says_why(retriever, question):
    (document,) = retriever.invoke(question)
    assert document.metadata["message_ids"] == []
    assert document.page_content == f"No matching messages. {document.metadata['explanation']}"


@pytest.mark.parametrize("max_tokens", [1, 3, 4, 10, 16, 30])
@pytest.mark.parametrize("question", ["kubernetes", QUESTION])
def test_the_text_of_an_empty_answer_keeps_to_the_budget_too(retriever, question, max_tokens):
    (document,) = retriever.invoke(question, max_tokens=max_tokens)
    assert retriever.memory.counter.count(document.page_content) <= max_tokens
    matches = bool(document.metadata["dropped"])
    assert not (matches and document.page_content.startswith("No matching messages"))


def test_an_empty_history_gives_an_explained_answer():
    (document,) = TemporalForestRetriever.from_messages([]).invoke(QUESTION)
    assert document.metadata["explanation"]


def test_an_empty_answer_per_tree_is_no_document(retriever):
    per_tree = TemporalForestRetriever(memory=retriever.memory, per_tree=True)
    assert per_tree.invoke("kubernetes") == []


def test_per_tree_the_documents_share_out_the_messages_of_the_whole():
    memory = TemporalMemory.from_messages(rooms(3))
    whole = TemporalForestRetriever(memory=memory).invoke("launch party")
    trees = TemporalForestRetriever(memory=memory, per_tree=True).invoke("launch party")
    assert ids(trees) == ids(whole)
    assert [tree.metadata["trees"] for tree in trees] == [1] * whole[0].metadata["trees"]


def test_the_same_messages_have_the_same_document_id(retriever):
    assert retriever.invoke(QUESTION)[0].id == retriever.invoke(QUESTION)[0].id


def test_other_messages_have_another_document_id(retriever):
    assert retriever.invoke(QUESTION)[0].id != retriever.invoke("soup")[0].id


def test_metadata_is_json_and_the_document_can_be_dumped(retriever):
    (document,) = retriever.invoke(QUESTION)
    assert json.loads(json.dumps(document.metadata)) == document.metadata
    assert json.loads(dumps(document))["kwargs"]["metadata"] == document.metadata


def test_the_retriever_can_be_dumped_without_its_messages(retriever):
    text = dumps(retriever)
    assert json.loads(text)["type"] == "not_implemented"
    assert "launch" not in text


# Filters


def test_a_filter_of_one_call_holds(retriever):
    assert set(ids(retriever.invoke(QUESTION, channels="board"))) == {"m6"}


def test_as_of_hides_what_was_said_later(retriever):
    assert "m4" not in ids(retriever.invoke(QUESTION, as_of="2026-03-03T00:00:00Z"))


def test_max_messages_of_one_call_holds(retriever):
    assert len(ids(retriever.invoke(QUESTION, max_messages=2))) == 2


def test_max_tokens_of_one_call_holds(retriever):
    (document,) = retriever.invoke(QUESTION, max_tokens=150)
    assert document.metadata["n_tokens"] <= 150


async def test_filters_hold_in_async_too(retriever):
    assert set(ids(await retriever.ainvoke(QUESTION, channels=["board"]))) == {"m6"}


@pytest.mark.parametrize("keyword", ["channel", "k", "asking", "filter"])
async def test_an_unknown_keyword_is_an_error(retriever, keyword):
    with pytest.raises(QueryError, match=f"'{keyword}' is no filter"):
        retriever.invoke(QUESTION, **{keyword: "board"})
    with pytest.raises(QueryError, match=f"'{keyword}' is no filter"):
        await retriever.ainvoke(QUESTION, **{keyword: "board"})


def test_a_misspelt_keyword_is_told_the_right_one(retriever):
    with pytest.raises(QueryError, match="did you mean 'asking_user'"):
        retriever.invoke(QUESTION, asking_usr="ann")


def test_a_bound_filter_holds(retriever):
    assert set(ids(retriever.bind(channels="board").invoke(QUESTION))) == {"m6"}


def test_a_filter_can_be_made_configurable(retriever):
    chain = retriever.configurable_fields(channels=ConfigurableField(id="channels"))
    config = {"configurable": {"channels": "board"}}
    assert set(ids(chain.with_config(config).invoke(QUESTION))) == {"m6"}
    assert "m4" in ids(chain.invoke(QUESTION))


def test_something_else_than_a_text_is_no_question(retriever):
    with pytest.raises(QueryError, match="must be a str, got dict"):
        retriever.invoke({"question": QUESTION})


# Scope


def test_a_scoped_view_keeps_its_filters(retriever):
    assert set(ids(retriever.scoped(channels="board").invoke(QUESTION))) == {"m6"}


def test_a_view_of_a_view_has_the_filters_of_both(retriever):
    view = retriever.scoped(channels=["board", "release"]).scoped(channels=["release", "kitchen"])
    assert view.channels == {"release"}


def test_a_call_cannot_widen_a_view(retriever):
    (document,) = retriever.scoped(channels="kitchen").invoke(QUESTION, channels="board")
    assert document.metadata["message_ids"] == []


def test_a_view_is_of_the_same_memory(retriever):
    assert retriever.scoped(asking_user="ann").memory is retriever.memory


def test_a_view_takes_limits(retriever):
    assert len(ids(retriever.scoped(max_messages=1).invoke(QUESTION))) == 1


def test_nobody_else_asks_through_a_view(guarded):
    with pytest.raises(AccessError, match="scoped to asking_user='ann'"):
        guarded.scoped(asking_user="ann").invoke(QUESTION, asking_user="dee")


def test_a_view_shows_what_its_user_may_read(guarded):
    assert "m6" not in ids(guarded.scoped(asking_user="ann").invoke(QUESTION))
    assert "m6" in ids(guarded.scoped(asking_user="dee").invoke(QUESTION))


def test_access_control_needs_an_asker(guarded):
    with pytest.raises(AccessError, match="say who asks"):
        guarded.invoke(QUESTION)


def test_an_unknown_keyword_of_a_view_is_an_error(retriever):
    with pytest.raises(QueryError, match="did you mean 'as_of'"):
        retriever.scoped(asof="2026-03-03")


# Settings


@pytest.mark.parametrize("limit", ["max_messages", "max_tokens"])
def test_a_limit_that_is_not_positive_is_refused_at_once(retriever, limit):
    with pytest.raises(ConfigError, match=f"{limit} must be"):
        TemporalForestRetriever(memory=retriever.memory, **{limit: 0})


def test_a_filter_that_cannot_be_read_is_refused_at_once(retriever):
    with pytest.raises(QueryError, match="as_of must be ISO 8601"):
        TemporalForestRetriever(memory=retriever.memory, as_of="yesterday")


def test_an_unknown_setting_is_refused(retriever):
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        TemporalForestRetriever(memory=retriever.memory, budget=3)


def test_embeddings_are_static_unless_told_otherwise(retriever):
    assert retriever.memory.embedder.name == "wordllama-256"


def test_without_embeddings_there_is_no_embedder():
    assert TemporalForestRetriever.from_messages([], embeddings=False).memory.embedder is None


def test_added_messages_are_found_and_deleted_ones_are_not():
    retriever = TemporalForestRetriever.from_messages(rooms(2))
    retriever.add_messages(rooms(3))
    assert set(ids(retriever.invoke("launch party"))) == {"r1", "r2", "r3"}
    assert retriever.delete_messages(["r1", "r9"]) == 1
    assert set(ids(retriever.invoke("launch party"))) == {"r2", "r3"}


def test_what_a_role_may_not_read_is_redacted():
    retriever = TemporalForestRetriever.from_messages(
        [{"id": "m", "timestamp": "2026-03-02T09:00:00Z", "text": "the launch is on Friday"}],
        redact=lambda message, query: replace(message, text="the launch is [hidden]"),
    )
    (document,) = retriever.invoke(QUESTION)
    assert document.page_content.endswith("> the launch is [hidden]")


def test_documents_of_langchain_can_be_asked():
    documents = [
        Document("We launch on Friday.", id="d1", metadata={"date": "2026-03-02T09:00:00"})
    ]
    retriever = TemporalForestRetriever.from_documents(
        documents, metadata_map={"sent_at": "date"}, timezone="UTC"
    )
    assert ids(retriever.invoke(QUESTION)) == ["d1"]


def test_a_deep_copy_shares_the_memory(retriever):
    assert copy.deepcopy(retriever).memory is retriever.memory


def test_with_a_config_the_prompts_are_langchains(retriever):
    assert retriever.get_prompts({}) == []


# Chains


def test_a_chain_puts_the_forest_into_the_prompt(retriever):
    prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
    context = retriever | (lambda documents: documents[0].page_content)
    chain = {"context": context, "question": RunnablePassthrough()} | prompt | Chat()
    answer = (chain | StrOutputParser()).invoke(QUESTION)
    assert "THE LAUNCH MOVES FROM FRIDAY TO MONDAY" in answer
    assert answer.endswith("QUESTION: WHEN DO WE LAUNCH?")


def test_a_tool_answers_with_the_forest_alone(retriever):
    tool = create_retriever_tool(retriever, "history", "Ask the chat history.")
    assert tool.invoke({"query": QUESTION}) == retriever.invoke(QUESTION)[0].page_content


def test_an_ensemble_fuses_it_with_another(retriever):
    ensemble = EnsembleRetriever(
        retrievers=[retriever, retriever.scoped(channels="kitchen")], weights=[0.5, 0.5]
    )
    assert "m4" in ids(ensemble.invoke(QUESTION))


async def test_batches_answer_each_question(retriever):
    questions = [QUESTION, "soup"]
    expected = [retriever.invoke(question) for question in questions]
    assert retriever.batch(questions) == expected
    assert await retriever.abatch(questions) == expected


async def test_streams_give_the_document_as_one_piece(retriever):
    expected = [retriever.invoke(QUESTION)]
    assert list(retriever.stream(QUESTION)) == expected
    assert [piece async for piece in retriever.astream(QUESTION)] == expected


# Runs


class Events(Runs, BaseCallbackHandler):
    """Notes the retriever's own runs too."""

    def __init__(self):
        super().__init__()
        self.tags, self.found, self.errors = [], [], []

    def on_retriever_start(self, serialized, query, *, run_id, tags, **kwargs):
        self.kinds[run_id] = "retriever"
        self.tags.append(tags)

    def on_retriever_end(self, documents, **kwargs):
        self.found.append(ids(documents))

    def on_retriever_error(self, error, **kwargs):
        self.errors.append(error)


def test_with_config_hands_tags_and_callbacks_to_the_run(retriever):
    events = Events()
    retriever.with_config(tags=["chat"], callbacks=[events]).invoke(QUESTION)
    assert events.tags == [["chat"]]
    assert "m4" in events.found[0]


def test_an_error_ends_the_run(retriever):
    events = Events()
    with pytest.raises(QueryError):
        retriever.invoke(QUESTION, {"callbacks": [events]}, channel="board")
    assert [type(error) for error in events.errors] == [QueryError]


@pytest.mark.parametrize("llm", [Chat(), Completion()])
async def test_a_model_call_appears_under_the_run_of_the_retriever(retriever, llm):
    memory = TemporalMemory.from_messages(rooms(2), llm=as_language_model(llm))
    asking = TemporalForestRetriever(memory=memory)
    events = Events()
    asking.invoke("launch party", {"callbacks": [events]})
    n_sync = len(events.calls)
    await asking.ainvoke("party launch", {"callbacks": [events]})
    assert 0 < n_sync < len(events.calls)
    assert {parent for parent, _ in events.calls} == {"retriever"}


class Meeting(Chat):
    """Answers nobody until three questions have arrived, or after five seconds on its own."""

    blocking: bool = False
    arrived: set = Field(default_factory=set)
    complete: threading.Event = Field(default_factory=threading.Event)
    alone: bool = False

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self._arrive(messages)
        self.alone |= not self.complete.wait(5)
        return self._answer('{"selected": []}')

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.blocking:
            return await asyncio.to_thread(self._generate, messages)
        self._arrive(messages)
        for _ in range(500):
            if self.complete.is_set():
                return self._answer('{"selected": []}')
            await asyncio.sleep(0.01)
        self.alone = True
        return self._answer('{"selected": []}')

    def _arrive(self, messages):
        self.arrived.update(re.findall("party [ABC]", messages[-1].text))
        if len(self.arrived) == 3:
            self.complete.set()


@pytest.mark.parametrize("blocking", [False, True])
async def test_questions_asked_at_once_wait_for_the_model_together(blocking):
    model = Meeting(blocking=blocking)
    memory = TemporalMemory.from_messages(rooms(2), llm=as_language_model(model))
    retriever = TemporalForestRetriever(memory=memory)
    await asyncio.gather(*(retriever.ainvoke(f"launch party {letter}") for letter in "ABC"))
    assert (len(model.arrived), model.alone) == (3, False)
