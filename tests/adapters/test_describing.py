"""What `repr` tells of a retriever, and what it never does."""

import pytest
from framework_fakes import Chat

from tmem_integrations import AnticipatoryRetriever, TemporalForestRetriever
from tmem_integrations.stores.chroma import ChromaStore

WHEN = "2026-03-02T09:00:00Z"
HISTORY = [
    {"id": f"m{i}", "text": f"We launch the app number {i}.", "timestamp": WHEN} for i in range(6)
]


def test_it_tells_how_much_where_and_with_which_models(tmp_path):
    with ChromaStore.open(tmp_path / "team", model="wordllama-256") as store:
        retriever = TemporalForestRetriever.from_messages(HISTORY, store=store)
        assert repr(retriever) == (
            f"TemporalForestRetriever(messages=6, store='{tmp_path}/team', "
            "embeddings='wordllama-256', llm=None)"
        )


def test_it_tells_filters_and_limits_that_are_set():
    plain = TemporalForestRetriever.from_messages(HISTORY, embeddings=False, llm=Chat())
    told = repr(plain.scoped(asking_user="ann", max_messages=5))
    assert told.endswith("max_messages=5, asking_user='ann')")
    assert "embeddings=None, llm='" in told
    assert "per_tree" not in told


@pytest.mark.parametrize("kind", [TemporalForestRetriever, AnticipatoryRetriever])
def test_it_holds_no_text_of_a_message_also_when_printed_and_within_a_chain(kind):
    retriever = kind.from_messages(HISTORY)
    shown = f"{retriever!r} {retriever} {retriever.memory!r} {retriever | len}"
    assert "messages=6" in shown
    assert not any(record["text"] in shown for record in HISTORY)


def test_that_of_a_closed_one_is_no_error():
    retriever = TemporalForestRetriever.from_messages(HISTORY)
    retriever.close()
    assert "messages='unknown'" in repr(retriever)


def test_a_password_in_the_address_of_a_store_is_not_told():
    retriever = TemporalForestRetriever.from_messages(HISTORY)
    retriever.memory.store.name = "'https://root:secret@milvus.example:19530' (chat)"
    assert "https://milvus.example:19530" in repr(retriever)
    assert "secret" not in repr(retriever)
