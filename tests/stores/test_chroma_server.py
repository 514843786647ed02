"""A Chroma server on loopback: what differs from a folder."""

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from chroma_server import ChromaServer
from store_helpers import at, found, in_window, row_of, said, unit

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.errors import IngestError, StoreError, StoreMismatchError
from tmem_integrations.messages import Scope
from tmem_integrations.protocols import FILED, DerivedRow, IngestReport
from tmem_integrations.stores.chroma import ChromaStore


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ChromaServer(tmp_path_factory.mktemp("server"))
    yield server
    server.kill()


@pytest.fixture
def port(server):
    return server.port


def test_a_store_on_a_server_keeps_the_contract(port):
    messages = [
        said("m1", "one", 1, channel="ops", author="Ann"),
        said("m2", "", 2),
        said("m3", "x", 3),
    ]
    with ChromaStore.connect("127.0.0.1", port, collection="chat", model="tiny") as store:
        assert store.upsert(messages, unit([1, 0], [0, 0], [0, 1])) == IngestReport(added=3)
        assert store.upsert([said("m1", "uno", 1)], unit([0, 1])) == IngestReport(updated=1)
        assert store.delete(["m3"]) == 1
        assert store.is_persistent is False
    with ChromaStore.connect("127.0.0.1", port, collection="chat", model="tiny") as store:
        assert store.get(["m1", "m2"]) == {"m1": said("m1", "uno", 1), "m2": said("m2", "", 2)}
        assert found(store, "one") == found(store, "ann") == []
        assert in_window(store, ("none", ""), at(1), at(2)) == ["m1", "m2"]
        view = store.view(Scope())
        assert view.vectors(np.array([row_of(view, "uno")])).tolist() == [[0, 1]]
        assert store.check() == ()


def test_a_reader_sees_what_another_client_writes(port):
    with (
        ChromaStore.connect("127.0.0.1", port, collection="two") as writer,
        ChromaStore.connect("127.0.0.1", port, collection="two", read_only=True) as reader,
    ):
        writer.upsert([said("m1", "one"), said("m2", "two")])
        assert found(reader, "one") == ["m1"]
        writer.upsert([said("m1", "uno")])
        writer.delete(["m2"])
        assert (found(reader, "uno"), found(reader, "two")) == (["m1"], [])


def test_what_was_made_of_messages_is_kept_on_the_server_and_goes_with_them(port):
    made = [
        DerivedRow(FILED, "m1", "", frozenset({"s1"})),
        DerivedRow("Scene", "s1", "about one", frozenset({"s1"})),
        DerivedRow("Scene", "s2", "about two", frozenset({"s2"})),
    ]
    with ChromaStore.connect("127.0.0.1", port, collection="made") as writer:
        writer.upsert([said("m1", "one")])
        writer.derived.write(made)
    with (
        ChromaStore.connect("127.0.0.1", port, collection="made") as writer,
        ChromaStore.connect("127.0.0.1", port, collection="made", read_only=True) as reader,
    ):
        assert sorted(row.key for row in writer.derived.rows()) == sorted(row.key for row in made)
        before = reader.derived.write_mark()
        writer.delete(["m1"])
        assert [row.key for row in reader.derived.rows()] == [("Scene", "s2")]
        assert reader.derived.write_mark() != before


def test_another_model_is_refused(port):
    with ChromaStore.connect("127.0.0.1", port, collection="three", model="tiny") as store:
        store.upsert([said("m1")], unit([1, 0]))
    with pytest.raises(StoreMismatchError, match=r"tiny \(2 d\)"):
        ChromaStore.connect("127.0.0.1", port, collection="three", model="other")


def test_there_is_nothing_to_read_in_a_collection_nobody_made(port):
    with pytest.raises(StoreError, match="no collection 'nowhere'"):
        ChromaStore.connect("127.0.0.1", port, collection="nowhere", read_only=True)


class BadGateway(BaseHTTPRequestHandler):
    """A proxy before a server that is gone."""

    def do_GET(self):
        self.send_response(502)
        self.end_headers()
        self.wfile.write(b"<h1>Bad Gateway</h1>")

    def log_message(self, *_):
        pass


def test_a_proxy_without_a_server_is_named():
    with HTTPServer(("127.0.0.1", 0), BadGateway) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{proxy.server_port}.*Bad Gateway"):
            ChromaStore.connect("127.0.0.1", proxy.server_port)
        proxy.shutdown()


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


@pytest.fixture
def ends(server):
    """The ways in which a server goes away."""
    yield {"before the call": server.kill, "within the call": server.kill_within_a_call}
    if not server.is_up():
        server.process.wait()
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


def retriever_on(server, embedder, messages):
    store = ChromaStore.connect("127.0.0.1", server.port, collection="gone", timeout=10)
    store.delete(store.ids(Scope()))
    return store, TemporalForestRetriever.from_messages(messages, store=store, embeddings=embedder)


@ENDS
def test_a_server_that_goes_away_within_a_question_is_named_and_is_found_again(server, ends, end):
    store, retriever = retriever_on(
        server, EventfulEmbedder(), [said("m1", "we ship on Friday", 1)]
    )
    question = (
        "when do we ship the kestrel"  # Vectors are asked, since words leave a part of it open.
    )
    with store:
        before = retriever.invoke(question)[0].page_content
        stages = iter([ends[end]])
        with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{server.port}/gone"):
            retriever.memory.retrieve(question, on_stage=lambda _: next(stages, int)())
        server.process.wait()
        # Each question says so while it is away.
        with pytest.raises(StoreError, match=str(server.port)):
            retriever.invoke(question)
        server.start()
        assert retriever.invoke(question)[0].page_content == before


@ENDS
def test_a_server_that_goes_away_within_an_ingest_doubles_and_loses_nothing(server, ends, end):
    embedder = EventfulEmbedder()
    store, retriever = retriever_on(server, embedder, [])
    # Messages are stored 2,000 at a time: the server goes between the first and the second such part.
    history = [said(f"m{i}", f"we ship number {i}", i) for i in range(2_500)]
    with store:
        embedder.events = {1: ends[end]}
        told = rf"2000 of 2500 messages are stored.*again.*{server.port}/gone"
        with pytest.raises(IngestError, match=told) as failed:
            retriever.add_messages(history)
        assert failed.value.stored == tuple(m.id for m in history[:2_000])
        server.process.wait()
        server.start()
        report = retriever.add_messages(history)
        assert (report.added, report.unchanged) == (500, 2_000)
        assert len(store) == 2_500
        assert store.check() == ()
        assert retriever.invoke("number 2400")
