"""Stores to test: one fixture per kind, so that the contract holds for each."""

import itertools

import pytest

from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.milvus import MilvusStore

_collections = (f"messages_{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def milvus_file(tmp_path_factory):
    """A file of milvus-lite that is kept open: to start it for each test would take most of the time."""
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    file = str(tmp_path_factory.mktemp("milvus") / "chats.db")
    with MilvusStore.open(file, collection="held_open"):
        yield file


@pytest.fixture
def collection():
    """A name that no other test uses."""
    return next(_collections)


@pytest.fixture(params=["memory", "folder", "milvus"])
def store(request, tmp_path):
    with _make(request, tmp_path) as made:
        yield made


def _make(request, tmp_path):
    if request.param == "memory":
        return ChromaStore.in_memory()
    if request.param == "folder":
        return ChromaStore.open(tmp_path / "chat")
    file = request.getfixturevalue("milvus_file")
    return MilvusStore.open(file, collection=next(_collections))
