"""Ask a long group chat what is true now: temporal evidence forests for LangChain and LlamaIndex."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tmem_integrations.anticipation.memory import AnticipatoryMemory
    from tmem_integrations.anticipatory import AnticipatoryRetriever
    from tmem_integrations.config import PAPER, ForestConfig
    from tmem_integrations.errors import TmemError
    from tmem_integrations.memory import TemporalMemory
    from tmem_integrations.messages import Message, Query
    from tmem_integrations.retrieval import Retrieval
    from tmem_integrations.retriever import TemporalForestRetriever
    from tmem_integrations.stores.chroma import ChromaStore
    from tmem_integrations.stores.milvus import MilvusStore

# Imported when first used: `import tmem_integrations` alone loads no framework and no numpy.
_HOMES = {
    "PAPER": "config",
    "AnticipatoryMemory": "anticipation.memory",
    "AnticipatoryRetriever": "anticipatory",
    "ChromaStore": "stores.chroma",
    "ForestConfig": "config",
    "Message": "messages",
    "MilvusStore": "stores.milvus",
    "Query": "messages",
    "Retrieval": "retrieval",
    "TemporalForestRetriever": "retriever",
    "TemporalMemory": "memory",
    "TmemError": "errors",
}

__all__ = [
    "PAPER",
    "AnticipatoryMemory",
    "AnticipatoryRetriever",
    "ChromaStore",
    "ForestConfig",
    "Message",
    "MilvusStore",
    "Query",
    "Retrieval",
    "TemporalForestRetriever",
    "TemporalMemory",
    "TmemError",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
