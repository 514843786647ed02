"""The ledger: every derived record in memory, and as rows beside the messages of the store.

What a transaction saves is whole: whoever is stopped between two of them goes on from the last one,
because what is left to do is read off the records that are not there yet. A row names the scenes it was
made of, so the store takes it back with any message of them, whether anybody has this ledger open or not;
the ledger then follows. That is why the words by which a scene joined a label are a row of their own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.persona import PersonaFact
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.triggers import SceneTrigger
from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message
from tmem_integrations.protocols import DerivedKey, DerivedRow, DerivedRows, Vectors
from tmem_integrations.stores.derived import TransientRows


@dataclass(frozen=True, slots=True)
class Turn:
    """A message that was filed.

    Attributes:
        id: Of the message.
        fingerprint: Of its content when it was filed: another one now means it was edited.
        scene_id: Where it was filed.
    """

    id: str
    fingerprint: str
    scene_id: str


@dataclass(frozen=True, slots=True)
class PersonaRead:
    """A scene that was read for traits.

    Attributes:
        id: Of the scene.
    """

    id: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """A vector, at half precision, and the scenes its text was made of."""

    vector: NDArray[np.float16]
    made_of: frozenset[str]


Derived = Turn | Scene | Topic | Item | SceneTrigger | PersonaFact | PersonaRead
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Turn, Scene, Topic, Item, SceneTrigger, PersonaFact, PersonaRead)
}
_ADAPTERS = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}
# What a scene added to a label, and a vector of a text: rows without a record of their own.
_LABEL, _VECTOR = "Label", "Vector"


def fingerprint(message: Message) -> str:
    """Of the content of a message: who said what, where and when."""
    content = json.dumps(message.to_dict(), sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _key_of(record: Derived) -> str:
    """The id of a record among those of its kind."""
    return record.scene_id if isinstance(record, SceneTrigger) else record.id


class Ledger:
    """Derived records by kind and id, with the vectors of their texts.

    Args:
        rows: Where they are kept; nowhere else than here when None.
        read_only: Refuse to write.

    Raises:
        StoreError: If the rows cannot be read.
    """

    def __init__(self, rows: DerivedRows | None = None, *, read_only: bool = False) -> None:
        self._rows: DerivedRows = rows or TransientRows()
        self._lock = threading.RLock()
        self.read_only = read_only
        self.version = 0
        self._changes: dict[DerivedKey, DerivedRow | None] = {}
        self._records: dict[str, dict[str, Any]] = {}
        self._vectors: dict[str, _Kept] = {}
        # Of an interrupted write: rows whose scenes are not all there.
        self._broken: list[DerivedKey] = []
        self._mark, self._place = 0, 0
        self._load()

    @property
    def turns(self) -> Mapping[str, Turn]:
        """By message id."""
        return MappingProxyType(self._records["Turn"])

    @property
    def scenes(self) -> Mapping[str, Scene]:
        """By id, in order of writing."""
        return MappingProxyType(self._records["Scene"])

    @property
    def topics(self) -> Mapping[str, Topic]:
        """By id, in order of opening."""
        return MappingProxyType(self._records["Topic"])

    @property
    def items(self) -> Mapping[str, Item]:
        """By id."""
        return MappingProxyType(self._records["Item"])

    @property
    def scene_triggers(self) -> Mapping[str, SceneTrigger]:
        """By id of their scene."""
        return MappingProxyType(self._records["SceneTrigger"])

    @property
    def persona(self) -> Mapping[str, PersonaFact]:
        """By id."""
        return MappingProxyType(self._records["PersonaFact"])

    @property
    def persona_read(self) -> Mapping[str, PersonaRead]:
        """By id of their scene."""
        return MappingProxyType(self._records["PersonaRead"])

    @contextmanager
    def saving(self) -> Iterator[None]:
        """All that is put and dropped inside is saved together, or, after an error, none of it.

        Inside, the ledger is up to date and no message goes: what was made of messages that went while it
        was made has no scene here any more, and must not be put.
        """
        if self.read_only:
            raise StoreError("This memory is open for reading only; open it to write.")
        with self._rows.lock, self._lock:
            self.refresh()
            before = self._records
            # Who goes through the old ones meanwhile goes on.
            self._records = {name: dict(records) for name, records in before.items()}
            self._changes = dict.fromkeys(self._broken)
            try:
                yield
                self._save()
            except BaseException:
                self._records = before
                raise
            self._broken = []
            self.version += 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Nothing is saved inside: records that name each other are of one version."""
        with self._lock:
            yield

    def refresh(self) -> None:
        """Take in what was erased with its messages, and what another process wrote."""
        with self._lock:
            if self._rows.write_mark() != self._mark:
                self._load()
                return
            self._place, keys = self._rows.erased(self._place)
            if keys:
                self._records = {name: dict(own) for name, own in self._records.items()}
                for kind, one in keys:
                    self._forget(kind, one)
                self.version += 1

    def erase(self, message_ids: Collection[str], *, edited: bool = False) -> int:
        """Take back all that was made of messages; returns how much that was.

        Args:
            message_ids: Of messages that are gone, or were edited.
            edited: They are still there: in which scene each is filed is kept.
        """
        n_erased = self._rows.erase(message_ids, keeps_filed=edited)
        self.refresh()
        return n_erased

    def put(self, *records: Derived) -> None:
        """Add records, or replace those with the same id; inside `saving`."""
        for record in records:
            name, key = type(record).__name__, _key_of(record)
            if isinstance(record, Topic):
                self._put_labels(record)
            self._records[name][key] = record
            self._changes[name, key] = DerivedRow(
                name, key, _body_of(record), self._made_of(record)
            )

    def drop(self, *records: Derived) -> None:
        """Remove records; inside `saving`."""
        for record in records:
            name, key = type(record).__name__, _key_of(record)
            if isinstance(record, Topic):
                self._put_labels(replace(record, keywords={}))
            self._records[name].pop(key, None)
            self._changes[name, key] = None

    def vectors(self, model: str, texts: Iterable[str]) -> dict[str, Vectors]:
        """Those vectors of texts that are kept, (d,) each."""
        found = {text: self._vectors.get(_vector_key(model, text)) for text in texts}
        return {
            text: kept.vector.astype(np.float32) for text, kept in found.items() if kept is not None
        }

    def keep_vectors(
        self, model: str, vectors: Mapping[str, Vectors], made_of: Mapping[str, Iterable[str]]
    ) -> None:
        """Keep vectors of texts, and of no other text.

        Args:
            model: What made them.
            vectors: Text → (d,).
            made_of: Text → ids of all scenes it was made of; it is kept while they are there.
        """
        with self._rows.lock, self._lock:
            self.refresh()
            old = self._vectors
            found = {
                _vector_key(model, text): _Kept(
                    np.asarray(vector, np.float16), frozenset(made_of[text])
                )
                for text, vector in vectors.items()
            }
            self._vectors = {k: v for k, v in found.items() if v.made_of <= self.scenes.keys()}
            rows = [
                DerivedRow(_VECTOR, key, _encode(kept.vector), kept.made_of)
                for key, kept in self._vectors.items()
                if key not in old or old[key].made_of != kept.made_of
            ]
            dropped = [(_VECTOR, key) for key in old.keys() - self._vectors.keys()]
            if not self.read_only and dropped:
                self._rows.write([], dropped)
            if not self.read_only and rows:
                # What is not kept is made again: a full disk keeps no question from its answer.
                with suppress(StoreError):
                    self._rows.write(rows)

    def _made_of(self, record: Derived) -> frozenset[str]:
        """The scenes without which there would be no such record."""
        match record:
            case Scene() | PersonaRead():
                return frozenset((record.id,))
            case Topic():
                return frozenset((record.founder,))
            case Item():
                # The title of its label was shown to whoever wrote it.
                return frozenset((*record.scene_ids, self.topics[record.topic_id].founder))
            case _:
                return frozenset((record.scene_id,))

    def _put_labels(self, topic: Topic) -> None:
        """The scenes of a label as rows: those that joined, changed, or left since it was put last."""
        old = self.topics.get(topic.id) or replace(topic, keywords={})
        for scene_id in dict.fromkeys([*old.keywords, *topic.keywords]):
            key = f"{topic.id} {scene_id}"
            now = (topic.keywords.get(scene_id), scene_id in topic.read)
            if now == (old.keywords.get(scene_id), scene_id in old.read):
                continue
            row = DerivedRow(_LABEL, key, json.dumps(now), frozenset((scene_id, topic.founder)))
            self._changes[_LABEL, key] = None if now[0] is None else row

    def _save(self) -> None:
        rows = [row for row in self._changes.values() if row is not None]
        dropped = [key for key, row in self._changes.items() if row is None]
        if rows or dropped:
            self._rows.write(rows, dropped)

    def _load(self) -> None:
        """Read all rows but those whose scenes are not all there."""
        self._mark = self._rows.write_mark()
        self._place, _ = self._rows.erased(0)
        rows = self._rows.rows()
        self._records = {name: {} for name in _KINDS}
        self._vectors = {}
        scenes = {row.id for row in rows if row.kind == "Scene"}
        self._broken = []
        try:
            for row in sorted(rows, key=lambda row: row.kind == _LABEL):
                if row.kind != "Turn" and not scenes.issuperset(row.made_of):
                    self._broken.append(row.key)
                else:
                    self._take(row)
        except (ValidationError, ValueError, KeyError) as error:
            raise StoreError(
                f"What was derived cannot be read ({type(error).__name__}: {error}); remove it and write again."
            ) from error
        self.version += 1

    def _take(self, row: DerivedRow) -> None:
        if row.kind == _VECTOR:
            vector = np.frombuffer(base64.b64decode(row.body), np.float16)
            self._vectors[row.id] = _Kept(vector, row.made_of)
        elif row.kind == _LABEL:
            topic_id, scene_id = row.id.split(" ")
            words, is_read = json.loads(row.body)
            topic = self._records["Topic"][topic_id].joined(scene_id, tuple(words))
            read = topic.read | {scene_id} if is_read else topic.read
            self._records["Topic"][topic_id] = replace(topic, read=read)
        else:
            self._records[row.kind][row.id] = _ADAPTERS[row.kind].validate_json(row.body)

    def _forget(self, kind: str, key: str) -> None:
        """Follow the store, which erased a row."""
        if kind == _VECTOR:
            self._vectors.pop(key, None)
        elif kind == _LABEL:
            topic_id, scene_id = key.split(" ")
            topic = self._records["Topic"].get(topic_id)
            if topic is not None:
                self._records["Topic"][topic_id] = topic.without(scene_id)
        else:
            self._records[kind].pop(key, None)


def _body_of(record: Derived) -> str:
    if isinstance(record, Topic):
        record = replace(record, keywords={}, read=frozenset())
    body: bytes = _ADAPTERS[type(record).__name__].dump_json(record)
    return body.decode()


def _encode(vector: NDArray[np.float16]) -> str:
    return base64.b64encode(vector.tobytes()).decode()


def _vector_key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\x1f{text}".encode("utf-8", "backslashreplace")).hexdigest()[:32]
