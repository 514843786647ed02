import asyncio
import copy
import json

import pytest
from framework_fakes import Chat, Completion
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import MetadataMode, QueryBundle, TextNode
from llama_index.core.settings import Settings
from llama_index.core.tools import RetrieverTool
from pydantic import Field

from tmem_integrations import TemporalForestRetriever, TemporalMemory
from tmem_integrations.bridges.language_models import as_language_model

QUESTION = "When do we launch?"


def ids(nodes):
    return [i for node in nodes for i in node.metadata["message_ids"]]


def per_tree(retriever):
    return TemporalForestRetriever(memory=retriever.memory, per_tree=True)


def test_it_is_llama_indexs_retriever(retriever):
    assert isinstance(retriever, BaseRetriever)


def test_a_text_and_a_query_bundle_are_the_same_question(retriever):
    assert ids(retriever.retrieve(QueryBundle(QUESTION))) == ids(retriever.retrieve(QUESTION))


def test_both_frameworks_get_the_same_text_and_metadata(retriever):
    (node,) = retriever.retrieve(QUESTION)
    (document,) = retriever.invoke(QUESTION)
    assert (node.node_id, node.text, node.metadata) == (
        document.id,
        document.page_content,
        document.metadata,
    )


async def test_async_gives_the_same_node(retriever):
    (node,) = await retriever.aretrieve(QUESTION)
    assert node.to_dict() == retriever.retrieve(QUESTION)[0].to_dict()


async def test_retrieve_works_inside_a_running_event_loop(retriever):
    assert asyncio.get_running_loop().is_running()
    assert "m4" in ids(retriever.retrieve(QUESTION))


def test_metadata_is_json_and_the_node_can_be_written(retriever):
    (node,) = retriever.retrieve(QUESTION)
    assert json.loads(node.to_json())["node"]["metadata"] == node.metadata


@pytest.mark.parametrize("mode", [MetadataMode.LLM, MetadataMode.EMBED])
def test_models_and_embedders_read_the_text_alone(retriever, mode):
    (node,) = retriever.retrieve(QUESTION)
    assert node.get_content(metadata_mode=mode) == node.text


def test_an_empty_answer_is_one_node_that_says_why_and_scores_zero(retriever):
    (node,) = retriever.retrieve("kubernetes")
    assert (node.score, ids([node])) == (0.0, [])
    assert node.text == f"No matching messages. {node.metadata['explanation']}"


def test_the_one_node_scores_one(retriever):
    assert [node.score for node in retriever.retrieve(QUESTION)] == [1.0]


def test_the_best_tree_scores_one_and_no_tree_more(retriever):
    scores = [node.score for node in per_tree(retriever).retrieve(QUESTION)]
    assert len(scores) > 1
    assert max(scores) == 1.0
    assert min(scores) >= 0.0


def test_a_view_is_a_retriever_for_llama_index(retriever):
    assert set(ids(retriever.scoped(channels="board").retrieve(QUESTION))) == {"m6"}


async def test_a_view_holds_in_async_too(retriever):
    assert set(ids(await retriever.scoped(channels="board").aretrieve(QUESTION))) == {"m6"}


def test_nodes_of_llama_index_can_be_asked():
    nodes = [TextNode(id_="n1", text="We launch on Friday.", metadata={"sent_at": 1772442000})]
    assert ids(TemporalForestRetriever.from_documents(nodes).retrieve(QUESTION)) == ["n1"]


def test_bare_the_prompts_are_llama_indexs(retriever):
    assert set(retriever.get_prompts()) == {"gate_prompt", "relations_prompt"}


# Engines


def test_a_query_engine_reads_the_forest(retriever):
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    response = engine.query(QUESTION)  # MockLLM answers with its prompt
    assert "The launch moves from Friday to Monday" in str(response)
    assert "message_ids" not in str(response)


async def test_a_query_engine_reads_the_forest_in_async_too(retriever):
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert "The launch moves from Friday to Monday" in str(await engine.aquery(QUESTION))


def test_a_query_engine_tells_the_model_that_nothing_was_found(retriever):
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert "No matching messages" in str(engine.query("kubernetes"))


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
def test_a_chat_engine_has_the_forest_as_its_source(retriever, kind):
    memory = ChatMemoryBuffer.from_defaults(token_limit=3000)  # the default leaves a database open
    engine = kind.from_defaults(retriever=retriever, llm=MockLLM(), memory=memory)
    assert "m4" in ids(engine.chat(QUESTION).source_nodes)


@pytest.mark.parametrize("mode", list(FUSION_MODES))
def test_a_fusion_of_two_views_has_the_messages_of_both(retriever, mode):
    views = [retriever.scoped(channels="release"), retriever.scoped(channels="board")]
    fusion = QueryFusionRetriever(
        views, llm=MockLLM(), mode=mode, num_queries=1, use_async=False, similarity_top_k=5
    )
    assert {"m4", "m6"} <= set(ids(fusion.retrieve(QUESTION)))


async def test_a_fusion_works_in_async(retriever):
    fusion = QueryFusionRetriever([retriever], llm=MockLLM(), num_queries=1)
    assert "m4" in ids(await fusion.aretrieve(QUESTION))


def test_a_fusion_of_a_view_with_itself_has_each_message_once(retriever):
    fusion = QueryFusionRetriever(
        [retriever, retriever], llm=MockLLM(), num_queries=1, use_async=False
    )
    found = ids(fusion.retrieve(QUESTION))
    assert len(found) == len(set(found)) > 0


def test_a_tool_answers_with_the_forest_alone(retriever):
    tool = RetrieverTool.from_defaults(retriever)
    assert str(tool(QUESTION)).strip() == retriever.retrieve(QUESTION)[0].text.strip()


class Second(BaseSelector):
    """Always chooses the second of the choices."""

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    def _select(self, choices, query):
        return SelectorResult(selections=[SingleSelection(index=1, reason="second")])

    async def _aselect(self, choices, query):
        return self._select(choices, query)


def test_a_router_can_choose_a_view(retriever):
    views = [retriever.scoped(channels="release"), retriever.scoped(channels="board")]
    tools = [RetrieverTool.from_defaults(view, description="chat") for view in views]
    router = RouterRetriever(selector=Second(), retriever_tools=tools, llm=MockLLM())
    assert set(ids(router.retrieve(QUESTION))) == {"m6"}


def test_a_deep_copy_answers_like_the_original(retriever):
    assert ids(copy.deepcopy(retriever).retrieve(QUESTION)) == ids(retriever.retrieve(QUESTION))


# Events


class Notes(BaseEventHandler):
    """Names of events with the method of the span they fall in."""

    seen: list = Field(default_factory=list)

    def handle(self, event, **kwargs):
        self.seen.append((event.class_name(), (event.span_id or "").partition("-")[0]))


@pytest.fixture
def dispatched():
    """What LlamaIndex's dispatcher hears during a test: events, spans."""
    dispatcher = get_dispatcher()
    notes, spans = Notes(), SimpleSpanHandler()
    events_before, spans_before = dispatcher.event_handlers, dispatcher.span_handlers
    dispatcher.event_handlers = [*events_before, notes]
    dispatcher.span_handlers = [*spans_before, spans]
    yield notes, spans
    dispatcher.event_handlers, dispatcher.span_handlers = events_before, spans_before


def start_and_end(method):
    span = f"TemporalForestRetriever.{method}"
    return [("RetrievalStartEvent", span), ("RetrievalEndEvent", span)]


def test_a_question_is_a_span_with_start_and_end(retriever, dispatched):
    notes, spans = dispatched
    retriever.retrieve(QUESTION)
    start, *stages, end = notes.seen
    assert [start, end] == start_and_end("retrieve")
    assert {span for _, span in stages} == {"TemporalForestRetriever._find"}
    assert [span.id_.partition("-")[0] for span in spans.completed_spans] == [
        "TemporalForestRetriever._find",
        "TemporalForestRetriever._retrieve",
        "TemporalForestRetriever.retrieve",
    ]


async def test_an_async_question_is_a_span_with_start_and_end(retriever, dispatched):
    notes, spans = dispatched
    await retriever.aretrieve(QUESTION)
    start, *stages, end = notes.seen
    assert [start, end] == start_and_end("aretrieve")
    assert {span for _, span in stages} == {"TemporalForestRetriever._afind"}
    assert [span.id_.partition("-")[0] for span in spans.completed_spans] == [
        "TemporalForestRetriever._afind",
        "TemporalForestRetriever.aretrieve",
    ]


@pytest.mark.parametrize("llm", [Chat(), Completion()])
async def test_a_model_call_is_an_event_within_the_question(llm, dispatched):
    notes, _ = dispatched
    messages = [{"id": "m1", "timestamp": "2026-03-02T09:00:00Z", "text": "We launch on Friday."}]
    memory = TemporalMemory.from_messages(messages, llm=as_language_model(llm))
    retriever = TemporalForestRetriever(memory=memory)
    for method, question in (("retrieve", QUESTION), ("aretrieve", "We launch when?")):
        notes.seen.clear()
        result = getattr(retriever, method)(question)
        if method == "aretrieve":
            await result
        start, *within, end = notes.seen
        calls = [seen for seen in within if seen[0] != "ForestStageEvent"]
        assert [start, end] == start_and_end(method)
        assert {name for name, _ in calls} in (
            {"LLMChatStartEvent", "LLMChatEndEvent"},
            {"LLMCompletionStartEvent", "LLMCompletionEndEvent"},
        )
        assert all(span for _, span in calls)


def test_a_handler_in_the_settings_hears_of_the_retrieval(retriever, monkeypatch):
    debug = LlamaDebugHandler(print_trace_on_end=False)
    monkeypatch.setattr(Settings, "callback_manager", CallbackManager([debug]))
    TemporalForestRetriever(memory=retriever.memory).retrieve(QUESTION)
    assert len(debug.get_event_pairs(CBEventType.RETRIEVE)) == 1
