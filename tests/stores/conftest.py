"""Stores to test: one fixture per kind, so that the contract holds for each."""

import pytest

from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.milvus import MilvusStore


@pytest.fixture(params=["memory", "folder", "milvus"])
def store(request, tmp_path):
    with _make(request, tmp_path) as made:
        yield made


def _make(request, tmp_path):
    if request.param == "memory":
        return ChromaStore.in_memory()
    if request.param == "folder":
        return ChromaStore.open(tmp_path / "chat")
    return MilvusStore.open(
        request.getfixturevalue("milvus_file"), collection=request.getfixturevalue("collection")
    )
