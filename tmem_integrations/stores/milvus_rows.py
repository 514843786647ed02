"""A message as a row of Milvus: what filters compare, what words weigh, and the message itself.

Names are compared by digests and words by numbers, so an expression sent to Milvus holds nothing that
anybody wrote, and no length is too long. A digest is also spread evenly, so a range of keys is a fair
sample. The message is one JSON text, cut into as many pieces as Milvus' limit of 65,535 bytes asks for.

A message that was edited has a row for each text it had, with the times between which that was known. The
present one counts: it holds all the others too, and they are made of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from tmem_integrations.errors import InputError
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Partition, Vectors, partition_of
from tmem_integrations.stores.rows import from_metadata, to_metadata
from tmem_integrations.stores.versions import Row, Version, versions_of
from tmem_integrations.text import index_text, split_terms
from tmem_integrations.times import to_microseconds

Entity = dict[str, Any]

ROW_FIELDS = ("id", "record", "earlier")
"""What `to_row` reads."""

MAX_BYTES = 65_535
"""What Milvus takes in one text."""
MAX_PIECES = MAX_TERMS = 4_096
"""What Milvus takes in one array."""

_K1 = 1.5
_B = 0.75
# Okapi's average length would change with every message, and with who asks; a weight is written once.
_USUAL_LENGTH = 24
# The dimension of a text without words, since a sparse vector must not be empty.
_NO_WORDS = 0


def digest(kind: str, name: str, tenant: str = "") -> str:
    """32 hexadecimal characters that stand for a name.

    Args:
        kind: What it is the name of: the same name may be one of a channel and of a topic.
        tenant: Whose it is.
    """
    parts = "\0".join((kind, tenant, name)).encode("utf-8", "surrogatepass")
    return blake2b(parts, digest_size=16).hexdigest()


def digest_or_blank(kind: str, name: str | None) -> str:
    """The digest of a name; empty, which is none, when it is unknown."""
    return "" if name is None else digest(kind, name)


def place_of(partition: Partition) -> str:
    """The digest of a partition."""
    return digest(*partition)


def term_number(term: str) -> int:
    """The 63-bit number of a term."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "big") >> 1


def dimension_of(number: int) -> int:
    """The dimension of a term in sparse vectors: 1 to 2³² − 2."""
    return 1 + number % (2**32 - 2)


def message_terms(message: Message, language: str | None) -> list[str]:
    """The search terms of a message, as an index has them."""
    return split_terms(index_text(message), language=language, single_characters=True)


def term_weights(terms: Sequence[str]) -> dict[str, float]:
    """What each term of a document adds to its BM25 score, before idf (Okapi, k₁ = 1.5, b = 0.75).

    Examples:
        >>> round(term_weights(["ship"] + ["and"] * 23)["ship"], 3)
        1.0
    """
    saturation = _K1 * (1 - _B + _B * len(terms) / _USUAL_LENGTH)
    return {
        term: count * (_K1 + 1) / (count + saturation) for term, count in Counter(terms).items()
    }


def to_entities(
    row: Row, vector: Vectors | None, *, language: str | None, tenant: str | None
) -> list[Entity]:
    """What Milvus keeps of a row: one row of its own for each version of the message, the present last.

    Args:
        vector: (d,) of the present text; None when no vectors are kept.
        language: How words are split.
        tenant: Whose message it is; None without tenants.

    Raises:
        InputError: If the id is longer than Milvus takes.
    """
    if len(row.message.id.encode()) > MAX_BYTES:
        raise InputError(f"Message {row.message.id[:80]!r}…: an id may have {MAX_BYTES:,} bytes.")
    owner = digest("id", row.message.id, tenant or "")
    *past, present = versions_of(row)
    entities = []
    for version, old in zip(past, row.earlier, strict=True):
        entity = _to_entity(version, Row(version.message, row.arrival, 0), language)
        entity["key"] = digest("version", f"{version.known} {row.message.id}", tenant or "")
        entity["vector"] = None if vector is None else _from_bytes(old.vector, len(vector))
        entities.append(entity)
    entities.append({**_to_entity(present, row, language), "key": owner, "vector": vector})
    for entity in entities:
        entity["owner"] = owner
        if tenant is not None:
            entity["tenant"] = digest("tenant", tenant)
        kept = entity.pop("vector")
        if kept is not None:
            entity["vector"] = kept.tolist()
    return entities


def _to_entity(version: Version, row: Row, language: str | None) -> Entity:
    message = version.message
    weights = {term_number(t): w for t, w in term_weights(message_terms(message, language)).items()}
    metadata = to_metadata(replace(row, version=0))
    return {
        "id": message.id,
        "channel": digest_or_blank("channel", message.channel),
        "topic": digest_or_blank("topic", message.topic),
        "author": digest_or_blank("author", message.author),
        "author_id": digest_or_blank("author", message.author_id),
        "place": place_of(partition_of(message)),
        "sent": to_microseconds(message.sent_at),
        "known": version.known,
        "until": version.until,
        "arrival": row.arrival,
        "terms": sorted(weights)[:MAX_TERMS],
        "words": {dimension_of(n): w for n, w in weights.items()} or {_NO_WORDS: 1.0},
        "record": cut_pieces(metadata["record"]),
        "earlier": cut_pieces(metadata.get("earlier", "")),
    }


def to_row(entity: Mapping[str, Any]) -> Row:
    """Inverse of `to_entities`, from `ROW_FIELDS` of the present row."""
    metadata = {"version": 0, "record": "".join(entity["record"])}
    if entity["earlier"]:
        metadata["earlier"] = "".join(entity["earlier"])
    return from_metadata(entity["id"], metadata)


def _from_bytes(kept: bytes, dimension: int) -> Vectors:
    if not kept:
        return np.zeros(dimension, np.float32)
    return np.frombuffer(kept, dtype="<f4").astype(np.float32)


def cut_pieces(text: object) -> list[str]:
    """A text in pieces that Milvus takes, none of them ending within a character.

    Examples:
        >>> [len(piece) for piece in cut_pieces("語" * 30_000)]
        [21845, 8155]
    """
    rest, pieces = str(text).encode(), []
    while rest:
        end = min(MAX_BYTES, len(rest))
        while end < len(rest) and rest[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(rest[:end].decode())
        rest = rest[end:]
    return pieces


def to_vector(entity: Mapping[str, Any]) -> Vectors:
    """The stored vector of a row."""
    return np.asarray(entity["vector"], dtype=np.float32)


def size_of(entity: Mapping[str, Any]) -> int:
    """About how many bytes a row takes on the way to Milvus.

    Examples:
        >>> size_of({"key": "ab", "record": ["語"], "words": {1: 0.5}, "sent": 7})
        421
    """
    size = 400
    for value in entity.values():
        if isinstance(value, str):
            size += len(value.encode())
        elif isinstance(value, list | dict):
            is_text = isinstance(value, list) and value and isinstance(value[0], str)
            size += sum(len(one.encode()) for one in value) if is_text else 8 * len(value)
        else:
            size += 8
    return size
