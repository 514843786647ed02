"""A Chroma server on loopback: what differs from a folder."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest
from store_helpers import at, found, in_window, row_of, said, unit

from tmem_integrations.errors import StoreError, StoreMismatchError
from tmem_integrations.messages import Scope
from tmem_integrations.protocols import IngestReport
from tmem_integrations.stores.chroma import ChromaStore

PATIENCE = 30.0


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("server")
    chroma = Path(sys.executable).with_name("chroma")
    if not chroma.exists():
        pytest.skip("the chroma command is not installed beside this interpreter")
    arguments = [chroma, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not is_up(port):
            assert server.poll() is None, "the server has stopped"
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait()


def is_up(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat").status_code == 200
    except httpx.TransportError:
        return False


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


def test_another_model_is_refused(port):
    with ChromaStore.connect("127.0.0.1", port, collection="three", model="tiny") as store:
        store.upsert([said("m1")], unit([1, 0]))
    with pytest.raises(StoreMismatchError, match=r"tiny \(2 d\)"):
        ChromaStore.connect("127.0.0.1", port, collection="three", model="other")


def test_there_is_nothing_to_read_in_a_collection_nobody_made(port):
    with pytest.raises(StoreError, match="no collection 'nowhere'"):
        ChromaStore.connect("127.0.0.1", port, collection="nowhere", read_only=True)
