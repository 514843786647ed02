"""One collection of Milvus: rows that are written, counted, searched and read in pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tmem_integrations.batches import batches
from tmem_integrations.stores.milvus_client import Milvus
from tmem_integrations.stores.milvus_rows import MAX_BYTES, MAX_PIECES, MAX_TERMS, Entity, size_of
from tmem_integrations.stores.milvus_scope import all_of, one_of

if TYPE_CHECKING:
    from pymilvus import CollectionSchema

MAX_ROWS = 16_384
"""How many rows Milvus gives in one answer."""

# Of an answer; how many rows of a history a range of digests holds is a matter of chance.
_SAMPLED = 0.9
# With up to so many times as many rows all are tried first; and a sample is to fill this part of an answer.
_TRIED = 4
_WIDER = 16
_MAX_KEYS = 500
# Of one request; one of 64 MB is refused.
_BATCH_BYTES = 16_000_000
_BATCH_ROWS = 2_000
_TYPES = ("datatype", "element_type")
_NUMBER = {"datatype": "INT64"}
_DIGEST = {"datatype": "VARCHAR", "max_length": 32}
# Milvus-lite scans the rows it has not flushed once per call, and far slower than those it has.
_MAX_UNFLUSHED = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """How a collection is made.

    Attributes:
        fields: Name of each scalar field to what pymilvus' `add_field` takes, types by their names.
        indexed: Scalar fields that filters compare.
        words: Whether there is a sparse vector of words.
        dimension: Of the dense vectors; None when there are none.
        n_partitions: Into how many partitions the partition key is spread; None without one.
    """

    fields: Mapping[str, Mapping[str, Any]]
    indexed: tuple[str, ...] = ()
    words: bool = False
    dimension: int | None = None
    n_partitions: int | None = None


def message_layout(*, dimension: int | None, by_tenant: bool, n_partitions: int) -> Layout:
    """The collection of messages."""
    text = {"datatype": "VARCHAR", "max_length": MAX_BYTES}
    pieces = {"element_type": "VARCHAR", "max_length": MAX_BYTES, "max_capacity": MAX_PIECES}
    terms = {"element_type": "INT64", "max_capacity": MAX_TERMS}
    numbers = ("sent", "known", "until", "arrival")
    names = ("owner", "channel", "topic", "author", "author_id", "place", *["tenant"] * by_tenant)
    fields: dict[str, Mapping[str, Any]] = {
        "key": _DIGEST | {"is_primary": True},
        "id": text,
        **dict.fromkeys(names, _DIGEST),
        **dict.fromkeys(numbers, _NUMBER),
        "terms": terms | {"datatype": "ARRAY"},
        "record": pieces | {"datatype": "ARRAY"},
        "earlier": pieces | {"datatype": "ARRAY"},
    }
    fields["tenant" if by_tenant else "channel"] = _DIGEST | {"is_partition_key": True}
    return Layout(
        fields, (*names, *numbers), words=True, dimension=dimension,
        n_partitions=n_partitions,
    )  # fmt: skip


class MilvusTable:
    """Rows of one collection, by their `key`."""

    def __init__(self, milvus: Milvus, collection: str) -> None:
        self._milvus = milvus
        self._collection = collection
        self._n_unflushed = 0

    @property
    def max_rows(self) -> int:
        """How many rows one answer holds at most."""
        return MAX_ROWS

    @property
    def is_alone(self) -> bool:
        """Whether nobody else can write to it."""
        return self._milvus.is_alone

    @property
    def exists(self) -> bool:
        """Whether there is such a collection."""
        with self._milvus.errors():
            return bool(self._client.has_collection(self._collection, **self._patience))

    def create(self, layout: Layout) -> None:
        """Make the collection, which must not exist."""
        with self._milvus.errors(), self._milvus.writing:
            self._client.create_collection(
                self._collection,
                schema=self._schema_of(layout),
                # Whoever wrote reads what was written.
                consistency_level="Strong",
                **({"num_partitions": layout.n_partitions} if layout.n_partitions else {}),
                **self._patience,
            )
            indices = self._client.prepare_index_params()
            if layout.words:
                indices.add_index("words", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
            # Read by key, never searched: an index that costs nothing.
            if layout.dimension is not None:
                indices.add_index("vector", index_type="FLAT", metric_type="IP")
            for name in layout.indexed:
                indices.add_index(name, index_type="INVERTED")
            # Milvus-lite has none on arrays.
            if "terms" in layout.fields and not self._milvus.is_lite:
                indices.add_index("terms", index_type="INVERTED")
            # To wait for an index on nothing takes half a second for each.
            self._client.create_index(self._collection, indices, sync=False, **self._patience)
        self.load()

    def load(self) -> None:
        """Make the collection ready to be read, which it is not when its server was started anew."""
        with self._milvus.errors():
            self._client.load_collection(self._collection, **self._patience)

    def drop(self) -> None:
        """Delete the collection with all its rows."""
        with self._milvus.errors(), self._milvus.writing:
            self._client.drop_collection(self._collection, **self._patience)

    def write(self, entities: Sequence[Entity]) -> None:
        """Add or replace rows of distinct keys, in as many requests as their size asks for."""
        for part in _of_size(entities):
            with self._milvus.errors(), self._milvus.writing:
                self._client.upsert(self._collection, part, **self._patience)
            self._n_unflushed += len(part)

    def erase(self, keys: Sequence[str], field: str = "key") -> None:
        """Remove the rows that have one of some digests in a field."""
        for part in batches(keys, _MAX_KEYS):
            with self._milvus.errors(), self._milvus.writing:
                self._client.delete(self._collection, filter=one_of(field, part), **self._patience)

    def settle(self) -> None:
        """Before many reads: let milvus-lite index what was written. A cluster does so by itself."""
        if self._milvus.is_lite and self._n_unflushed >= _MAX_UNFLUSHED:
            self._n_unflushed = 0
            with self._milvus.errors(), self._milvus.writing:
                self._client.flush(self._collection, **self._patience)

    def count(self, condition: str) -> int:
        """How many rows fulfil a condition; all when it is empty."""
        (row,) = self.query(condition, ["count(*)"])
        return int(row["count(*)"])

    def query(
        self, condition: str, fields: Sequence[str], *, limit: int | None = None
    ) -> list[Entity]:
        """Rows that fulfil a condition, in no particular order.

        Args:
            limit: At most so many; needed where the condition may be empty.
        """
        bounds = {} if limit is None else {"limit": limit}
        found = self._milvus.read(
            self._collection,
            lambda: self._client.query(
                self._collection,
                filter=condition,
                output_fields=list(fields),
                **bounds,
                **self._patience,
            ),
        )
        return list(found)

    def read(
        self, keys: Sequence[str], fields: Sequence[str], *, field: str = "key", condition: str = ""
    ) -> dict[str, Entity]:
        """Rows by a field that no two of them share; unknown keys are left out.

        Args:
            condition: Only rows that fulfil it.
        """
        found: dict[str, Entity] = {}
        for part in batches(keys, _MAX_KEYS):
            rows = self.query(all_of([one_of(field, part), condition]), [field, *fields])
            found.update((row[field], row) for row in rows)
        return found

    def pages(
        self, condition: str, fields: Sequence[str], prefix: str = ""
    ) -> Iterator[list[Entity]]:
        """All rows that fulfil a condition, in pieces.

        Where one answer does not hold them the keys are divided: digests are spread evenly.

        Args:
            prefix: Only keys that begin with it.
        """
        # "g" comes after all hexadecimal digits.
        within = f'key >= "{prefix}" and key < "{prefix}g"' if prefix else ""
        page = self.query(all_of([condition, within]), fields, limit=MAX_ROWS)
        if len(page) < MAX_ROWS:
            yield page
            return
        for digit in "0123456789abcdef":
            yield from self.pages(condition, fields, prefix + digit)

    def sample(
        self, condition: str, fields: Sequence[str], *, n_rows: int
    ) -> tuple[list[Entity], float]:
        """All rows that fulfil a condition; where one answer does not hold them, a fair sample of them.

        Digests are spread evenly, so the rows below one of them are a fair sample.

        Args:
            n_rows: More rows than this do not fulfil it; may be far too many.

        Returns:
            The rows, and about which share of all they are; 1 if it is all.
        """
        if n_rows <= _TRIED * MAX_ROWS:
            rows = self.query(condition, fields, limit=MAX_ROWS)
            if len(rows) < MAX_ROWS:
                return rows, 1
        share = _SAMPLED * MAX_ROWS / max(MAX_ROWS, n_rows)
        while True:
            below = f'key < "{int(share * 2**32):08x}"'
            rows = self.query(all_of([condition, below]), fields, limit=MAX_ROWS)
            if len(rows) >= MAX_ROWS:
                share /= 2
            elif len(rows) * _TRIED >= MAX_ROWS:
                return rows, share
            elif share >= _SAMPLED:
                # Fewer than one answer holds, as it turns out.
                return [row for page in self.pages(condition, fields) for row in page], 1
            else:
                wider = _SAMPLED * MAX_ROWS / max(1, len(rows))
                share = min(_SAMPLED, share * min(_WIDER, wider))

    def search(
        self,
        queries: Sequence[Mapping[int, float]],
        condition: str,
        fields: Sequence[str] = (),
        *,
        limit: int,
    ) -> list[list[tuple[float, Entity]]]:
        """Rows whose words have the largest inner products with sparse vectors.

        Returns:
            For each query scores, falling, with the row.
        """
        found = self._milvus.read(
            self._collection,
            lambda: self._client.search(
                self._collection,
                data=[dict(query) for query in queries],
                anns_field="words",
                filter=condition,
                limit=limit,
                output_fields=list(fields),
                **self._patience,
            ),
        )
        return [[(hit["distance"], hit["entity"]) for hit in hits] for hits in found]

    def _schema_of(self, layout: Layout) -> CollectionSchema:
        from pymilvus import DataType

        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        for name, options in layout.fields.items():
            types = {key: DataType[options[key]] for key in _TYPES if key in options}
            schema.add_field(name, **{**options, **types})
        if layout.words:
            schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
        if layout.dimension is not None:
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=layout.dimension)
        return schema

    @property
    def _client(self) -> Any:
        return self._milvus.client

    @property
    def _patience(self) -> dict[str, float]:
        return {"timeout": self._milvus.timeout}


def _of_size(entities: Sequence[Entity]) -> Iterator[list[Entity]]:
    """Pieces that one request may hold; a row that is larger alone goes alone."""
    part: list[Entity] = []
    n_bytes = 0
    for entity in entities:
        size = size_of(entity)
        if part and (n_bytes + size > _BATCH_BYTES or len(part) == _BATCH_ROWS):
            yield part
            part, n_bytes = [], 0
        part.append(entity)
        n_bytes += size
    if part:
        yield part
