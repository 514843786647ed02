"""A memory that anticipates as both frameworks' retriever."""

import copy

import pytest
from langchain_core.load import dumps
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from support.writing_model import HISTORY, WritingModel

from tmem_integrations import AnticipatoryMemory, AnticipatoryRetriever
from tmem_integrations.errors import AccessError, QueryError


@pytest.fixture(scope="module")
def retriever():
    return AnticipatoryRetriever(
        memory=AnticipatoryMemory.from_messages(HISTORY, llm=WritingModel())
    )


def test_one_class_is_both_retrievers(retriever):
    assert isinstance(retriever, LangChainRetriever)
    assert isinstance(retriever, LlamaIndexRetriever)


def test_both_frameworks_get_the_same_text(retriever):
    (document,) = retriever.invoke("Where did the piano go?")
    (node,) = retriever.retrieve("Where did the piano go?")
    assert document.page_content == node.node.get_content()
    assert "four people carried it" in document.page_content


async def test_async_gives_the_same(retriever):
    question = "Where did the piano go?"
    assert await retriever.ainvoke(question) == retriever.invoke(question)


def test_one_document_per_scene_the_best_first(retriever):
    per_scene = retriever.model_copy(update={"per_scene": True})
    documents = per_scene.invoke("Where did the piano go?")
    assert documents[0].metadata["scenes"][0]["title"] == "Boxes and a piano"
    assert all(len(d.metadata["scenes"]) == 1 for d in documents)


def test_metadata_is_json(retriever):
    assert "message_ids" in dumps(retriever.invoke("piano")[0])


def test_an_empty_answer_says_why(retriever):
    (document,) = retriever.invoke("piano", channels=["nowhere"])
    assert document.page_content.startswith("No matching memories. Nothing that was filed is in")


def test_an_unknown_keyword_is_an_error(retriever):
    with pytest.raises(QueryError, match="did you mean 'channels'"):
        retriever.invoke("piano", chanels=["home"])


def test_scenes_are_bounded_by_tokens_not_messages(retriever):
    with pytest.raises(QueryError, match="bound an answer by max_tokens"):
        retriever.invoke("piano", max_messages=3)


def test_a_view_narrows_and_keeps_its_user(retriever):
    view = retriever.scoped(asking_user="ann", channels=["home"])
    assert view.invoke("piano")[0].metadata["message_ids"]
    with pytest.raises(AccessError):
        view.invoke("piano", asking_user="bo")


def test_a_copy_shares_the_memory(retriever):
    assert copy.deepcopy(retriever).memory is retriever.memory


def test_without_arguments_it_files_by_rule():
    retriever = AnticipatoryRetriever.from_messages(HISTORY)
    assert retriever.memory.stats()["writer"] == "rules"
    assert "piano" in retriever.invoke("Where did the piano go?")[0].page_content
    retriever.delete_messages([m.id for m in HISTORY])
    assert retriever.invoke("piano")[0].page_content.startswith("No matching memories.")
    retriever.close()
