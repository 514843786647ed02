"""What a store, an embedder, a model must do: the seats that can be filled from outside."""

from __future__ import annotations

from tmem_integrations.protocols.associative import (
    Associative,
    Reached,
)
from tmem_integrations.protocols.history import (
    AccessPolicy,
    HistoryView,
    Matches,
    Neighbours,
    Partition,
    PartitionKind,
    Rows,
    Scores,
    Vectors,
    Window,
    partition_of,
)
from tmem_integrations.protocols.models import (
    Embedder,
    Failure,
    LanguageModel,
    Ranking,
    Reply,
    Reranker,
    TokenCounter,
)
from tmem_integrations.protocols.stores import (
    FILED,
    DerivedKey,
    DerivedRow,
    DerivedRows,
    ImportTimes,
    IngestReport,
    MessageStore,
)

__all__ = [
    "FILED",
    "AccessPolicy",
    "Associative",
    "DerivedKey",
    "DerivedRow",
    "DerivedRows",
    "Embedder",
    "Failure",
    "HistoryView",
    "ImportTimes",
    "IngestReport",
    "LanguageModel",
    "Matches",
    "MessageStore",
    "Neighbours",
    "Partition",
    "PartitionKind",
    "Ranking",
    "Reached",
    "Reply",
    "Reranker",
    "Rows",
    "Scores",
    "TokenCounter",
    "Vectors",
    "Window",
    "partition_of",
]
