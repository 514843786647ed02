"""Verdicts of a model, kept so that the same question about the same messages is asked once.

A verdict is found again only for the same model, prompt, question, asker, filters and content; change
any of them and it is another key. Of the messages nothing is kept but ids, so that an edit or a
deletion can take out what was said about them: reasons may quote a message, so the places they stood at
are overwritten, and the file is rewritten by `scrub`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message, Query
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.prompts.relations import RelationVerdict
from tmem_integrations.protocols import MessageStore

V = TypeVar("V", GateVerdict, RelationVerdict)

# In the folder of a store: beside the messages they are about, so that whoever forgets there forgets them too.
FILE = "verdicts.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, verdicts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS judged (
    message_id TEXT NOT NULL,
    key TEXT NOT NULL REFERENCES verdicts (key) ON DELETE CASCADE,
    PRIMARY KEY (message_id, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS judged_key ON judged (key);
"""
_BUSY_SECONDS = 10.0
_BATCH = 500  # below every SQLite's limit of variables in one statement


def verdict_key(
    *,
    model: str,
    prompt_version: str,
    query: Query,
    candidates: Sequence[Message],
    extra: Sequence[str] = (),
) -> str:
    """The key of one call's verdicts: a hash of all that they depend on.

    Args:
        model: Name of the model.
        prompt_version: `GatePrompt.version` or `RelationsPrompt.version`.
        query: The question with its asker and filters.
        candidates: The messages shown, in the order of their labels.
        extra: What else the call said, such as the eligible parents.

    Returns:
        A SHA-256 in hex. The order of the candidates counts, since verdicts name labels.
    """
    content = [
        model,
        prompt_version,
        {field.name: _plain(getattr(query, field.name)) for field in fields(query)},
        [
            [m.id, m.text, _plain(m.sent_at), m.author, m.role, m.channel, _plain(m.edited_at)]
            for m in candidates
        ],
        list(extra),
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return sorted(value) if isinstance(value, frozenset) else value


class VerdictCache:
    """Verdicts by key, in a file or in memory. Threads and processes may share it; a copy is the same."""

    def __init__(self, path: str | Path | None = None, *, max_entries: int = 100_000) -> None:
        """Open the file; where there is none, the first verdict makes it.

        Args:
            path: The file; in memory when None.
            max_entries: Beyond it the oldest verdicts go.

        Raises:
            StoreError: If the file cannot be opened or is no cache of verdicts.
        """
        self._path = None if path is None else Path(path)
        self._max_entries = max_entries
        self._lock = threading.RLock()
        self._memory = None if self._path else self._open(":memory:")
        if self._memory is not None:
            weakref.finalize(self, self._memory.close)
        if not self._is_empty:
            with self._connection():
                pass

    @property
    def _is_empty(self) -> bool:
        """Whether there is no file yet, or none any more."""
        return self._path is not None and not self._path.exists()

    def get(self, key: str, kind: type[V]) -> tuple[V, ...] | None:
        """The verdicts of a call.

        Args:
            key: From `verdict_key`.
            kind: `GateVerdict` or `RelationVerdict`.

        Returns:
            The verdicts, perhaps none; None when the call was not made yet.
        """
        if self._is_empty:
            return None
        with self._connection() as connection:
            row = connection.execute(
                "SELECT verdicts FROM verdicts WHERE key = ?", (key,)
            ).fetchone()
        if row is None:
            return None
        try:
            return tuple(kind(**record) for record in json.loads(row[0]))
        except (TypeError, ValueError):
            return None  # written by another version of this package

    def put(
        self,
        key: str,
        verdicts: Sequence[GateVerdict | RelationVerdict],
        message_ids: Collection[str],
    ) -> None:
        """Keep the verdicts of a call.

        Args:
            key: From `verdict_key`.
            verdicts: What the model said.
            message_ids: Ids of all messages shown to it: `forget` finds the verdicts by them.
        """
        text = json.dumps([asdict(verdict) for verdict in verdicts])
        with self._connection() as connection:
            connection.execute("DELETE FROM verdicts WHERE key = ?", (key,))
            connection.execute("INSERT INTO verdicts VALUES (?, ?)", (key, text))
            connection.executemany(
                "INSERT OR IGNORE INTO judged VALUES (?, ?)", [(i, key) for i in message_ids]
            )
            connection.execute(
                "DELETE FROM verdicts WHERE rowid <= "
                "(SELECT rowid FROM verdicts ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (self._max_entries,),
            )

    def forget(self, message_ids: Collection[str]) -> int:
        """Take out every verdict of a call in which one of these messages was shown.

        Returns:
            How many calls are forgotten.
        """
        ids = list(message_ids)
        n_forgotten = 0
        if self._is_empty or not ids:
            return 0
        with self._connection() as connection:
            for start in range(0, len(ids), _BATCH):
                part = ids[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                n_forgotten += connection.execute(
                    "DELETE FROM verdicts WHERE key IN "
                    f"(SELECT key FROM judged WHERE message_id IN ({marks}))",
                    part,
                ).rowcount
        return n_forgotten

    def scrub(self) -> None:
        """Rewrite the file: what is taken out is overwritten where it stood, but not where SQLite had moved
        it from to make room on a page.

        Raises:
            StoreError: If the file is in use; try again later.
        """
        if not self._is_empty:
            with self._connection() as connection:
                connection.execute("VACUUM")

    def message_ids(self) -> frozenset[str]:
        """Ids of all messages that something is kept about."""
        if self._is_empty:
            return frozenset()
        with self._connection() as connection:
            rows = connection.execute("SELECT DISTINCT message_id FROM judged").fetchall()
        return frozenset(row[0] for row in rows)

    def clear(self) -> None:
        """Take out everything."""
        if self._is_empty:
            return
        with self._connection() as connection:
            connection.execute("DELETE FROM verdicts")

    def __len__(self) -> int:
        if self._is_empty:
            return 0
        with self._connection() as connection:
            return int(connection.execute("SELECT count(*) FROM verdicts").fetchone()[0])

    def __copy__(self) -> VerdictCache:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> VerdictCache:
        return self

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A transaction. A file is opened for each: that is safe across threads, forks and processes."""
        try:
            if self._memory is not None:
                with self._lock, self._memory:
                    yield self._memory
            else:
                with closing(self._open(str(self._path))) as connection, connection:
                    yield connection
        except sqlite3.Error as error:
            raise StoreError(
                f"The verdict cache {str(self._path or 'in memory')!r} cannot be used ({error}); "
                "it holds nothing that cannot be asked again, so the file can be deleted."
            ) from error

    def _open(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
        # A write-ahead log would keep what was deleted until some later checkpoint.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.executescript(_SCHEMA)
        return connection


def verdict_cache_of(store: MessageStore) -> VerdictCache | None:
    """Where the verdicts about a store's messages are kept.

    Returns:
        A file in the store's folder; in memory for a store without one. None for a folder that cannot
        be written: a cache of this process alone would not hear of what others delete.
    """
    folder: str | Path | None = getattr(store, "folder", None)
    if folder is None:
        return VerdictCache()
    path = Path(folder) / FILE
    writable = os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return VerdictCache(path) if writable else None
