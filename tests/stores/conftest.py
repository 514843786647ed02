"""Stores to test: one fixture per kind, so that the contract holds for each."""

import pytest

from tmem_integrations.stores.chroma import ChromaStore


@pytest.fixture(params=["memory", "folder"])
def store(request, tmp_path):
    made = (
        ChromaStore.in_memory()
        if request.param == "memory"
        else ChromaStore.open(tmp_path / "chat")
    )
    with made:
        yield made
