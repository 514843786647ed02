"""Rows made of messages: every place that keeps them takes them back before the messages go."""

import random
import sqlite3

import chromadb
import pytest
from chromadb.config import Settings
from store_helpers import said, unit, vectors_in

from tmem_integrations.errors import StoreError
from tmem_integrations.models import verdicts
from tmem_integrations.models.verdicts import VerdictCache
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.protocols import FILED, DerivedRow
from tmem_integrations.stores import derived
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.derived import SqliteRows
from tmem_integrations.stores.milvus import MilvusStore
from tmem_integrations.stores.milvus_table import MilvusTable

SECRET = "xylophone-4711"
TWO_GROUPS = (
    DerivedRow(FILED, "m1", "", frozenset({"s1"})),
    DerivedRow(FILED, "m2", "", frozenset({"s1"})),
    DerivedRow(FILED, "m3", "", frozenset({"s2"})),
    DerivedRow("Scene", "s1", f"about {SECRET}", frozenset({"s1"})),
    DerivedRow("Scene", "s2", "about lunch", frozenset({"s2"})),
    DerivedRow("Item", "both", f"{SECRET} at lunch", frozenset({"s1", "s2"})),
)
MESSAGES = (said("m1", SECRET), said("m2", "indeed"), said("m3", "lunch"))


def client_of(folder):
    return chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))


@pytest.fixture
def open_store(request, tmp_path, collection):
    """Opens a store of a kind, again and again."""

    def opened(kind):
        if kind == "memory":
            return ChromaStore.in_memory()
        if kind == "folder":
            return ChromaStore.open(tmp_path / "chat")
        if kind == "client":
            return ChromaStore.from_client(client_of(tmp_path / "chat"))
        file = request.getfixturevalue("milvus_file")
        tenant = "acme" if kind == "tenant" else None
        return MilvusStore.open(file, collection=collection, tenant=tenant)

    return opened


KINDS = ["folder", "client", "milvus", "tenant"]


@pytest.fixture(params=["memory", *KINDS])
def store(request, open_store):
    with open_store(request.param) as made:
        made.upsert(MESSAGES)
        made.derived.write(TWO_GROUPS)
        yield made


def erased(store):
    return set(store.derived.erased(0)[1])


def test_a_deletion_takes_all_that_was_made_of_the_group_and_no_more(store):
    store.delete(["m1"])
    assert erased(store) == {(FILED, "m1"), ("Scene", "s1"), ("Item", "both")}


def test_an_edit_keeps_where_the_message_is_filed(store):
    store.upsert([said("m1", "something else")])
    assert erased(store) == {("Scene", "s1"), ("Item", "both")}


def test_the_same_message_again_takes_nothing(store):
    store.upsert(MESSAGES)
    assert erased(store) == set()


def test_a_message_that_is_gone_already_is_taken_back_all_the_same(store):
    store.delete(["m1"])
    store.derived.write(TWO_GROUPS)
    store.delete(["m1"])
    assert ("Scene", "s1") in store.derived.erased(3)[1]


def test_what_is_written_again_is_made_of_its_new_groups_alone(store):
    store.derived.write([DerivedRow("Item", "both", "lunch", frozenset({"s2"}))])
    store.delete(["m1"])
    assert ("Item", "both") not in erased(store)


def test_what_is_dropped_is_not_erased_again(store):
    store.derived.write([], [("Item", "both")])
    store.delete(["m1"])
    assert ("Item", "both") not in erased(store)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_there_when_the_store_is_opened_again(open_store, kind):
    with open_store(kind) as store:
        store.upsert(MESSAGES)
        store.derived.write(TWO_GROUPS)
    with open_store(kind) as store:
        rows = store.derived.rows()
        assert sorted(rows, key=lambda row: row.key) == sorted(TWO_GROUPS, key=lambda row: row.key)
        store.delete(["m3"])
        assert {row.key for row in store.derived.rows()} == {
            (FILED, "m1"), (FILED, "m2"), ("Scene", "s1"),
        }  # fmt: skip


@pytest.mark.parametrize("kind", ["client", "milvus", "tenant"])
def test_another_process_sees_what_was_written_and_what_was_taken_back(open_store, kind):
    with open_store(kind) as writer, open_store(kind) as reader:
        assert reader.derived.rows() == []
        writer.upsert(MESSAGES)
        writer.derived.write(TWO_GROUPS)
        before = reader.derived.write_mark()
        assert reader.derived.write_mark() == before
        assert len(reader.derived.rows()) == len(TWO_GROUPS)
        writer.delete(["m1"])
        assert reader.derived.write_mark() != before
        assert {row.key for row in reader.derived.rows()} == {
            (FILED, "m2"), (FILED, "m3"), ("Scene", "s2"),
        }  # fmt: skip
        own = writer.derived.write_mark()
        writer.derived.write(TWO_GROUPS[:1])
        assert writer.derived.write_mark() == own


def test_what_was_made_of_more_groups_than_an_array_holds_is_taken_back(open_store):
    groups = frozenset(f"s{n}" for n in range(5_000))
    with open_store("milvus") as store:
        store.upsert(MESSAGES)
        persona = DerivedRow("Persona", "Ann", SECRET, groups)
        store.derived.write([persona, DerivedRow(FILED, "m1", "", frozenset({"s4999"}))])
        assert persona in store.derived.rows()
        store.delete(["m1"])
        assert store.derived.rows() == []


def test_tenants_of_one_collection_derive_apart(milvus_file, collection):
    acme, zeta = (
        MilvusStore.open(milvus_file, collection=collection, tenant=name)
        for name in ("acme", "zeta")
    )
    with acme, zeta:
        for store in (acme, zeta):
            store.upsert(MESSAGES)
            store.derived.write(TWO_GROUPS)
        acme.delete(["m1", "m2", "m3"])
        assert acme.derived.rows() == []
        assert len(zeta.derived.rows()) == len(TWO_GROUPS)


def test_who_is_killed_while_writing_to_milvus_leaves_nothing_that_cannot_be_taken_back(
    open_store, monkeypatch
):
    with open_store("milvus") as store:
        store.upsert(MESSAGES)
        store.derived.write(TWO_GROUPS[:3])
        write = MilvusTable.write

        def killed(table, entities):
            if entities and entities[0].get("is_head") and entities[0]["record"]:
                raise KeyboardInterrupt
            write(table, entities)

        with monkeypatch.context() as patched:
            patched.setattr(MilvusTable, "write", killed)
            with pytest.raises(KeyboardInterrupt):
                store.derived.write(TWO_GROUPS[3:])
        assert {row.kind for row in store.derived.rows()} == {FILED}
        store.delete(["m3"])
        assert store.derived._table.count("is_head == 0 and row != ''") == 0


def test_a_reader_of_milvus_may_not_derive(milvus_file, collection):
    with MilvusStore.open(milvus_file, collection=collection) as store:
        store.upsert(MESSAGES)
    with (
        MilvusStore.open(milvus_file, collection=collection, read_only=True) as reader,
        pytest.raises(StoreError, match="reading only"),
    ):
        reader.derived.write(TWO_GROUPS)


def files_with(folder, text):
    return [p.name for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]


def test_a_bare_deletion_leaves_nothing_in_any_file(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.upsert(MESSAGES, unit([1, 0], [0, 1], [1, 0]))
        store.derived.write(TWO_GROUPS)
    VerdictCache(tmp_path / verdicts.FILE).put("k", [GateVerdict(1, "KEY", SECRET)], ["m1"])
    assert len(files_with(tmp_path, SECRET)) >= 3
    with ChromaStore.open(tmp_path) as store:
        store.delete(["m1"])
    assert files_with(tmp_path, SECRET) == []


def test_a_bare_edit_leaves_what_was_said_with_its_message_and_nowhere_else(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.upsert(MESSAGES, unit([1, 0], [0, 1], [1, 0]))
        store.derived.write(TWO_GROUPS)
    VerdictCache(tmp_path / verdicts.FILE).put("k", [GateVerdict(1, "KEY", SECRET)], ["m1"])
    with ChromaStore.open(tmp_path) as store:
        store.upsert([said("m1", "taken back")], unit([1, 0]))
    # As what it said before, for questions as of then; it goes with the message.
    assert files_with(tmp_path, SECRET) == ["chroma.sqlite3"]
    with ChromaStore.open(tmp_path) as store:
        store.delete(["m1"])
    assert files_with(tmp_path, SECRET) == []


def test_what_was_erased_is_out_of_its_file_before_the_store_is_closed(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.upsert(MESSAGES)
        store.derived.write(TWO_GROUPS)
        store.delete(["m1"])
        assert SECRET.encode() not in (tmp_path / derived.FILE).read_bytes()


def test_memory_that_chroma_wrote_behind_its_vectors_is_blanked(tmp_path):
    messages = [said(f"n{i}", minute=i) for i in range(12)]
    with ChromaStore.open(tmp_path) as store:
        store.upsert(messages, unit(*[[1, i] for i in range(12)]))
        store.delete(["n0"])
    (index,) = tmp_path.glob("*/data_level0.bin")
    behind = index.stat().st_size - len(SECRET)
    with index.open("r+b") as file:
        file.seek(behind)
        file.write(SECRET.encode())
    with ChromaStore.open(tmp_path) as store:
        store.delete(["n1"])
    assert files_with(tmp_path, SECRET) == []
    with ChromaStore.open(tmp_path) as store:
        assert store.check() == ()
        assert vectors_in(store, "n2", "n11").tolist() == [[1, 2], [1, 11]]


def test_rows_go_before_their_messages(tmp_path, monkeypatch):
    with ChromaStore.open(tmp_path) as store:
        store.upsert(MESSAGES)
        store.derived.write(TWO_GROUPS)

        def killed(ids):
            raise KeyboardInterrupt

        monkeypatch.setattr(store._table, "erase", killed)
        with pytest.raises(KeyboardInterrupt):
            store.delete(["m1"])
        assert ("Scene", "s1") not in {row.key for row in store.derived.rows()}


def test_a_folder_of_which_nothing_was_made_has_no_file(tmp_path):
    with ChromaStore.open(tmp_path) as store:
        store.upsert(MESSAGES)
        store.delete(["m1"])
    assert not (tmp_path / derived.FILE).exists()


def test_a_reader_sees_what_another_process_wrote(tmp_path):
    writer, reader = SqliteRows(tmp_path / "rows"), SqliteRows(tmp_path / "rows", read_only=True)
    assert reader.rows() == []
    writer.write(TWO_GROUPS[:1])
    assert reader.rows() == list(TWO_GROUPS[:1])
    before = reader.write_mark()
    assert reader.write_mark() == before
    writer.erase(["m1"])
    assert reader.write_mark() != before
    with pytest.raises(StoreError, match="readonly"):
        reader.write(TWO_GROUPS)


def test_a_file_of_another_version_is_begun_anew(tmp_path, caplog):
    with sqlite3.connect(tmp_path / "rows") as old:
        old.execute("CREATE TABLE record (kind TEXT, id TEXT, body TEXT, PRIMARY KEY (kind, id))")
        old.execute("INSERT INTO record VALUES ('Scene', 's', ?)", (SECRET,))
        old.execute("PRAGMA user_version = 1")
    old.close()
    rows = SqliteRows(tmp_path / "rows")
    assert rows.rows() == []
    assert "begun anew" in caplog.text
    assert SECRET.encode() not in (tmp_path / "rows").read_bytes()


def test_a_file_that_cannot_be_opened_is_not_said_to_be_broken(tmp_path):
    (tmp_path / "rows").mkdir()
    with pytest.raises(StoreError, match="mend the permissions"):
        SqliteRows(tmp_path / "rows").rows()


def test_a_file_that_is_none_is_an_error_with_a_way_out(tmp_path):
    (tmp_path / "rows").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError, match="the file can be deleted"):
        SqliteRows(tmp_path / "rows").rows()


def rewrite(rows, rng):
    """Rows of which some are written again at another length, so that SQLite moves others to make room."""

    def about(i):
        words = SECRET if i % 3 == 0 else "lunch"
        body = f"{words} " * rng.randrange(3, 60)
        return DerivedRow("Scene", f"s{i}", body, frozenset({f"s{i}"}))

    filed = [DerivedRow(FILED, f"m{i}", "", frozenset({f"s{i}"})) for i in range(120)]
    rows.write([*filed, *map(about, range(120))])
    for i in rng.sample(range(120), 60):
        rows.write([about(i)])


def judge(cache, rng):
    """Verdicts of many lengths, of which some are forgotten meanwhile."""
    for call in range(150):
        number = rng.randrange(60)
        words = SECRET if number % 3 == 0 else "lunch"
        reason = f"{words} " * int(10 ** rng.uniform(0, 2.3))
        cache.put(f"{rng.random()}", (GateVerdict(f"c{call}", "KEY", reason),), [f"m{number}"])
        if call % 5 == 0:
            cache.forget([f"m{rng.randrange(60)}"])


# Of twenty drawn, two after which SQLite had left copies, of rows in both files and in one.
@pytest.mark.parametrize("seed", [7, 14])
def test_a_closed_folder_holds_nothing_of_what_was_erased_wherever_its_files_had_moved_it(
    tmp_path, seed
):
    folder, rng = tmp_path / "chat", random.Random(seed)
    with ChromaStore.open(folder) as store:
        store.upsert([said(f"m{i}") for i in range(120)])
        rewrite(store.derived, rng)
        judge(VerdictCache(folder / verdicts.FILE), rng)
        store.delete([f"m{i}" for i in range(0, 120, 3)])
    assert files_with(folder, SECRET) == []
