"""The methods that are compared, on a chat small enough to rank by eye."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods import METHODS, make_method
from tmem_integrations.evaluation.methods.ablations import ABLATIONS
from tmem_integrations.evaluation.methods.ranking import FusionScorer, RecencyScorer
from tmem_integrations.messages import Message, Query

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def chat(*texts: str, **values: Any) -> list[Message]:
    return [
        Message(id=f"m{i}", text=text, sent_at=START + timedelta(minutes=i), **values)
        for i, text in enumerate(texts)
    ]


def select(name: str, messages: list[Message], query: Query, n: int = 10) -> list[str]:
    return list(make_method(name).index(messages).select(query, n, 1000).ids)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_to_bound_and_time(name):
    messages = chat("the soup is hot", "soup again", "rice today", "soup tomorrow", "bread")
    query = Query(text="soup", as_of=START + timedelta(minutes=2))
    ids = select(name, messages, query, 2)
    assert set(ids) <= {"m0", "m1", "m2"}
    assert len(ids) == len(set(ids)) <= (2 if name != "full" else 3)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_an_empty_scope_with_nothing(name):
    assert select(name, chat("soup"), Query(text="soup", as_of=START - timedelta(days=1))) == []


def test_bm25_finds_other_forms_of_a_word():
    assert (
        select("bm25", chat("bread", "rice", "they released it"), Query(text="release"))[0] == "m2"
    )


def test_metadata_is_searched_only_where_asked_for():
    messages = chat("yes", "no", "maybe")
    messages[1] = Message(id="m1", text="no", sent_at=messages[1].sent_at, author="Bo")
    assert select("bm25+metadata", messages, Query(text="What says Bo?"), 1) == ["m1"]
    assert select("bm25", messages, Query(text="What says Bo?"), 1) == ["m0"]


def test_the_asker_is_searched_with_the_metadata():
    messages = chat("a", "b", "c")
    messages[2] = Message(id="m2", text="c", sent_at=messages[2].sent_at, author="Bo")
    assert select("bm25+metadata", messages, Query(text="?", asking_user="Bo"), 1) == ["m2"]


def test_bm25_reads_a_chat_without_words():
    assert select("bm25", chat("👍", "!!"), Query(text="?"), 5) == ["m0", "m1"]


def test_recent_takes_the_latest_first():
    assert select("recent", chat("a", "b", "c"), Query(text="?"), 2) == ["m2", "m1"]


def test_dense_ranks_the_same_text_first():
    messages = chat("The weather is nice.", "We deploy the database tonight.")
    assert select("dense", messages, Query(text="We deploy the database tonight."), 1) == ["m1"]


class Given:
    """A scorer with fixed scores."""

    def __init__(self, *scores: float) -> None:
        self.scores = np.array(scores)

    def score(self, query, visible):
        return self.scores


def test_fusion_adds_reciprocal_ranks():
    fusion = FusionScorer(Given(3, 2, 1), Given(1, 3, 2), rrf_k=60)
    fused = fusion.score(Query(text="?"), tuple(chat("a", "b", "c")))
    assert fused.tolist() == [1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 1 / 63 + 1 / 62]


def test_recency_ties_go_to_the_later_arrival():
    twins = [Message(id=i, text="x", sent_at=START) for i in ("a", "b")]
    assert RecencyScorer().score(Query(text="?"), tuple(twins)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("bm26", "did you mean 'bm25'"),
        ("zzz", "known are bm25"),
        ("langchain:nowhere", "must be langchain:MODULE:FACTORY"),
        ("langchain:no_such_module:make", "cannot be imported"),
        ("llama-index:json:nothing", "cannot be imported"),
        ("langchain:string:digits", "expected a callable"),
    ],
)
def test_an_unknown_method_is_told_with_the_way_out(name, problem):
    with pytest.raises(ConfigError, match=problem):
        make_method(name)


def test_every_ablation_can_be_named():
    assert set(ABLATIONS) < set(METHODS)
    assert all(make_method(name).name == name for name in ABLATIONS)


def test_bare_anchors_bring_no_neighbours():
    messages = chat("when do we ship?", "on friday then", "fine", "bread", channel="ops")
    query = Query(text="ship")
    assert select("forest-episodes", messages, query) == ["m0"]
    assert "m1" in select("forest", messages, query)


def test_what_is_taken_away_is_not_found():
    messages = [replace(m, author="Bo") for m in chat("yes", "no")]
    query = Query(text="Bo")
    assert select("forest-metadata", messages, query) == []
    assert set(select("forest", messages, query)) == {"m0", "m1"}


def document_retriever(documents):
    """A LangChain retriever that returns what it was given, in reverse."""
    return RunnableLambda(lambda text: documents[::-1])


def test_a_retriever_of_langchain_is_measured_by_path():
    query = Query(text="?", as_of=START + timedelta(minutes=1))
    found = select("langchain:test_methods:document_retriever", chat("a", "b", "c"), query, 1)
    assert found == ["m1"]


class NodeRetriever(LlamaIndexRetriever):
    """A LlamaIndex retriever that returns what it was given, in reverse."""

    def __init__(self, nodes):
        self.nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=node, score=1.0) for node in self.nodes[::-1]]


def test_a_retriever_of_llama_index_is_measured_by_path():
    found = select("llama-index:test_methods:NodeRetriever", chat("a", "b"), Query(text="?"))
    assert found == ["m1", "m0"]


def test_the_forest_itself_can_be_measured_by_path():
    path = "langchain:tmem_integrations:TemporalForestRetriever.from_documents"
    messages = chat("when do we ship?", "on friday then", channel="ops")
    assert set(select(path, messages, Query(text="ship"))) == {"m0", "m1"}
