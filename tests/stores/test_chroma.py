"""Chroma: folders, their one writer, restarts, other processes, failures, and what stays on disk."""

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from store_helpers import at, found, in_window, row_of, said, unit, vectors_in

from tmem_integrations.errors import (
    ConfigError,
    IngestError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from tmem_integrations.messages import Scope
from tmem_integrations.protocols import IngestReport
from tmem_integrations.stores import chroma_table, vector_copy
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.chroma_table import ChromaTable


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chat"


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(chroma_table, "_LARGEST_BATCH", 3)


def write_elsewhere(folder, code):
    """Run code in another process that has the store open for writing."""
    prelude = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from store_helpers import said, unit\n"
        "from tmem_integrations.stores.chroma import ChromaStore\n"
        "store = ChromaStore.open(sys.argv[2])\n"
    )
    subprocess.run(
        [sys.executable, "-c", prelude + code + "\nstore.close()", Path(__file__).parent, folder],
        check=True,
    )


def bytes_on_disk(folder, needle):
    """Files of a folder that hold some bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in files if needle in path.read_bytes())


def vectors_of(store, word):
    view = store.view(Scope())
    return view.vectors(np.array([row_of(view, word)])).tolist()


def test_a_folder_opened_again_finds_everything(folder, small_batches):
    messages = [said(f"m{n}", f"word{n}", -n, channel="ops", author="Ann") for n in range(8)]
    with ChromaStore.open(folder, model="tiny") as store:
        store.upsert(messages, np.eye(8, dtype=np.float32))
        store.delete(["m7"])
    with ChromaStore.open(folder, model="tiny") as store:
        assert (len(store), store.dimension, store.model) == (7, 8, "tiny")
        assert store.get(["m3"])["m3"] == messages[3]
        assert found(store, "word3") == ["m3"]
        assert in_window(store, ("channel", "ops"), at(-3), at(-1)) == ["m3", "m2", "m1"]
        assert vectors_of(store, "word3") == [np.eye(8)[3].tolist()]
        assert store.upsert([said("new", minute=-1, channel="ops")]) == IngestReport(added=1)
        assert in_window(store, ("channel", "ops"), at(-1), at(-1)) == ["m1", "new"]
        assert store.check() == ()


def test_a_store_knows_whether_it_can_be_opened_again(folder):
    with ChromaStore.open(folder) as store, ChromaStore.in_memory() as other:
        assert (store.folder, store.is_persistent) == (folder, True)
        assert (other.folder, other.is_persistent) == (None, False)


def test_stores_in_memory_do_not_see_each_other():
    with ChromaStore.in_memory() as one, ChromaStore.in_memory() as two:
        one.upsert([said("m1")])
        assert (len(one), len(two)) == (1, 0)


def test_a_store_in_memory_leaves_other_clients_of_chroma_alone():
    with ChromaStore.in_memory() as store:
        store.upsert([said("m1")])
        assert chromadb.EphemeralClient().list_collections() == []


# One writer


def test_a_second_writer_is_told_who_is_in_the_way(folder):
    with ChromaStore.open(folder) as store:
        with pytest.raises(StoreLockedError, match=r"chat is open for writing.*read_only=True"):
            ChromaStore.open(folder)
        store.upsert([said("m1")])
    with ChromaStore.open(folder) as store:
        assert len(store) == 1


def test_a_writer_in_another_process_is_refused_and_damages_nothing(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said("m1")])
        with pytest.raises(subprocess.CalledProcessError):
            write_elsewhere(folder, "store.upsert([said('m2')])")
        assert len(store) == 1
        assert store.check() == ()


def test_a_store_that_failed_to_open_does_not_keep_the_folder_locked(folder):
    with ChromaStore.open(folder, model="tiny") as store:
        store.upsert([said("m1")], unit([1, 0]))
    with pytest.raises(StoreMismatchError):
        ChromaStore.open(folder, model="large")
    ChromaStore.open(folder, model="tiny").close()


def test_a_store_nobody_holds_any_more_does_not_keep_the_folder_locked(folder):
    store = ChromaStore.open(folder)
    store.upsert([said("m1")])
    del store
    with ChromaStore.open(folder) as store:
        assert len(store) == 1


def test_a_reader_may_not_write(folder):
    ChromaStore.open(folder).close()
    with ChromaStore.open(folder, read_only=True) as store:
        for write in (
            lambda: store.upsert([said("m1")]),
            lambda: store.delete(["m1"]),
            store.scrub,
        ):
            with pytest.raises(StoreError, match="reading only"):
                write()


# Other processes


def test_a_reader_sees_what_another_process_writes_in_every_leg(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said("m1", "one", 1), said("m2", "two", 2)], unit([1, 0], [0, 1]))
    with ChromaStore.open(folder, read_only=True) as reader:
        assert vectors_of(reader, "one") == [[1, 0]]
        write_elsewhere(
            folder,
            "store.upsert([said('m3', 'three', 3, channel='ops')], unit([0.6, 0.8]))\n"
            "store.upsert([said('m1', 'uno', 1)], unit([0, 1]))\n"
            "store.delete(['m2'])",
        )
        assert found(reader, "three") == ["m3"]
        assert found(reader, "one") == found(reader, "two") == []
        assert in_window(reader, ("none", ""), at(0), at(9)) == ["m1"]
        assert in_window(reader, ("channel", "ops"), at(0), at(9)) == ["m3"]
        assert vectors_of(reader, "three") == unit([0.6, 0.8]).tolist()
        assert vectors_of(reader, "uno") == [[0, 1]]
        assert reader.channels() == {"ops"}
        assert (len(reader), reader.check()) == (2, ())


def test_a_reader_beside_a_writer_in_one_process_sees_its_writes(folder):
    with ChromaStore.open(folder) as writer, ChromaStore.open(folder, read_only=True) as reader:
        writer.upsert([said(f"m{n}", f"word{n}") for n in range(3)], unit([1, 0], [0, 1], [1, 0]))
        assert vectors_of(reader, "word1") == [[0, 1]]
        writer.upsert([said("m1", "word1")], unit([1, 0]))
        assert vectors_of(reader, "word1") == [[1, 0]]
        writer.delete(["m0"])
        assert (found(reader, "word0"), len(reader)) == ([], 2)


def test_a_view_shows_nothing_that_another_process_deleted_since(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said("m1", "one"), said("m2", "two")])
    with ChromaStore.open(folder, read_only=True) as reader:
        view = reader.view(Scope())
        rows = view.rows_of(["m1", "m2"])
        write_elsewhere(folder, "store.delete(['m1'])")
        assert view.load(rows) == (None, said("m2", "two"))


# Models and dimensions


@pytest.mark.parametrize(
    "opened", [{"dimension": 3}, {"model": "other"}, {"model": "other", "dimension": 3}]
)
def test_another_model_or_dimension_is_refused_naming_both(folder, opened):
    with ChromaStore.open(folder, model="tiny") as store:
        store.upsert([said("m1")], unit([1, 0]))
    with pytest.raises(
        StoreMismatchError, match=r"chat.*tiny \(2 d\).*(other|3 d).*rebuild"
    ) as error:
        ChromaStore.open(folder, **opened)
    assert all(str(value) in str(error.value) for value in opened.values())


def test_the_same_model_and_no_claim_at_all_are_accepted(folder):
    with ChromaStore.open(folder, model="tiny", dimension=2) as store:
        store.upsert([said("m1")], unit([1, 0]))
    for opened in ({}, {"model": "tiny"}, {"dimension": 2}, {"model": "tiny", "dimension": 2}):
        with ChromaStore.open(folder, **opened) as store:
            assert (store.model, store.dimension, len(store)) == ("tiny", 2, 1)


def test_a_store_without_vectors_refuses_a_model(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said("m1")])
    with pytest.raises(StoreMismatchError, match=r"without embeddings.*with tiny"):
        ChromaStore.open(folder, model="tiny")


def test_an_empty_store_takes_another_model(folder):
    ChromaStore.open(folder, model="tiny", dimension=2).close()
    with ChromaStore.open(folder, model="large", dimension=3) as store:
        store.upsert([said("m1")], unit([1, 0, 0]))
        assert (store.model, store.dimension) == ("large", 3)


def test_another_schema_is_refused(folder, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(chroma_table, "SCHEMA", 0)
        ChromaStore.open(folder).close()
    with pytest.raises(StoreMismatchError, match=r"schema 0.*reads 2"):
        ChromaStore.open(folder)


def test_a_dimension_below_one_is_refused():
    with pytest.raises(ConfigError, match="at least 1"):
        ChromaStore.in_memory(dimension=0)


# Failures


@pytest.fixture
def failing(monkeypatch):
    """Make the n-th write of a batch fail, before or after the rows are written."""

    def fail(nth, *, after_writing=False):
        write, calls = ChromaTable.write, []

        def write_or_fail(self, *arguments):
            calls.append(arguments)
            if len(calls) == nth and not after_writing:
                raise StoreError("disk full")
            write(self, *arguments)
            if len(calls) == nth:
                raise StoreError("disk full")

        monkeypatch.setattr(ChromaTable, "write", write_or_fail)

    return fail


@pytest.mark.parametrize("after_writing", [False, True])
def test_an_ingest_that_fails_part_way_says_what_is_stored_and_can_be_run_again(
    small_batches, failing, after_writing
):
    messages = [said(f"m{n}", f"word{n}") for n in range(8)]
    failing(2, after_writing=after_writing)
    with ChromaStore.in_memory() as store:
        with pytest.raises(
            IngestError, match=r"of 8 messages are stored.*again.*disk full"
        ) as error:
            store.upsert(messages)
        n_stored = 6 if after_writing else 3
        assert error.value.stored == tuple(f"m{n}" for n in range(n_stored))
        assert len(store) == len(store.get(m.id for m in messages)) == n_stored
        report = store.upsert(messages)
        assert report == IngestReport(added=8 - n_stored, unchanged=n_stored)
        assert in_window(store, ("none", ""), at(0), at(0)) == [m.id for m in messages]
        assert store.check() == ()


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_delete_that_fails_leaves_the_legs_and_the_rows_in_step(monkeypatch, has_begun):
    write = ChromaTable.write_manifest

    def fail(self, manifest):
        if has_begun and manifest.is_deleting:
            return write(self, manifest)
        raise StoreError("disk full")

    with ChromaStore.in_memory() as store:
        store.upsert([said("m1", "one"), said("m2", "two")])
        with monkeypatch.context() as broken:
            broken.setattr(ChromaTable, "write_manifest", fail)
            with pytest.raises(StoreError, match="disk full"):
                store.delete(["m1"])
        there = [] if has_begun else ["m1"]
        assert found(store, "one") == sorted(store.get(["m1"])) == there
        assert store.check() == ()
        assert store.delete(["m1", "m2"]) == 1 + len(there)


def test_an_interrupted_write_is_noticed(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with ChromaStore.in_memory() as store:
        with monkeypatch.context() as broken:
            broken.setattr("tmem_integrations.stores.legs.Legs.put", interrupt)
            with pytest.raises(KeyboardInterrupt):
                store.upsert([said("m1", "one")])
        assert found(store, "one") == ["m1"]


def test_check_names_what_is_missing_on_either_side():
    with ChromaStore.in_memory() as store:
        store.upsert([said("m1", "one"), said("m2", "two"), said("m3", "three")])
        store._replica.legs.remove(["m1"])
        store._table.erase(["m2"])
        problems = " ".join(store.check())
        assert "'m1' is stored but not found" in problems
        assert "'m2' is found but not stored" in problems
        assert "'m3'" not in problems


# Folders that are no store


def test_a_file_is_no_store(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        ChromaStore.open(tmp_path / "notes.txt")
    with pytest.raises(StoreError, match="cannot be made"):
        ChromaStore.open(tmp_path / "notes.txt" / "chat")


def test_there_is_nothing_to_read_where_no_store_is(folder):
    with pytest.raises(StoreError, match="no store to read"):
        ChromaStore.open(folder, read_only=True)
    assert not folder.exists()


def test_a_folder_that_lost_its_database_is_not_taken_for_an_empty_store(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said(f"m{n}") for n in range(150)])
    (folder / "chroma.sqlite3").unlink()
    with pytest.raises(StoreError, match=r"lost its chroma.sqlite3.*half deleted"):
        ChromaStore.open(folder)


def test_a_folder_that_lost_its_vectors_still_finds_words_and_says_what_is_missing(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said(f"m{n}", f"word{n}") for n in range(150)], np.eye(150, dtype=np.float32))
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    with ChromaStore.open(folder) as store:
        assert found(store, "word7") == ["m7"]
        # The copy still knows them.
        assert np.argmax(vectors_of(store, "word7")) == 7
        (folder / vector_copy.FILE).unlink()
        with pytest.raises(StoreError, match=r"vectors are missing.*delete the store and import"):
            vectors_of(store, "word7")
        assert "vectors" in store.check()[0]


def test_a_folder_that_lost_a_part_of_its_index_says_what_to_do(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said(f"m{n}", f"word{n}") for n in range(150)], np.eye(150, dtype=np.float32))
    next(folder.glob("*/header.bin")).unlink()
    with (
        pytest.raises(StoreError, match=r"index are damaged.*import its messages again"),
        ChromaStore.open(folder) as store,
    ):
        vectors_of(store, "word7")


@pytest.mark.parametrize("read_only", [True, False])
def test_a_folder_that_cannot_be_written_says_that_chroma_needs_to(folder, monkeypatch, read_only):
    ChromaStore.open(folder).close()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(StoreError, match="copy the folder to where it can be written"):
        ChromaStore.open(folder, read_only=read_only)


def test_a_damaged_database_is_named(folder):
    folder.mkdir()
    (folder / "chroma.sqlite3").write_text("this is no database " * 100)
    with pytest.raises(StoreError, match=r"chat.*not a database"):
        ChromaStore.open(folder)


def test_a_folder_of_somebody_else_s_chroma_is_left_alone(folder):
    client = chromadb.PersistentClient(folder, settings=Settings(anonymized_telemetry=False))
    client.create_collection("recipes", embedding_function=None)
    with pytest.raises(StoreError, match="no collection 'tmem'; it holds recipes"):
        ChromaStore.open(folder)


# Clients of others


@pytest.fixture
def client():
    client = chromadb.EphemeralClient()
    yield client
    for collection in client.list_collections():
        client.delete_collection(collection.name)


def test_two_stores_on_one_client_see_each_other_s_writes(client):
    with (
        ChromaStore.from_client(client, "chat") as one,
        ChromaStore.from_client(client, "chat") as two,
    ):
        one.upsert([said("m1", "one"), said("m2", "two")])
        assert found(two, "one") == ["m1"]
        two.upsert([said("m1", "uno")])
        two.delete(["m2"])
        assert (found(one, "uno"), found(one, "two"), len(one)) == (["m1"], [], 1)
    assert client.get_collection("chat", embedding_function=None).count() == 1


def test_a_collection_that_started_over_elsewhere_is_followed(client):
    with (
        ChromaStore.from_client(client, "chat") as one,
        ChromaStore.from_client(client, "chat") as two,
    ):
        one.upsert([said("m1", "one")])
        one.delete(["m1"])
        one.upsert([said("m2", "two")], unit([1, 0]))
        assert vectors_of(two, "two") == [[1, 0]]


def test_a_collection_of_somebody_else_is_left_alone(client):
    client.create_collection("recipes", embedding_function=None)
    with pytest.raises(StoreError, match=r"'recipes'.*somebody else"):
        ChromaStore.from_client(client, "recipes")


def test_a_collection_that_was_dropped_elsewhere_is_an_error(client):
    with ChromaStore.from_client(client, "chat") as store:
        client.delete_collection("chat")
        with pytest.raises(StoreError, match="does not exist"):
            len(store)


def test_a_server_that_cannot_be_reached_is_named():
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9/tmem"):
        ChromaStore.connect("127.0.0.1", 9)


# What stays on disk


@pytest.mark.parametrize("n_others", [5, 300])
def test_a_deleted_text_and_its_vector_are_gone_from_the_files_when_the_store_is_closed(
    folder, n_others
):
    secret = unit([0.28, 0.96])
    with ChromaStore.open(folder) as store:
        store.upsert(
            [said(f"m{n}", "lunch") for n in range(n_others)], np.tile(unit([1, 0]), (n_others, 1))
        )
        store.upsert([said("s", "salary is zorkmid", author="Quux")], secret)
        store.upsert([said(f"n{n}", "lunch") for n in range(n_others)])
        for needle in (b"zorkmid", b"Quux", secret.tobytes()):
            assert bytes_on_disk(folder, needle)
        store.delete(["s"])
    for needle in (b"zorkmid", b"Quux", secret.tobytes()):
        assert bytes_on_disk(folder, needle) == []
    with ChromaStore.open(folder) as store:
        assert (len(store), store.check()) == (2 * n_others, ())


def test_a_replaced_name_is_gone_from_the_files_after_scrub(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said("s", "salary is 5", author="zorkmid"), said("m1", "lunch")])
        store.upsert([said("s", "salary is private", author="somebody")])
        store.scrub()
        assert bytes_on_disk(folder, b"zorkmid") == []
        assert found(store, "private") == ["s"]


def test_remains_that_a_crash_left_are_scrubbed_by_the_next_writer(folder):
    code = "store.upsert([said('s', 'zorkmid')]); store.delete(['s'])\nimport os; os._exit(0)"
    write_elsewhere(folder, code)
    assert bytes_on_disk(folder, b"zorkmid")
    ChromaStore.open(folder).close()
    assert bytes_on_disk(folder, b"zorkmid") == []


def disturb(monkeypatch, change):
    """Run `change` once between the first and the second page that somebody reads."""
    pages, pending = ChromaTable.pages, [change]

    def disturbed_pages(self, **selection):
        for page in pages(self, **selection):
            yield page
            if pending:
                pending.pop()()

    monkeypatch.setattr(ChromaTable, "pages", disturbed_pages)


def test_messages_deleted_while_a_store_is_opened_hide_no_others(
    client, small_batches, monkeypatch
):
    with ChromaStore.from_client(client, "chat") as writer:
        writer.upsert([said(f"m{n}", f"plan{n}") for n in range(9)])
        # The rows behind the first page move up, so the second page passes over three of them.
        disturb(monkeypatch, lambda: writer.delete(["m0", "m1", "m2"]))
        with ChromaStore.from_client(client, "chat", read_only=True) as reader:
            assert sorted(reader._replica.legs) == [f"m{n}" for n in range(3, 9)]
            assert reader.check() == ()


def test_a_deletion_that_ends_after_a_store_was_opened_hides_no_others(
    client, small_batches, monkeypatch
):
    with ChromaStore.from_client(client, "chat") as writer:
        writer.upsert([said(f"m{n}", f"plan{n}") for n in range(9)])
        write, held = ChromaTable.write_manifest, []

        def hold_back(self, manifest):
            if manifest.is_deleting:
                write(self, manifest)
            else:
                held.append(lambda: write(self, manifest))

        with monkeypatch.context() as slow:
            slow.setattr(ChromaTable, "write_manifest", hold_back)
            disturb(slow, lambda: writer.delete(["m0", "m1", "m2"]))
            reader = ChromaStore.from_client(client, "chat", read_only=True)
        held[0]()
        assert len(reader) == 6
        assert reader.check() == ()


def test_readers_in_many_threads_get_the_right_vectors_while_another_process_writes(folder):
    with ChromaStore.open(folder) as writer, ChromaStore.open(folder, read_only=True) as reader:
        writer.upsert([said("m0", "word0")], unit([1, 0]))
        errors, stop = [], threading.Event()

        def ask():
            try:
                while not stop.is_set():
                    assert vectors_of(reader, "word0") == [[1, 0]]
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for n in range(1, 6):
            writer.upsert([said(f"m{n}", f"word{n}")], unit([0, 1]))
        stop.set()
        for thread in threads:
            thread.join()
        assert errors == []


def test_vectors_are_read_beside_a_write_that_is_half_done(monkeypatch):
    """Chroma finds an id and not its vector then, once for the look and once for the look afresh."""
    read, faults = ChromaTable._get_vectors, iter([True, True])

    def half_done(table, ids):
        if next(faults, False):
            raise StoreError("Error finding id")
        return read(table, ids)

    with ChromaStore.in_memory() as store:
        store.upsert([said("m1", "one")], unit([1, 0]))
        monkeypatch.setattr(ChromaTable, "_get_vectors", half_done)
        monkeypatch.setattr(store._vectors, "copy", None)
        assert vectors_in(store, "m1").tolist() == [[1, 0]]
