"""A memory that anticipates as both frameworks' retriever."""

import copy
import pickle
import subprocess
import sys
from contextlib import closing

import pytest
from langchain_core.load import dumps
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from support.writing_model import HISTORY, WritingModel

from tmem_integrations import (
    AnticipatoryMemory,
    AnticipatoryRetriever,
    TemporalForestRetriever,
)
from tmem_integrations.errors import AccessError, ConfigError, QueryError, StoreError
from tmem_integrations.stores.chroma import ChromaStore


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


@pytest.mark.parametrize("own", [{"store": "chat"}, {"embeddings": "static"}])
def test_a_joined_retriever_takes_no_store_or_embedder_of_its_own(retriever, own):
    with pytest.raises(ConfigError, match="brings its store and embedder"):
        TemporalForestRetriever.from_messages([], associative=retriever.memory, **own)


def test_a_misspelt_ceiling_names_the_nearest_known_one():
    with pytest.raises(ConfigError, match="did you mean 'max_llm_calls'"):
        AnticipatoryRetriever.from_messages(HISTORY, max_llm_call=3)


@pytest.fixture
def in_folder(tmp_path):
    made = AnticipatoryRetriever.from_messages(
        HISTORY, store=tmp_path / "store", access={"home": ["ann"]}
    )
    with closing(made):
        yield made


def test_a_pickled_retriever_reads_the_same_folder(in_folder):
    view = in_folder.scoped(asking_user="ann", max_tokens=200)
    with closing(pickle.loads(pickle.dumps(view))) as copy:
        assert copy.invoke("choir")[0].page_content == view.invoke("choir")[0].page_content
        with pytest.raises(StoreError, match="reading only"):
            copy.add_messages(HISTORY[:1])


def test_a_pickled_retriever_hides_what_the_first_one_hides(in_folder):
    with (
        closing(pickle.loads(pickle.dumps(in_folder))) as copy,
        pytest.raises(AccessError, match="access"),
    ):
        copy.invoke("choir")


def test_a_joined_retriever_is_pickled_with_its_associative_memory(in_folder):
    joined = TemporalForestRetriever.from_messages([], associative=in_folder.memory)
    with closing(pickle.loads(pickle.dumps(joined))) as copy:
        memory = copy.memory
        assert memory.associative.store is memory.store
        asked = {"asking_user": "ann"}
        assert copy.invoke("choir", **asked) == joined.invoke("choir", **asked)


def test_a_joined_retriever_is_unpickled_in_another_process(in_folder):
    joined = TemporalForestRetriever.from_messages([], associative=in_folder.memory)
    code = (
        "import pickle, sys; retriever = pickle.load(sys.stdin.buffer);"
        "print(retriever.invoke('Who sings?', asking_user='ann')[0].metadata['message_ids'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(joined), capture_output=True, check=True
    )
    (found,) = joined.invoke("Who sings?", asking_user="ann")
    assert done.stdout.decode().strip() == str(found.metadata["message_ids"])


def test_a_joined_retriever_obeys_the_rules_of_access_of_its_associative_memory(in_folder):
    joined = TemporalForestRetriever.from_messages([], associative=in_folder.memory)
    with pytest.raises(AccessError):
        joined.invoke("choir")
    assert joined.retrieve_forest("choir", asking_user="bo").message_ids == ()


def test_a_forest_makes_its_own_memory_beside_it_that_files_by_rules(tmp_path):
    access = {"home": ["ann"]}
    filed = AnticipatoryRetriever.from_messages(HISTORY, access=access)
    joined = TemporalForestRetriever.from_messages([], associative=filed.memory)
    own = TemporalForestRetriever.from_messages(
        HISTORY, associative=True, access=access, store=tmp_path / "chat"
    )
    with closing(filed), closing(own):
        asked = "Which instrument do we own?"
        assert own.invoke(asked, asking_user="ann") == joined.invoke(asked, asking_user="ann")
        assert own.memory.associative.store is own.memory.store
        assert own.retrieve_forest(asked, asking_user="bo").message_ids == ()
    with closing(AnticipatoryRetriever.open(tmp_path / "chat", access=access)) as again:
        assert again.memory.stats()["scenes"] == filed.memory.stats()["scenes"] > 0


def test_a_forest_without_vectors_makes_no_memory_beside_it():
    with pytest.raises(ConfigError, match="needs an embedder"):
        TemporalForestRetriever.from_messages(HISTORY, associative=True, embeddings=False)


def test_a_joined_retriever_can_be_deep_copied(in_folder):
    joined = TemporalForestRetriever.from_messages([], associative=in_folder.memory)
    assert copy.deepcopy(joined).memory is joined.memory


def test_a_retriever_in_memory_says_that_it_cannot_be_pickled(retriever):
    with pytest.raises(StoreError, match="store='folder/'"):
        pickle.dumps(retriever)


def test_a_memory_that_a_model_wrote_is_pickled_without_the_need_to_ask(tmp_path):
    memory = AnticipatoryMemory.from_messages(
        HISTORY, llm=WritingModel(), store=ChromaStore.open(tmp_path, model="wordllama-256")
    )
    with closing(memory), closing(pickle.loads(pickle.dumps(memory))) as copy:
        assert copy.stats()["writer"] == memory.stats()["writer"]
        assert copy.retrieve("pets").text == memory.retrieve("pets").text


def test_a_folder_is_opened_to_read_beside_its_writer(in_folder):
    folder = in_folder.memory.store.folder
    with closing(
        AnticipatoryRetriever.open(folder, read_only=True, access={"home": "*"})
    ) as reader:
        asked = {"asking_user": "ann"}
        assert reader.invoke("choir", **asked) == in_folder.invoke("choir", **asked)
        with pytest.raises(StoreError, match="reading only"):
            reader.delete_messages(["vase0"])
