"""What a Milvus store says of itself: how it was built, which channels occur, how far it is written.

Rows of a second, small collection. Milvus has no transaction over two rows, so what is about to change is
marked first: whoever opens the store for writing settles what a killed writer left marked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import uuid4

from tmem_integrations.stores.milvus_rows import MAX_BYTES, MAX_PIECES, cut_pieces, digest
from tmem_integrations.stores.milvus_scope import all_of, one_of
from tmem_integrations.stores.milvus_table import Layout, MilvusTable
from tmem_integrations.stores.table import Manifest

SCHEMA = 1

_CHANNEL, _UNSETTLED, _EDITING = "channel", "unsettled", "editing"
_CLOCK, _BUILT = "clock", "built"
_TEXT = {"datatype": "VARCHAR", "max_length": 32}
_LAYOUT = Layout(
    fields={
        "key": _TEXT | {"is_primary": True},
        "kind": _TEXT,
        "tenant": _TEXT,
        "record": {
            "datatype": "ARRAY",
            "element_type": "VARCHAR",
            "max_length": MAX_BYTES,
            "max_capacity": MAX_PIECES,
        },
    },
    indexed=("kind", "tenant"),
    # A collection of Milvus has vectors, needed or not.
    dimension=2,
)


@dataclass(frozen=True, slots=True)
class Built:
    """How the collection of messages was built.

    Attributes:
        model: Name of the model that made the vectors.
        dimension: Of the vectors; None when none are kept.
        language: How words were split, see `text.split_terms`.
        by_tenant: Whether the partition key is the tenant; else it is the channel.
        n_partitions: Into how many partitions it is spread.
        schema: Version of the layout.
    """

    model: str | None = None
    dimension: int | None = None
    language: str | None = None
    by_tenant: bool = False
    n_partitions: int = 16
    schema: int = SCHEMA

    @property
    def space(self) -> Manifest:
        """Model and dimension, to be compared with a caller's."""
        return Manifest(model=self.model, dimension=self.dimension)

    def of_space(self, model: str | None, dimension: int | None) -> Built:
        """The same with other vectors."""
        return replace(self, model=model, dimension=dimension)


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a history is written.

    Attributes:
        arrival: The last arrival that readers may see; 0 when there is none.
        state: Names what is stored, anew after every change; empty while messages that readers see are
            changed, or when such a change did not end.
    """

    arrival: int = 0
    state: str = ""


class Catalogue:
    """The second collection, as one tenant uses it.

    Args:
        table: Made here when it does not exist.
        tenant: Whose channels and clock; that of a store without tenants when None.
    """

    def __init__(self, table: MilvusTable, tenant: str | None) -> None:
        self._table = table
        self._tenant = tenant or ""

    def create(self) -> None:
        """Make the collection where it is missing."""
        if not self._table.exists:
            self._table.create(_LAYOUT)

    def read_built(self) -> Built | None:
        """How the messages were built; None before `write_built`."""
        if not self._table.exists:
            return None
        self._table.load()
        found = self._read(digest(_BUILT, ""))
        return None if found is None else Built(**found)

    def write_built(self, built: Built) -> None:
        """Say how the messages are built from now on."""
        self._write(digest(_BUILT, ""), _BUILT, asdict(built))

    def read_clock(self) -> Clock:
        """How far the history is written."""
        found = self._read(self._key(_CLOCK, ""))
        if found is None:
            return Clock()
        return Clock(*found) if isinstance(found, list) else Clock(int(found))

    def write_clock(self, arrival: int, *, changing: bool = False) -> None:
        """Let readers see what arrived until then.

        Args:
            arrival: The last of it.
            changing: Say that what they see is about to change, too.
        """
        state = "" if changing else uuid4().hex
        self._write(self._key(_CLOCK, ""), _CLOCK, [arrival, state])

    def channels(self, *, unsettled: bool = False) -> frozenset[str]:
        """Channels that occur.

        Args:
            unsettled: Only those of which a writer has yet to say whether they still do.
        """
        kinds = [_UNSETTLED] if unsettled else [_CHANNEL, _UNSETTLED]
        return frozenset(self._records(kinds).values())

    def listed(self, channels: Iterable[str]) -> set[str]:
        """Those of some channels that occur for certain."""
        names = {self._key(_CHANNEL, name): name for name in channels}
        found = self._table.read(list(names), ["kind"])
        return {names[key] for key, row in found.items() if row["kind"] == _CHANNEL}

    def unsettle(self, channels: Iterable[str]) -> None:
        """Mark channels that are about to come or may be about to go."""
        for name in channels:
            self._write(self._key(_CHANNEL, name), _UNSETTLED, name)

    def settle(self, channel: str, *, occurs: bool) -> None:
        """Take the mark from a channel, and the channel from the list when it does not occur."""
        if occurs:
            self._write(self._key(_CHANNEL, channel), _CHANNEL, channel)
        else:
            self._table.erase([self._key(_CHANNEL, channel)])

    @contextmanager
    def editing(self, owners: Sequence[str]) -> Iterator[None]:
        """Around a change of several versions of some messages; the mark stays when it fails.

        Args:
            owners: Digests of their ids.
        """
        key = self._key(_EDITING, uuid4().hex)
        if owners:
            self._write(key, _EDITING, list(owners))
        yield
        if owners:
            self._table.erase([key])

    def half_edited(self) -> dict[str, list[str]]:
        """By mark, the messages of changes that did not end, or that another writer is at."""
        return self._records([_EDITING])

    def end_editing(self, mark: str) -> None:
        """Take the mark from a change that somebody else has finished."""
        self._table.erase([mark])

    def _key(self, kind: str, name: str) -> str:
        return digest(f"catalogue {kind}", name, self._tenant)

    def _records(self, kinds: Sequence[str]) -> dict[str, Any]:
        """All records of some kinds, by key."""
        condition = all_of([one_of("kind", kinds), one_of("tenant", [self._key("tenant", "")])])
        pages = self._table.pages(condition, ["key", "record"])
        return {row["key"]: json.loads("".join(row["record"])) for page in pages for row in page}

    def _read(self, key: str) -> Any:
        found = self._table.read([key], ["record"])
        return json.loads("".join(found[key]["record"])) if key in found else None

    def _write(self, key: str, kind: str, value: Any) -> None:
        entity = {
            "key": key,
            "kind": kind,
            "tenant": self._key("tenant", ""),
            "record": cut_pieces(json.dumps(value)),
            "vector": [0.0, 0.0],
        }
        self._table.write([entity])
