"""A message as a row of Milvus: what filters compare, what words weigh, and the message itself.

Names are compared by digests and words by numbers, so an expression sent to Milvus holds nothing that
anybody wrote, and no length is too long. A digest is also spread evenly, so a range of keys is a fair
sample. The message is one JSON text, cut into as many pieces as Milvus' limit of 65,535 bytes asks for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.errors import InputError
from tmem_integrations.messages import Message, to_microseconds
from tmem_integrations.protocols import Partition, partition_of
from tmem_integrations.stores.rows import Row, from_metadata, to_metadata
from tmem_integrations.text import index_text, split_terms

Entity = dict[str, Any]

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


def to_entity(
    message: Message, arrival: int, *, language: str | None, tenant: str | None
) -> Entity:
    """A row without its vector.

    Raises:
        InputError: If the id is longer than Milvus takes.
    """
    if len(message.id.encode()) > MAX_BYTES:
        raise InputError(f"Message {message.id[:80]!r}…: an id may have {MAX_BYTES:,} bytes.")
    weights = {term_number(t): w for t, w in term_weights(message_terms(message, language)).items()}
    sent = to_microseconds(message.sent_at)
    edited = sent if message.edited_at is None else to_microseconds(message.edited_at)
    entity = {
        "key": digest("id", message.id, tenant or ""),
        "id": message.id,
        "channel": digest_or_blank("channel", message.channel),
        "topic": digest_or_blank("topic", message.topic),
        "author": digest_or_blank("author", message.author),
        "author_id": digest_or_blank("author", message.author_id),
        "place": place_of(partition_of(message)),
        "sent": sent,
        "known": max(sent, edited),
        "arrival": arrival,
        "terms": sorted(weights)[:MAX_TERMS],
        "words": {dimension_of(n): w for n, w in weights.items()} or {_NO_WORDS: 1.0},
        "record": cut_pieces(to_metadata(Row(message, arrival, 0))["record"]),
    }
    return entity if tenant is None else {**entity, "tenant": digest("tenant", tenant)}


def to_message(entity: Mapping[str, Any]) -> Message:
    """Inverse of `to_entity`, from `id` and `record`."""
    record = "".join(entity["record"])
    return from_metadata(entity["id"], {"record": record, "version": 0}).message


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


def to_vector(entity: Mapping[str, Any]) -> NDArray[np.float32]:
    """The stored vector of a row."""
    return np.asarray(entity["vector"], dtype=np.float32)


def size_of(entity: Mapping[str, Any]) -> int:
    """About how many bytes a row takes on the way to Milvus."""
    text = sum(len(piece.encode()) for piece in entity["record"])
    return (
        text
        + len(json.dumps(entity["id"]))
        + 8 * (len(entity["terms"]) + len(entity["words"]))
        + 400
    )
