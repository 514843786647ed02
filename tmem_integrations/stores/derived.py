"""Derived rows: what was made of the messages of a store, kept beside them and gone before them.

Whoever makes something of messages (scenes, facts, triggers, their vectors) keeps it here, as rows whose
meaning the store does not know. It knows what they were made of: a message is filed in one group, and every other
row names the groups it was made of. Before a message is edited or deleted, whoever does it, all rows of its
group are erased. So nothing derived survives its sources, and a writer that is killed at any point
leaves at most messages of which something is to be made anew.

In a folder this is an SQLite file beside Chroma's, not a second collection in it: there rows of several
kinds change in one transaction, and what is erased is overwritten where it stood, while Chroma keeps it in
its log and its free pages until they are scrubbed. A store on a server or of a client has no folder to
put a file in; there it is a collection (`stores.chroma_derived`).
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tmem_integrations.batches import batches
from tmem_integrations.errors import StoreError
from tmem_integrations.protocols import FILED, DerivedKey, DerivedRow

_log = logging.getLogger(__name__)
FILE = "anticipation.sqlite3"
_SCHEMA = 2
_TABLES = """
CREATE TABLE IF NOT EXISTS record (kind TEXT, id TEXT, body TEXT, PRIMARY KEY (kind, id));
CREATE TABLE IF NOT EXISTS part (
    made_of TEXT, kind TEXT, id TEXT, PRIMARY KEY (kind, id, made_of)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS part_made_of ON part (made_of);
"""
_FILED = f"SELECT kind, id FROM record WHERE kind = '{FILED}' AND id IN ({{}})"
_GROUPS = f"SELECT id, made_of FROM part WHERE kind = '{FILED}' AND id IN ({{}})"
_MADE = f"SELECT kind, id FROM part WHERE kind != '{FILED}' AND made_of IN ({{}})"
_BUSY_SECONDS = 10.0
_BATCH = 400  # below every SQLite's limit of variables in one statement


class ErasureLog:
    """What was erased through one object, so that whoever holds a copy of the rows can follow."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._erased: list[DerivedKey] = []

    def erased(self, since: int) -> tuple[int, list[DerivedKey]]:
        """The keys erased since a place in the log, and the place up to which they go; the log begins at 0."""
        place = len(self._erased)
        return place, self._erased[since:place]


class TransientRows(ErasureLog):
    """`DerivedRows` of a store in memory: only what tells which rows an erasure takes along.

    Nobody opens such a store again, so the bodies would only lie there a second time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made_of: dict[DerivedKey, frozenset[str]] = {}
        self._of_group: dict[str, set[DerivedKey]] = {}

    def write_mark(self) -> int:
        """The same for ever: there is no other process."""
        return 0

    def rows(self) -> list[DerivedRow]:
        """None."""
        return []

    def write(self, rows: Sequence[DerivedRow], dropped: Iterable[DerivedKey] = ()) -> None:
        """Remove some rows and add or replace others."""
        with self.lock:
            for key in (*dropped, *(row.key for row in rows)):
                self._drop(key)
            for row in rows:
                self._made_of[row.key] = row.made_of
                for group in row.made_of:
                    self._of_group.setdefault(group, set()).add(row.key)

    def erase(self, message_ids: Collection[str], *, keeps_filed: bool = False) -> int:
        """See `DerivedRows.erase`."""
        with self.lock:
            filed = [key for one in message_ids if (key := (FILED, one)) in self._made_of]
            groups = {group for key in filed for group in self._made_of[key]}
            made = {key for group in groups for key in self._of_group[group] if key[0] != FILED}
            keys = [*sorted(made), *(() if keeps_filed else filed)]
            for key in keys:
                self._drop(key)
            self._erased += keys
        return len(keys)

    def scrub(self) -> None:
        """Nothing: there are no files."""

    def close(self) -> None:
        """Nothing: it goes with the store."""

    def _drop(self, key: DerivedKey) -> None:
        for group in self._made_of.pop(key, ()):
            own = self._of_group[group]
            own.discard(key)
            if not own:
                del self._of_group[group]


class SqliteRows(ErasureLog):
    """`DerivedRows` in an SQLite file, which is made with the first row.

    Args:
        path: The file.
        read_only: Refuse to write.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__()
        self._path = path
        self._read_only = read_only
        # Of the connection: questions look for changes while somebody holds `lock` for long.
        self._using = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def write_mark(self) -> int:
        """A number that is the same as long as no other process wrote."""
        with self._open(create=False) as database:
            if database is None:
                return 0
            (mark,) = database.execute("PRAGMA data_version").fetchone()
            return int(mark)

    def rows(self) -> list[DerivedRow]:
        """All rows, in order of first writing."""
        with self._open(create=False) as database:
            if database is None:
                return []
            made_of: dict[DerivedKey, list[str]] = {}
            for group, kind, one in database.execute("SELECT made_of, kind, id FROM part"):
                made_of.setdefault((kind, one), []).append(group)
            found = database.execute("SELECT kind, id, body FROM record ORDER BY rowid")
            return [
                DerivedRow(kind, one, body, frozenset(made_of.get((kind, one), ())))
                for kind, one, body in found
            ]

    def write(self, rows: Sequence[DerivedRow], dropped: Iterable[DerivedKey] = ()) -> None:
        """Remove some rows and add or replace others: all of it or, after an error, nothing."""
        with self._open(create=True) as database:
            assert database is not None
            _drop(database, dropped)
            database.executemany(
                "INSERT INTO record (kind, id, body) VALUES (?, ?, ?) "
                "ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body",
                [(row.kind, row.id, row.body) for row in rows],
            )
            keys = [row.key for row in rows]
            database.executemany("DELETE FROM part WHERE kind = ? AND id = ?", keys)
            database.executemany(
                "INSERT OR IGNORE INTO part (made_of, kind, id) VALUES (?, ?, ?)",
                [(group, row.kind, row.id) for row in rows for group in row.made_of],
            )

    def erase(self, message_ids: Collection[str], *, keeps_filed: bool = False) -> int:
        """Remove all that was made of messages; returns how many rows.

        Args:
            message_ids: Of messages that are edited or deleted next.
            keeps_filed: Only edited: in which group each is filed is kept.
        """
        with self.lock:
            with self._open(create=False) as database:
                if database is None:
                    return 0
                keys = _made_of(database, message_ids)
                if not keeps_filed:
                    keys += _select(database, _FILED, message_ids)
                _drop(database, keys)
            self._erased += keys
            return len(keys)

    def scrub(self) -> None:
        """Rewrite the file: what is erased is overwritten where it stood, but not where SQLite had moved
        it from to make room on a page."""
        with self._open(create=False) as database:
            if database is not None:
                database.execute("VACUUM")

    def close(self) -> None:
        """Release the file. Closing twice is fine."""
        with self._using:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    @contextmanager
    def _open(self, *, create: bool) -> Iterator[sqlite3.Connection | None]:
        """A transaction; None where there is no file and none is to be made."""
        with self._using:
            try:
                if self._connection is None:
                    if not self._path.exists() and not create:
                        yield None
                        return
                    self._connection = self._connect()
                with self._connection:
                    yield self._connection
            except sqlite3.OperationalError as error:
                raise StoreError(
                    f"{self._path} cannot be used ({error}), and is as it was before; make room or mend the "
                    "permissions, and run the same call again."
                ) from error
            except sqlite3.Error as error:
                raise StoreError(
                    f"{self._path} cannot be read ({error}); it holds nothing that cannot be written "
                    "again, so the file can be deleted."
                ) from error

    def _connect(self) -> sqlite3.Connection:
        # Never "ro": whoever reads first after a killed writer has to undo its last transaction.
        mode = "rw" if self._read_only else "rwc"
        connection = sqlite3.connect(
            f"{self._path.resolve().as_uri()}?mode={mode}",
            uri=True, check_same_thread=False, timeout=_BUSY_SECONDS,
        )  # fmt: skip
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if self._read_only:
            connection.execute("PRAGMA query_only = ON")
            if version != _SCHEMA:
                raise StoreError(
                    f"{self._path} is of version {version}, expected {_SCHEMA}; open it to write once."
                )
            return
        # A write-ahead log would keep what was erased until some later checkpoint; and what is erased
        # is overwritten, not only unlinked.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA secure_delete = ON")
        if version not in (0, _SCHEMA):
            # Of which messages its rows were made cannot be told, so none may stay.
            _log.warning("%s is of version %s and is begun anew.", self._path, version)
            connection.execute("DROP TABLE IF EXISTS record")
            connection.execute("DROP TABLE IF EXISTS vector")
        connection.executescript(_TABLES)
        connection.execute(f"PRAGMA user_version = {_SCHEMA}")


def _made_of(database: sqlite3.Connection, message_ids: Iterable[str]) -> list[DerivedKey]:
    groups = {group for _, group in _select(database, _GROUPS, message_ids)}
    return list(dict.fromkeys(_select(database, _MADE, sorted(groups))))


def _select(
    database: sqlite3.Connection, statement: str, values: Iterable[str]
) -> list[tuple[str, str]]:
    """What a statement with `IN ({})` finds for any number of values."""
    found: list[tuple[str, str]] = []
    for part in batches(values, _BATCH):
        found += database.execute(statement.format(",".join("?" * len(part))), part).fetchall()
    return found


def _drop(database: sqlite3.Connection, keys: Iterable[DerivedKey]) -> None:
    every = list(keys)
    database.executemany("DELETE FROM record WHERE kind = ? AND id = ?", every)
    database.executemany("DELETE FROM part WHERE kind = ? AND id = ?", every)
