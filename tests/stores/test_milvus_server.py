"""A Milvus server on loopback that goes away: what is told, and that nothing is doubled or lost."""

import sys
import time

import numpy as np
import pytest
from milvus_server import MilvusServer
from store_helpers import found, said, unit

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.errors import IngestError, StoreError
from tmem_integrations.messages import Scope
from tmem_integrations.stores.milvus import MilvusStore

pytest.importorskip("pymilvus")
pytest.importorskip("milvus_lite")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = MilvusServer(tmp_path_factory.mktemp("server") / "data")
    yield server
    server.kill()


@pytest.fixture
def ends(server):
    """The ways in which a server goes away."""
    yield {"before the call": server.kill, "within the call": server.kill_within_a_call}
    server.kill()
    server.start()


ENDS = pytest.mark.parametrize(
    "end",
    [
        "before the call",
        pytest.param(
            "within the call",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="needs SIGSTOP"),
        ),
    ],
)


class EventfulEmbedder:
    """Counts letters, and lets something happen before it does so for a part of an ingest."""

    name = "letters"

    def __init__(self):
        self.events = {}
        self.n_calls = 0

    def embed(self, texts):
        self.events.get(self.n_calls, int)()
        self.n_calls += 1
        counts = np.array([[text.count(one) + 0.1 for one in "aeiou"] for text in texts])
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)

    async def aembed(self, texts):
        return self.embed(texts)


def told(server):
    return (
        rf"Milvus at {server.uri} cannot be reached within 2 s; check the address, and that it is"
    )


def reached_again(store):
    """gRPC tries once a second whether the server is back; a collection is loaded with the first question."""
    deadline = time.monotonic() + 10
    while True:
        try:
            return len(store)
        except StoreError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_server_is_used_by_address(server, collection):
    with (
        MilvusStore.open(server.uri, collection=collection) as store,
        MilvusStore.open(server.uri, collection=collection, read_only=True) as too,
    ):
        store.upsert([said("m1", "plan", channel="ops")], unit([1, 0]))
        assert found(store, "plan") == found(too, "plan") == ["m1"]


@ENDS
def test_a_server_that_goes_away_within_a_question_is_named_and_is_found_again(
    server, ends, end, collection
):
    store = MilvusStore.open(server.uri, collection=collection, timeout=2.0)
    retriever = TemporalForestRetriever.from_messages(
        [said("m1", "we ship on Friday", 1)], store=store, embeddings=EventfulEmbedder()
    )
    question = "when do we ship the kestrel"
    with store:
        before = retriever.invoke(question)[0].page_content
        stages = iter([ends[end]])
        with pytest.raises(StoreError, match=told(server)):
            retriever.memory.retrieve(question, on_stage=lambda _: next(stages, int)())
        server.process.wait()
        # Each question says so while it is away, and whatever else is asked of it.
        for use in (
            lambda: retriever.invoke(question),
            store.channels,
            lambda: store.delete(["m1"]),
        ):
            with pytest.raises(StoreError, match=told(server)):
                use()
        server.start()
        reached_again(store)
        assert retriever.invoke(question)[0].page_content == before


@ENDS
def test_a_server_that_goes_away_within_an_ingest_doubles_and_loses_nothing(
    server, ends, end, collection
):
    store = MilvusStore.open(server.uri, collection=collection, timeout=2.0)
    embedder = EventfulEmbedder()
    retriever = TemporalForestRetriever.from_messages([], store=store, embeddings=embedder)
    history = [said(f"m{i}", f"we ship number {i}", i) for i in range(2_500)]
    with store:
        embedder.events = {1: ends[end]}
        with pytest.raises(
            IngestError, match=rf"2000 of 2500 messages are stored.*{server.uri}"
        ) as failed:
            retriever.add_messages(history)
        assert failed.value.stored == tuple(m.id for m in history[:2_000])
        server.process.wait()
        server.start()
        reached_again(store)
        report = retriever.add_messages(history)
        assert (report.added, report.unchanged) == (500, 2_000)
        assert len(store) == len(store.ids(Scope())) == 2_500
        assert store.check() == ()
        assert retriever.invoke("number 2400")
