"""Derived rows in a collection of Milvus, beside that of the messages.

A derived row is one row of Milvus for each group of messages it was made of, since an array of groups would end at
some number, and what it does not hold could not be taken back. The first of them, its head, has the
record; the others are written before it and erased with it. Milvus knows no transaction: who is killed in
between leaves messages of which something is to be made anew, never something without its messages.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from uuid import uuid4

from tmem_integrations.batches import batches
from tmem_integrations.errors import StoreError
from tmem_integrations.protocols import FILED, DerivedKey, DerivedRow
from tmem_integrations.stores.derived import ErasureLog
from tmem_integrations.stores.milvus_rows import (
    MAX_BYTES,
    MAX_PIECES,
    Entity,
    cut_pieces,
    digest,
)
from tmem_integrations.stores.milvus_scope import all_of, one_of
from tmem_integrations.stores.milvus_table import Layout, MilvusTable

_DIGEST = {"datatype": "VARCHAR", "max_length": 32}
_PIECES = {
    "datatype": "ARRAY",
    "element_type": "VARCHAR",
    "max_length": MAX_BYTES,
    "max_capacity": MAX_PIECES,
}
_LAYOUT = Layout(
    fields={
        "key": _DIGEST | {"is_primary": True},
        # Of what the row is one of several rows; of which group; what kind it is of.
        "row": _DIGEST,
        "group": _DIGEST,
        "kind": _DIGEST,
        "tenant": _DIGEST,
        "is_head": {"datatype": "INT64"},
        "name": _PIECES,
        "record": _PIECES,
    },
    indexed=("row", "group", "tenant"),
    # A collection of Milvus has vectors, needed or not.
    dimension=2,
)
_MAX_GROUPS = 500
_MARK = "mark"


class MilvusRows(ErasureLog):
    """`DerivedRows` of one tenant; the collection is made with the first row.

    Args:
        table: The collection.
        tenant: Whose rows; that of a store without tenants when None.
        name: How errors call the store.
        read_only: Refuse to write.
    """

    def __init__(
        self, table: MilvusTable, tenant: str | None, name: str, *, read_only: bool = False
    ) -> None:
        super().__init__()
        self._table = table
        self._tenant = tenant or ""
        self._name = name
        self._read_only = read_only
        self._is_there = False
        self._mark = ""
        self._n_foreign = 0

    def write_mark(self) -> int:
        """A number that is the same as long as no other process wrote."""
        if not self._find():
            return 0
        key = self._digest(_MARK, "")
        found = self._table.read([key], ["record"])
        mark = "".join(found[key]["record"]) if found else ""
        if mark != self._mark:
            self._mark, self._n_foreign = mark, self._n_foreign + 1
        return self._n_foreign

    def rows(self) -> list[DerivedRow]:
        """All rows."""
        if not self._find():
            return []
        condition = all_of([f'tenant == "{self._digest("tenant", "")}"', "is_head == 1"])
        pages = self._table.pages(condition, ["name", "record"])
        return [_to_row(entity) for page in pages for entity in page]

    def write(self, rows: Sequence[DerivedRow], dropped: Iterable[DerivedKey] = ()) -> None:
        """Remove some rows, then add or replace others."""
        self._require_writable()
        with self.lock:
            if not self._find():
                self._table.create(_LAYOUT)
                self._is_there = True
            gone = dict.fromkeys([*dropped, *(row.key for row in rows)])
            self._table.erase([self._digest(*key) for key in gone], field="row")
            entities = [entity for row in rows for entity in self._entities(row)]
            # Whoever is killed in between leaves rows that an erasure finds, not a head that it does not.
            self._table.write([entity for entity in entities if not entity["is_head"]])
            self._table.write([entity for entity in entities if entity["is_head"]])
            self._tell()

    def erase(self, message_ids: Collection[str], *, keeps_filed: bool = False) -> int:
        """Remove all that was made of messages; returns how many rows.

        Args:
            message_ids: Of messages that are edited or deleted next.
            keeps_filed: Only edited: in which group each is filed is kept.
        """
        with self.lock:
            if not message_ids or not self._find():
                return 0
            filed = self._table.read(
                [self._digest(FILED, one) for one in message_ids], ["name", "record"]
            )
            groups = {group for entity in filed.values() for group in _to_row(entity).made_of}
            made = dict(self._made_of(groups))
            gone = made if keeps_filed else {**made, **{key: _key_of(filed[key]) for key in filed}}
            if gone:
                self._require_writable()
                self._table.erase(list(made), field="row")
                # Last: whoever is killed before finds the rest by them.
                if not keeps_filed:
                    self._table.erase(list(filed), field="row")
                self._tell()
                self._erased += gone.values()
            return len(gone)

    def scrub(self) -> None:
        """Nothing: Milvus drops what was erased when it compacts."""

    def close(self) -> None:
        """Nothing: the client is closed with the messages."""

    def _made_of(self, groups: Collection[str]) -> Iterator[tuple[str, DerivedKey]]:
        """What was made of groups of messages, but for where these are filed."""
        not_filed = f'kind != "{digest("derived kind", FILED)}"'
        for part in batches(sorted(groups), _MAX_GROUPS):
            condition = all_of(
                [one_of("group", [self._digest("group", g) for g in part]), not_filed]
            )
            for page in self._table.pages(condition, ["row", "name"]):
                yield from ((entity["row"], _key_of(entity)) for entity in page)

    def _entities(self, row: DerivedRow) -> Iterator[Entity]:
        """The head, then a row for each further group."""
        head, *others = sorted(row.made_of) or [""]
        record = json.dumps({"body": row.body, "made_of": sorted(row.made_of)})
        own = self._digest(*row.key)
        yield self._entity(own, row, head, record)
        for group in others:
            yield self._entity(digest("derived part", group, own), row, group, "")

    def _entity(self, key: str, row: DerivedRow, group: str, record: str) -> Entity:
        return {
            "key": key,
            "row": self._digest(*row.key),
            "group": self._digest("group", group),
            "kind": digest("derived kind", row.kind),
            "tenant": self._digest("tenant", ""),
            "is_head": int(bool(record)),
            "name": cut_pieces(json.dumps(row.key)),
            "record": cut_pieces(record),
            "vector": [0.0, 0.0],
        }

    def _tell(self) -> None:
        """Let other processes see that something changed."""
        self._mark = uuid4().hex
        blank = DerivedRow(_MARK, "", "", frozenset())
        entity = self._entity(self._digest(_MARK, ""), blank, "", "")
        self._table.write([entity | {"row": "", "group": "", "record": [self._mark]}])

    def _find(self) -> bool:
        """Whether there is a collection to be read."""
        if not self._is_there and self._table.exists:
            self._table.load()
            self._is_there = True
        return self._is_there

    def _require_writable(self) -> None:
        if self._read_only:
            raise StoreError(f"Store {self._name} is open for reading only; open it to write.")

    def _digest(self, kind: str, name: str) -> str:
        return digest(f"derived {kind}", name, self._tenant)


def _key_of(entity: Entity) -> DerivedKey:
    kind, one = json.loads("".join(entity["name"]))
    return kind, one


def _to_row(entity: Entity) -> DerivedRow:
    kind, one = _key_of(entity)
    record = json.loads("".join(entity["record"]))
    return DerivedRow(kind, one, record["body"], frozenset(record["made_of"]))
