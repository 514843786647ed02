"""The same rows in Chroma as anybody would put them there: what an ingest is measured against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import chromadb
from chromadb.config import Settings

from tmem_integrations.messages import Message
from tmem_integrations.protocols import Vectors

_BATCH = 2_000


def add_plainly(folder: Path, messages: Sequence[Message], vectors: Vectors) -> None:
    """`collection.add` of texts, vectors and metadata into a new collection with default settings.

    Args:
        folder: A new folder for it.
        messages: What to add.
        vectors: (n, d) of their texts.
    """
    client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("plain", embedding_function=None)
    for start in range(0, len(messages), _BATCH):
        part = messages[start : start + _BATCH]
        collection.add(
            ids=[m.id for m in part],
            documents=[m.text for m in part],
            embeddings=vectors[start : start + _BATCH],
            metadatas=[
                {key: value for key, value in m.to_dict().items() if key not in ("id", "text")}
                for m in part
            ],
        )
