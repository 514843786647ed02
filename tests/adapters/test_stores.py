"""Where a retriever keeps its messages, and how it gets back to them."""

import pickle
import subprocess
import sys
from contextlib import closing, suppress

import chromadb
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from tmem_integrations import AnticipatoryRetriever, TemporalForestRetriever
from tmem_integrations.errors import (
    ConfigError,
    MessageError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from tmem_integrations.stores.chroma import ChromaStore

MESSAGES = [
    {"id": "m1", "timestamp": "2026-03-02T09:00:00Z", "author": "Ann", "text": "Launch on Friday."},
    {"id": "m2", "timestamp": "2026-03-04T09:00:00Z", "author": "Bo", "text": "Launch on Monday."},
]


def ids(retriever, question="launch"):
    (document,) = retriever.invoke(question)
    return set(document.metadata["message_ids"])


@pytest.fixture
def folder(tmp_path):
    """A folder with a store of both messages, closed."""
    TemporalForestRetriever.from_messages(MESSAGES, store=tmp_path / "chat").close()
    return tmp_path / "chat"


def test_a_folder_holds_the_messages_after_a_restart(folder):
    with closing(TemporalForestRetriever.open(folder)) as retriever:
        assert ids(retriever) == {"m1", "m2"}


def test_the_same_history_again_is_stored_once(folder):
    with closing(TemporalForestRetriever.from_messages(MESSAGES, store=str(folder))) as retriever:
        assert len(retriever.memory) == 2


def test_opening_a_folder_that_is_no_store_makes_none(tmp_path):
    with pytest.raises(StoreError, match="holds no store"):
        TemporalForestRetriever.open(tmp_path / "chta")
    assert not (tmp_path / "chta").exists()


def test_another_embedding_model_is_refused_naming_both(folder):
    with pytest.raises(StoreMismatchError, match=r"wordllama-256.*DeterministicFakeEmbedding"):
        TemporalForestRetriever.open(folder, embeddings=DeterministicFakeEmbedding(size=4))


@pytest.mark.parametrize("kind", [TemporalForestRetriever, AnticipatoryRetriever])
def test_a_model_of_the_same_name_whose_vectors_are_longer_is_refused_naming_both(kind, tmp_path):
    short, long = DeterministicFakeEmbedding(size=4), DeterministicFakeEmbedding(size=6)
    with closing(kind.from_messages(MESSAGES, store=tmp_path, embeddings=short)) as built:
        built.invoke("launch")
    with closing(kind.from_messages([], store=tmp_path, embeddings=long)) as retriever:
        for ask in (retriever.invoke, retriever.retrieve):
            with pytest.raises(StoreMismatchError, match=r"4 d.*6 d.*rebuild"):
                ask("launch")


def test_a_folder_without_vectors_opens_without_embeddings(tmp_path):
    build = TemporalForestRetriever.from_messages
    build(MESSAGES, store=tmp_path, embeddings=False).close()
    with closing(TemporalForestRetriever.open(tmp_path, embeddings=False)) as retriever:
        assert ids(retriever) == {"m1", "m2"}


def test_a_folder_has_one_writer(folder):
    with (
        closing(TemporalForestRetriever.open(folder)),
        pytest.raises(StoreLockedError, match="read_only=True"),
    ):
        TemporalForestRetriever.open(folder)


def test_a_reader_sees_what_the_writer_adds(folder):
    with (
        closing(TemporalForestRetriever.open(folder)) as writer,
        closing(TemporalForestRetriever.open(folder, read_only=True)) as reader,
    ):
        writer.add_messages([MESSAGES[0] | {"id": "m3", "text": "The launch is off."}])
        assert ids(reader) == {"m1", "m2", "m3"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"timezone": "Europe/Atlantis"},
        {"access": 3},
    ],
)
def test_a_failed_opening_leaves_the_folder_unlocked(folder, wrong):
    with pytest.raises((ConfigError, MessageError)):
        TemporalForestRetriever.open(folder, **wrong)
    TemporalForestRetriever.open(folder).close()


def test_a_failed_ingest_leaves_the_folder_unlocked(tmp_path):
    with pytest.raises(MessageError):
        TemporalForestRetriever.from_messages([{"id": "m1"}], store=tmp_path)
    TemporalForestRetriever.from_messages(MESSAGES, store=tmp_path).close()


def test_a_wrong_limit_is_found_before_anything_is_stored(tmp_path):
    with pytest.raises(ConfigError, match="max_tokens must be at least 1"):
        TemporalForestRetriever.from_messages(MESSAGES, store=tmp_path / "chat", max_tokens=0)
    assert not (tmp_path / "chat").exists()


def test_a_folder_without_a_name_is_an_error():
    with pytest.raises(ConfigError, match="empty name"):
        TemporalForestRetriever.from_messages(MESSAGES, store="")


def test_a_store_of_ours_is_used_as_it_is():
    store = ChromaStore.in_memory()
    assert TemporalForestRetriever.from_messages(MESSAGES, store=store).memory.store is store


def test_a_store_of_the_caller_stays_open_when_the_ingest_fails():
    store = ChromaStore.in_memory()
    with pytest.raises(MessageError):
        TemporalForestRetriever.from_messages([{"id": "m1"}], store=store)
    assert len(store) == 0


@pytest.fixture
def client(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path))
    yield client
    with suppress(AttributeError):  # older clients cannot be closed
        client.close()


def test_a_chroma_client_keeps_the_messages(client):
    TemporalForestRetriever.from_messages(MESSAGES, store=client)
    assert client.get_collection("tmem").count() == 2


def test_an_empty_chroma_collection_becomes_the_store(client):
    collection = client.create_collection("chat", metadata={"owner": "ann"})
    TemporalForestRetriever.from_messages(MESSAGES, store=collection)
    assert client.get_collection("chat").count() == 2


def test_a_chroma_collection_that_is_a_store_is_opened(client):
    TemporalForestRetriever.from_messages(MESSAGES, store=client)
    again = TemporalForestRetriever.from_messages([], store=client.get_collection("tmem"))
    assert ids(again) == {"m1", "m2"}


def test_a_chroma_collection_with_other_documents_is_left_alone(client):
    collection = client.create_collection("mine")
    collection.add(ids=["d1"], documents=["mine"], embeddings=[[1.0, 0.0]])
    with pytest.raises(StoreError, match="somebody else's documents"):
        TemporalForestRetriever.from_messages(MESSAGES, store=collection)
    assert collection.count() == 1


def test_what_is_no_store_is_refused():
    with pytest.raises(ConfigError, match="must be a folder, a Chroma client or"):
        TemporalForestRetriever.from_messages(MESSAGES, store=3)


def test_closing_a_view_closes_the_memory(folder):
    TemporalForestRetriever.open(folder).scoped(authors="Ann").close()
    with closing(TemporalForestRetriever.open(folder)) as next_writer:
        assert ids(next_writer) == {"m1", "m2"}


def test_a_pickled_retriever_reads_the_same_folder(folder):
    with closing(TemporalForestRetriever.open(folder, max_messages=7)) as original:
        view = original.scoped(authors="Ann")
        with closing(pickle.loads(pickle.dumps(view))) as copy:
            assert ids(copy) == ids(view) == {"m1"}
            assert copy.max_messages == 7


def _nothing_for_anybody(message, query):
    return None


def test_a_pickled_retriever_hides_what_the_first_one_hides(folder):
    original = TemporalForestRetriever.open(folder, redact=_nothing_for_anybody)
    with closing(original), closing(pickle.loads(pickle.dumps(original))) as copy:
        assert ids(copy) == ids(original) == set()


def test_a_retriever_is_unpickled_in_another_process_while_it_is_open(folder):
    code = (
        "import pickle, sys; retriever = pickle.load(sys.stdin.buffer);"
        "print(*retriever.invoke('launch')[0].metadata['message_ids']); retriever.close()"
    )
    with closing(TemporalForestRetriever.open(folder)) as retriever:
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=pickle.dumps(retriever),
            capture_output=True,
            check=True,
        )
    assert set(done.stdout.split()) == {b"m1", b"m2"}


def test_a_retriever_in_memory_says_that_it_cannot_be_pickled():
    retriever = TemporalForestRetriever.from_messages(MESSAGES)
    with pytest.raises(StoreError, match="build it with store="):
        pickle.dumps(retriever)
