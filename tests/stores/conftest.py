"""Stores to test: one fixture per kind, so that the contract holds for each."""

import pytest

from tmem_integrations.stores import milvus_table, milvus_view
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.milvus import MilvusStore


@pytest.fixture(params=["memory", "folder", "milvus", "milvus in small answers"])
def store(request, tmp_path, monkeypatch):
    if request.param == "milvus in small answers":
        # So that a history of a few hundred messages is larger than any answer.
        monkeypatch.setattr(milvus_table, "MAX_ROWS", 100)
        monkeypatch.setattr(milvus_table, "_MAX_KEYS", 30)
        monkeypatch.setattr(milvus_view, "_MAX_LISTED", 2)
        monkeypatch.setattr(milvus_view, "_TERMS_AT_ONCE", 2)
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
