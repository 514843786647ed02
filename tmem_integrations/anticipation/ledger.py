"""The ledger: every derived record, in memory and, where there is a folder, in one SQLite file beside it.

What a transaction saves is whole: whoever is stopped between two of them goes on from the last one,
because what is left to do is read off the records that are not there yet.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from tmem_integrations.anticipation.items import Item
from tmem_integrations.anticipation.persona import PersonaFact
from tmem_integrations.anticipation.scenes import Scene
from tmem_integrations.anticipation.topics import Topic
from tmem_integrations.anticipation.triggers import SceneTrigger
from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Vectors

FILE = "anticipation.sqlite3"
_SCHEMA = 1


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


Derived = Turn | Scene | Topic | Item | SceneTrigger | PersonaFact | PersonaRead
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Turn, Scene, Topic, Item, SceneTrigger, PersonaFact, PersonaRead)
}
_ADAPTERS = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}


def fingerprint(message: Message) -> str:
    """Of the content of a message: who said what, where and when."""
    content = json.dumps(message.to_dict(), sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def key_of(record: Derived) -> str:
    """The id of a record among those of its kind."""
    return record.scene_id if isinstance(record, SceneTrigger) else record.id


class Ledger:
    """Derived records by kind and id, with the vectors of their texts.

    Args:
        path: SQLite file; None keeps everything in memory.
        read_only: Refuse to write.

    Raises:
        StoreError: If the file cannot be read or is of another version.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self._records: dict[str, dict[str, Any]] = {name: {} for name in _KINDS}
        self._vectors: dict[str, Vectors] = {}
        self._lock = threading.RLock()
        self._path = path
        self._database: sqlite3.Connection | None = None
        self.read_only = read_only
        self.version = 0
        if path is not None and (path.exists() or not read_only):
            self._open(path)

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
        """All that is put and dropped inside is saved together, or, after an error, none of it."""
        if self.read_only:
            raise StoreError("This memory is open for reading only; open it to write.")
        with self._lock:
            before = {name: dict(records) for name, records in self._records.items()}
            try:
                with self._writing() as database:
                    yield
                    if database is not None:
                        database.commit()
            except BaseException:
                self._records = before
                raise
            self.version += 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Nothing is saved inside: records that name each other are of one version."""
        with self._lock:
            yield

    def put(self, *records: Derived) -> None:
        """Add records, or replace those with the same id; inside `saving`."""
        for record in records:
            name, key = type(record).__name__, key_of(record)
            self._records[name][key] = record
            if self._database is not None:
                body = _ADAPTERS[name].dump_json(record).decode()
                self._database.execute(
                    "INSERT INTO record (kind, id, body) VALUES (?, ?, ?) "
                    "ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body",
                    (name, key, body),
                )

    def drop(self, *records: Derived) -> None:
        """Remove records; inside `saving`."""
        for record in records:
            name, key = type(record).__name__, key_of(record)
            self._records[name].pop(key, None)
            if self._database is not None:
                self._database.execute("DELETE FROM record WHERE kind = ? AND id = ?", (name, key))

    def vectors(self, model: str, texts: Iterable[str]) -> dict[str, Vectors]:
        """Those vectors of texts that are kept, (d,) each."""
        found = {text: self._vectors.get(_vector_key(model, text)) for text in texts}
        return {text: vector for text, vector in found.items() if vector is not None}

    def keep_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        """Keep vectors of texts, and of no other text."""
        kept = {_vector_key(model, text): vector for text, vector in vectors.items()}
        new, old = kept.keys() - self._vectors.keys(), self._vectors.keys() - kept.keys()
        self._vectors = kept
        if self._database is None or self.read_only:
            return
        rows = [(key, np.asarray(kept[key], np.float32).tobytes()) for key in new]
        self._change("DELETE FROM vector WHERE id = ?", [(key,) for key in old])
        # What is not kept is made again when the file is opened: a full disk keeps no question from its answer.
        with suppress(StoreError):
            self._change("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _change(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run one statement for each row, in a transaction of its own; nothing for none."""
        with self._lock, self._writing() as database:
            if database is not None and rows:
                database.executemany(statement, rows)
                database.commit()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection | None]:
        """The file, if there is one; what was not committed when an error comes is taken back."""
        try:
            yield self._database
        except BaseException as error:
            if self._database is not None:
                self._database.rollback()
            if isinstance(error, sqlite3.Error):
                raise StoreError(
                    f"{self._path} cannot be written ({error}), and is as it was before; "
                    "make room or mend the permissions, and run the same call again."
                ) from error
            raise

    def _open(self, path: Path) -> None:
        try:
            database = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={'ro' if self.read_only else 'rwc'}",
                uri=True, check_same_thread=False,
            )  # fmt: skip
            # What is forgotten is overwritten, not only unlinked.
            database.execute("PRAGMA secure_delete = ON")
            if not self.read_only:
                database.executescript(
                    "CREATE TABLE IF NOT EXISTS record (kind TEXT, id TEXT, body TEXT, PRIMARY KEY (kind, id));"
                    "CREATE TABLE IF NOT EXISTS vector (id TEXT PRIMARY KEY, value BLOB);"
                )
                if database.execute("PRAGMA user_version").fetchone()[0] == 0:
                    database.execute(f"PRAGMA user_version = {_SCHEMA}")
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if version != _SCHEMA:
                raise StoreError(
                    f"{path} is of version {version}, expected {_SCHEMA}; remove the file and write again."
                )
            for kind, key, body in database.execute(
                "SELECT kind, id, body FROM record ORDER BY rowid"
            ):
                self._records[kind][key] = _ADAPTERS[kind].validate_json(body)
            self._vectors = {
                key: np.frombuffer(value, np.float32)
                for key, value in database.execute("SELECT id, value FROM vector")
            }
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{path} cannot be opened ({error}); it is in use, or may not be written here."
            ) from error
        except (sqlite3.Error, ValidationError, KeyError) as error:
            raise StoreError(
                f"{path} cannot be read as a memory that anticipates ({type(error).__name__}: {error}); "
                "remove the file and write again."
            ) from error
        self._database = database


def _vector_key(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\x1f{text}".encode("utf-8", "backslashreplace")).hexdigest()[:32]
