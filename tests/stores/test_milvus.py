"""Milvus: what differs from other stores. The contract itself is in `test_contract.py`."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_helpers import START, at, found, in_window, row_of, said, unit

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.bridges.stores import open_store
from tmem_integrations.config import ForestConfig
from tmem_integrations.errors import (
    ConfigError,
    IngestError,
    InputError,
    StoreError,
    StoreLockedError,
    StoreMismatchError,
)
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Query, Scope
from tmem_integrations.protocols import IngestReport, Neighbours, Window
from tmem_integrations.stores import milvus, milvus_table, milvus_view
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.milvus import MilvusStore
from tmem_integrations.stores.milvus_counts import CountCache
from tmem_integrations.stores.milvus_rows import digest
from tmem_integrations.stores.versions import Row, edited

MilvusClient = pytest.importorskip("pymilvus").MilvusClient
pytest.importorskip("milvus_lite")

HOSTILE = ('a" or key != "', "a\\", "a' or 1 == 1 --", "{x}", 'x"]', "\nx", "%")


@pytest.fixture
def opened(milvus_file, collection):
    """Opens the same collection, again and again."""
    stores = []

    def open_it(**options):
        stores.append(MilvusStore.open(milvus_file, collection=collection, **options))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


def test_a_file_opened_again_finds_everything(tmp_path):
    file = str(tmp_path / "new" / "chat.db")
    with MilvusStore.open(file) as store:
        store.upsert([said("m1", "plan", channel="ops"), said("m2", "lunch")], unit([1, 0], [0, 1]))
    with MilvusStore.open(file) as store:
        assert found(store, "plan") == ["m1"]
        assert in_window(store, ("channel", "ops"), at(-9), at(9)) == ["m1"]
        assert store.channels() == {"ops"}
        view = store.view(Scope())
        assert view.vectors(view.rows_of(["m2"])).tolist() == [[0, 1]]
        assert store.upsert([said("m3")]) == IngestReport(added=1)
        assert store.ids(Scope()) == ["m1", "m2", "m3"]


def test_a_file_that_another_process_has_open_is_locked(milvus_file, tmp_path):
    file = str(tmp_path / "chat.db")
    code = (
        "import sys; from tmem_integrations.stores.milvus import MilvusStore\n"
        f"store = MilvusStore.open({file!r}); print('open', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout.readline() == "open\n"
        with pytest.raises(StoreLockedError, match=r"chat\.db.*another process"):
            MilvusStore.open(file)
        other.stdin.close()
    MilvusStore.open(file).close()


@pytest.mark.parametrize("uri", ["", "chat", "localhost:19530"])
def test_what_is_neither_address_nor_file_is_refused(uri):
    with pytest.raises(ConfigError, match=r"http://localhost:19530.*\.db"):
        MilvusStore.open(uri)


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "chat.db").write_text("hello")
    with pytest.raises(StoreError, match=r"chat\.db"):
        MilvusStore.open(str(tmp_path / "chat.db"))


def test_a_server_that_does_not_answer_is_named_in_one_sentence():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(StoreError) as raised:
        MilvusStore.open(uri, timeout=1.0)
    assert str(raised.value) == (
        f"Milvus at {uri} cannot be reached within 1 s; check the address, and that it is running."
    )


def test_another_model_dimension_language_or_partition_key_is_refused_naming_both(opened):
    opened(model="one").upsert([said("m1")], unit([1, 0]))
    for options, named in (
        ({"model": "two"}, r"with one \(2 d\).*with two"),
        ({"model": "one", "dimension": 3}, r"2 d.*3 d"),
        ({"language": "german"}, r"language: None, not 'german'"),
        ({"tenant": "acme"}, r"tenant: False, not True"),
    ):
        with pytest.raises(StoreMismatchError, match=named):
            opened(**options)
    assert opened(model="one", dimension=2).dimension == 2
    assert opened().model == "one"


def test_an_empty_store_takes_another_model(opened):
    opened(model="one", dimension=2)
    store = opened(model="two", dimension=3)
    store.upsert([said("m1")], unit([1, 0, 0]))
    assert (opened().model, opened().dimension) == ("two", 3)


def test_a_memory_names_the_model_of_its_vectors(opened):
    class Fake:
        name = "fake-2"

        def embed(self, texts):
            return np.ones((len(texts), 2), np.float32)

    store = open_store(opened(), Fake())
    TemporalMemory.from_messages([said("m1")], store=store, embedder=Fake())
    with pytest.raises(StoreMismatchError, match=r"fake-2 \(2 d\).*wordllama"):
        TemporalForestRetriever.from_messages([], store=opened(), embeddings="static")


def test_a_collection_of_somebody_else_is_left_alone(opened, collection):
    client = opened()._milvus.client
    other = f"{collection}_of_another"
    client.create_collection(other, dimension=2)
    with pytest.raises(StoreError, match=r"something else.*collection="):
        MilvusStore.open(opened()._milvus.uri, collection=other)
    assert client.has_collection(other)


def test_there_is_nothing_to_read_where_no_store_is(opened):
    with pytest.raises(StoreError, match="there is none"):
        opened(read_only=True)


def test_a_reader_may_not_write_and_sees_what_is_written(opened):
    store, reader = opened(), opened(read_only=True)
    store.upsert([said("m1", "plan")])
    assert found(reader, "plan") == ["m1"]
    for write in (lambda: reader.upsert([said("m2")]), lambda: reader.delete(["m1"])):
        with pytest.raises(StoreError, match="reading only"):
            write()


def test_two_writers_of_one_history_lose_and_double_nothing(milvus_file, collection):
    with ExitStack() as stores:
        one, two = (
            stores.enter_context(MilvusStore.open(milvus_file, collection=collection))
            for _ in range(2)
        )
        errors = []

        def write(store, name):
            try:
                for n in range(8):
                    store.upsert([said(f"{name}{n}", "plan", n, channel=f"c{n % 3}")])
                    store.upsert([said("both", "plan", 1, channel="c0")])
                    store.delete([f"{name}{n - 3}"])
            except StoreError as error:
                errors.append(error)

        threads = [
            threading.Thread(target=write, args=(store, name))
            for store, name in ((one, "a"), (two, "b"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        # What is written is visible to either, without opening anew, and listed.
        left = ["both", *(f"{name}{n}" for name in "ab" for n in (5, 6, 7))]
        for store in (one, two):
            assert found(store, "plan") == sorted(left)
            assert store.channels() == {"c0", "c1", "c2"}
            assert store.check() == ()
        assert one.upsert([said(f"a{n}", "plan", n, channel=f"c{n % 3}") for n in (5, 6, 7)]) == (
            IngestReport(unchanged=3)
        )


def test_writes_to_one_file_of_milvus_lite_wait_for_each_other(opened, monkeypatch):
    inside, most = [], []
    upsert = MilvusClient.upsert

    def slow(client, *args, **options):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        try:
            return upsert(client, *args, **options)
        finally:
            inside.pop()

    monkeypatch.setattr(MilvusClient, "upsert", slow)
    stores = [opened(), opened()]
    threads = [
        threading.Thread(target=store.upsert, args=([said(f"m{n}")],))
        for n, store in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0]) == 2
    assert set(most) == {1}


def test_a_clock_that_another_writer_set_back_is_set_right(opened):
    one, two = opened(), opened()
    one.upsert([said("m1", "plan")])
    # Both read the clock before either wrote, and the one that wrote less says so last.
    one._table.write([row for n in (2, 3) for row in rows_of(one, said(f"m{n}", "plan"), n)])
    one._catalogue.write_clock(3)
    two._table.write(rows_of(two, said("x2", "plan"), 2))
    two._writer._show(2)
    assert found(one, "plan") == found(two, "plan") == ["m1", "m2", "m3", "x2"]


def test_a_channel_that_empties_while_another_writer_fills_it_stays_listed(opened, monkeypatch):
    one, two = opened(), opened()
    one.upsert([said("m1", "plan", channel="ops")])
    settle = type(two._catalogue).settle

    def settle_after_the_other(catalogue, channel, *, occurs):
        if not occurs:
            monkeypatch.undo()
            one.upsert([said("m2", "plan", channel="ops")])
        settle(catalogue, channel, occurs=occurs)

    monkeypatch.setattr(type(two._catalogue), "settle", settle_after_the_other)
    two.delete(["m1"])
    assert one.channels() == two.channels() == {"ops"}
    assert two.check() == ()


def test_two_writers_may_edit_one_message(opened):
    one, two = opened(), opened()
    first = said("m1", "friday", channel="ops")
    one.upsert([first])
    for minute, (store, text) in enumerate([(one, "monday"), (two, "tuesday"), (one, "sunday")]):
        edited_at = START + timedelta(minutes=10 + minute)
        store.upsert([replace(first, text=text, edited_at=edited_at)])
    assert len(two) == 1
    assert found(two, "sunday") == found(two, "friday", as_of=START) == ["m1"]
    assert two.check() == ()


@pytest.mark.parametrize(("tenant", "key"), [(None, "channel"), ("acme", "tenant")])
def test_the_collection_is_partitioned_as_the_guide_says(
    opened, collection, monkeypatch, tenant, key
):
    create, asked = MilvusClient.create_collection, {}

    def create_and_note(client, name, **options):
        asked[name] = options.get("num_partitions")
        create(client, name, **options)

    monkeypatch.setattr(MilvusClient, "create_collection", create_and_note)
    store = opened(tenant=tenant, n_partitions=4)
    # What milvus-lite makes are 16, whatever it is asked for.
    assert asked[collection] == 4
    told = store._milvus.client.describe_collection(collection)
    assert [f["name"] for f in told["fields"] if f.get("is_partition_key")] == [key]
    assert [f["name"] for f in told["fields"] if f.get("is_primary")] == ["key"]
    assert told["enable_dynamic_field"] is False
    assert told["consistency_level_name"] == "Strong"


def test_tenants_of_one_collection_see_nothing_of_each_other(opened):
    acme, zeta = opened(tenant="acme"), opened(tenant="zeta")
    acme.upsert([said("m1", "plan of acme", channel="ops"), said("m2", "plan")])
    zeta.upsert([said("m1", "plan of zeta", channel="hr")])
    assert (len(acme), len(zeta)) == (2, 1)
    assert zeta.get(["m1", "m2"]) == {"m1": said("m1", "plan of zeta", channel="hr")}
    assert found(zeta, "plan acme") == zeta.ids(Scope()) == ["m1"]
    assert (acme.channels(), zeta.channels()) == ({"ops"}, {"hr"})
    view = zeta.view(Scope())
    assert (view.n_messages, view.document_frequencies("plan")) == (1, {"plan": 1})
    assert len(view.rows_of(["m2"])) == len(view.window(("channel", "ops"), at(-9), at(9))) == 0
    assert zeta.delete(["m1", "m2"]) == 1
    assert len(acme) == 2
    assert acme.check() == zeta.check() == ()


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_can_widen_an_expression(opened, name):
    store = opened()
    mine = said(name, "plan", channel=name, author=name, topic=name)
    store.upsert([mine, said("m2", "plan", channel="secret", author="Bo", topic="hr")])
    for filters in ({"channels": name}, {"authors": name}, {"topics": name}):
        assert found(store, "plan", **filters) == [name]
    assert found(store, "plan", not_channels=name) == ["m2"]
    assert store.ids(Scope(readable=frozenset({name}))) == [name]
    assert store.get([name]) == {name: mine}
    assert in_window(store, ("topic", name), at(-9), at(9)) == [name]
    assert found(store, name + " plan", channels=name) == [name]
    assert store.channels() == {name, "secret"}
    assert store.delete([name]) == 1
    assert store.ids(Scope()) == ["m2"]


def test_a_text_of_any_length_comes_back_and_is_found_by_each_of_its_words(opened):
    text = " ".join(f"word{n}語" for n in range(20_000)) + " zebra"
    assert len(text.encode()) > 3 * 65_535
    store = opened()
    store.upsert([said("m1", text, channel="c" * 70_000), said("m2", "lunch")])
    assert store.get(["m1"])["m1"].text == text
    assert found(store, "zebra") == found(store, "word19999語") == ["m1"]
    assert store.channels() == {"c" * 70_000}
    assert found(store, "zebra", channels="c" * 70_000) == ["m1"]


def test_an_id_that_is_too_long_is_refused_before_anything_is_written(opened):
    store = opened()
    with pytest.raises(InputError, match="65,535 bytes"):
        store.upsert([said("m1"), said("x" * 70_000)])
    assert len(store) == 0


def test_an_ingest_that_fails_part_way_says_what_is_stored_and_can_be_run_again(
    opened, monkeypatch
):
    store = opened()
    monkeypatch.setattr(milvus, "BATCH", 2)
    write, left = milvus_table.MilvusTable.write, [2]

    def write_for_a_while(table, entities):
        if entities[0].get("id"):
            left[0] -= 1
            if left[0] == 0:
                raise StoreError("the disk is full")
        write(table, entities)

    monkeypatch.setattr(milvus_table.MilvusTable, "write", write_for_a_while)
    messages = [said(f"m{n}", "plan", n, channel=f"c{n}") for n in range(6)]
    with pytest.raises(IngestError, match=r"2 of 6 .*disk is full") as raised:
        store.upsert(messages)
    assert raised.value.stored == ("m0", "m1")
    assert found(store, "plan") == ["m0", "m1"]
    assert store.upsert(messages) == IngestReport(added=4, unchanged=2)
    assert len(found(store, "plan")) == 6
    assert store.check() == ()


def rows_of(store, message, arrival):
    """What the store would write of a message."""
    return store._writer._entities(Row(message, arrival, 0), None)


def test_what_a_killed_writer_stored_is_found_by_the_next_one(opened):
    store = opened()
    store.upsert([said("m1", "plan", channel="ops")])
    # As if it were killed after it wrote a row and before it said so.
    store._catalogue.unsettle(["new", "never"])
    store._table.write(rows_of(store, said("m2", "plan", channel="new"), 2))
    assert found(store, "plan") == ["m1"]
    again = opened()
    assert found(again, "plan") == ["m1", "m2"]
    assert again.channels() == {"ops", "new"}
    assert again.check() == ()
    assert again.upsert([said("m2", "plan", channel="new")]) == IngestReport(unchanged=1)


def test_a_write_that_is_interrupted_is_finished_by_the_next_one_of_the_same_store(
    opened, monkeypatch
):
    store = opened()
    store.upsert([said("m1", "plan", channel="ops")])

    def interrupt(arrival):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store._catalogue, "write_clock", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.upsert([said("m2", "plan", channel="new")])
    assert found(store, "plan") == ["m1"]
    store.upsert([said("m1", "plan", channel="ops")])
    assert found(store, "plan") == ["m1", "m2"]


@pytest.mark.parametrize("n_written", [1, 2])
def test_an_edit_that_was_cut_is_finished_by_the_next_writer(opened, n_written):
    store = opened()
    first = said("m1", "friday")
    store.upsert([first], unit([1, 0]))
    row, vector = store._writer.read(["m1"])["m1"]
    row = edited(row, replace(first, text="monday"), version=0, now=row.stored_at, vector=b"")
    past, present = store._writer._entities(row, vector)
    # The record is written, what is made of it is not; or a version that no record has.
    mark = store._catalogue.editing([present["owner"]])
    mark.__enter__()
    store._table.write([present, {**past, "key": digest("version", "of no record")}][:n_written])
    again = opened()
    assert again.check() == ()
    assert found(again, "friday", as_of=START) == ["m1"]
    assert found(again, "monday") == ["m1"]
    assert found(again, "friday") == []


def test_an_old_view_shows_no_part_of_a_batch_that_is_being_written(opened):
    store = opened()
    store.upsert([said("m1", "plan")])
    store._table.write(rows_of(store, said("m2", "plan"), 2))
    view = store.view(Scope())
    assert view.n_messages == len(view.search("plan").rows) == 1
    assert view.document_frequencies("plan") == {"plan": 1}
    assert len(view.rows_of(["m1", "m2"])) == 1


@pytest.fixture
def calls(monkeypatch):
    """What was asked of Milvus, one name and collection for each call."""
    made = []
    for name in ("count", "query", "search"):
        kept = getattr(milvus_table.MilvusTable, name)

        def counted(table, *args, _name=name, _kept=kept, **options):
            made.append(f"{_name} {table._collection.rpartition('_')[2]}")
            return _kept(table, *args, **options)

        monkeypatch.setattr(milvus_table.MilvusTable, name, counted)
    return made


def test_what_was_counted_is_not_counted_again_until_something_changes(opened, calls):
    store, other = opened(), opened()
    store.upsert([said("m1", "plan", channel="ops"), said("m2", "plan", 1, channel="ops")])

    def counted():
        calls.clear()
        view = store.view(Scope())
        frequency = view.document_frequencies("plan")["plan"]
        return view.n_messages, frequency, sorted(store.channels()), len(calls)

    assert counted()[:3] == (2, 2, ["ops"])
    # Only whether something has changed is asked, once for the view and once for the channels.
    assert counted() == (2, 2, ["ops"], 2)
    other.upsert([said("m3", "plan", channel="dev")])
    assert counted()[:3] == (3, 3, ["dev", "ops"])
    other.upsert([said("m3", "lunch", channel="dev")])
    assert counted()[:3] == (3, 2, ["dev", "ops"])
    other.delete(["m3"])
    assert counted()[:3] == (2, 2, ["ops"])
    assert other.upsert([said("m1", "plan", channel="ops")]) == IngestReport(unchanged=1)
    assert counted() == (2, 2, ["ops"], 2)


def test_what_is_counted_during_a_change_is_not_kept(opened, monkeypatch):
    store = opened()
    store.upsert([said("m1", "plan"), said("m2", "plan"), said("m3", "lunch")])
    assert store.view(Scope()).document_frequencies("plan") == {"plan": 2}
    erase, during = milvus_table.MilvusTable.erase, []

    def erase_half(table, keys, field="key"):
        erase(table, keys[:1], field)
        view = store.view(Scope())
        during.append((view.n_messages, view.document_frequencies("plan")["plan"]))
        raise StoreError("the network is down")

    with monkeypatch.context() as patched:
        patched.setattr(milvus_table.MilvusTable, "erase", erase_half)
        with pytest.raises(StoreError):
            store.delete(["m1", "m2"])
    # Counted as it was at that time, and not as before.
    assert during == [(2, 1)]
    assert store.view(Scope()).document_frequencies("plan") == {"plan": 1}
    assert store.delete(["m1", "m2"]) == 1
    assert store.view(Scope()).document_frequencies("plan") == {"plan": 0}


def test_counts_of_many_scopes_and_words_are_not_kept_for_ever():
    cache = CountCache()
    counts = cache.of("now", "scope")
    counts.frequencies |= {str(n): n for n in range(20_001)}
    assert cache.of("now", "scope").frequencies == {}
    first = cache.of("now", "first")
    assert cache.of("now", "first") is first
    for n in range(64):
        cache.of("now", f"scope {n}")
    assert cache.of("now", "first") is not first
    assert cache.of("then", "scope 63") is not cache.of("", "scope 63")
    assert cache.of("", "scope") is not cache.of("", "scope")


def test_a_question_asks_seldom_whatever_the_number_of_its_channels(opened, calls):
    store = opened()
    store.upsert(
        [said(f"m{n}", f"launch plan {n}", n, channel=f"c{n % 12}") for n in range(240)],
        np.eye(240, dtype=np.float32),
    )
    memory = TemporalMemory(store)
    memory.retrieve("the launch?")
    calls.clear()
    assert len(memory.retrieve("the launch plan?").trace.timeline.lanes) > 3
    # The clock; words; matches; anchors; their channels; what is around them, with its vectors.
    assert len(calls) <= 7


def test_of_channels_that_one_answer_does_not_hold_stretches_are_read_together(
    opened, calls, monkeypatch
):
    store = opened()
    # One message a minute in three channels, and a lone one long before in each.
    store.upsert(
        [said(f"{name}{n}", "plan", n, channel=name) for name in "abc" for n in range(300)]
        + [said(f"{name}-old", "plan", -90_000, channel=name) for name in "abc"]
    )
    with ChromaStore.in_memory() as other:
        other.upsert(list(store.get(store.ids(Scope())).values()))
        monkeypatch.setattr(milvus_table, "MAX_ROWS", 200)
        view, theirs = store.view(Scope()), other.view(Scope())

        def parts(view):
            rows = view.rows_of(["a150", "b0", "b1", "b299", "c-old"]).tolist()
            return [
                Window(("channel", "a"), at(10), at(60)),
                Window(("channel", "c"), at(9), at(8)),
                *(Neighbours(row, 8, 8) for row in rows),
            ]

        asked = parts(view)
        assert all(len(times) < 200 for times in view.traffic([("channel", c) for c in "abc"]))
        calls.clear()
        gathered = view.gather(asked)
        # All stretches at once; then what lies far off, to be looked for on its own.

        assert len(calls) < 12
        for mine, his in zip(gathered, theirs.gather(parts(theirs)), strict=True):
            assert _shown(view, mine) == _shown(theirs, his)


def test_the_nearest_are_found_beyond_a_long_silence(opened, monkeypatch):
    store = opened()
    # Two years of nothing, then as many messages of one time as no answer holds.
    store.upsert(
        [said("old", "plan", -1_000_000, channel="a")]
        + [said(f"m{n:03}", "plan", 7, channel="a") for n in range(300)]
        + [said(f"n{n}", "plan", 8 + n, channel="a") for n in range(300)]
    )
    monkeypatch.setattr(milvus_table, "MAX_ROWS", 100)
    view = store.view(Scope())
    old, last = view.rows_of(["old", "n299"]).tolist()
    assert [m.id for m in view.load(view.neighbours(old, 2, 3))] == ["old", "m000", "m001", "m002"]
    assert [m.id for m in view.load(view.neighbours(last, 2, 3))] == ["n297", "n298", "n299"]


def test_a_batch_asks_as_often_as_the_guide_says(opened, calls):
    store = opened()
    store.upsert([said("m0", channel="ops")])
    calls.clear()
    store.upsert([said(f"m{n}", channel="ops") for n in range(1, 401)])
    # What is there; the clock; the channel, before and after; rows of another writer beyond the clock.
    assert len(calls) == 5


def test_check_names_what_disagrees(opened):
    store = opened()
    store.upsert([said("m1", "plan", channel="ops"), said("m2", "lunch")])
    (row,) = rows_of(store, said("m1", "plan", channel="ops"), 1)
    store._table.write([row | {"sent": 7, "words": {5: 1.0}}])
    store._catalogue.settle("gone", occurs=True)
    assert store.check() == (
        "Message 'm1' has another sent in the index than in its record.",
        "Message 'm1' has other words in the lexical index.",
        "Channel 'gone' is listed but has no messages.",
    )


def test_a_score_is_the_sum_of_what_its_terms_add(opened):
    store = opened()
    store.upsert([said("m1", "ship the plan plan"), said("m2", "ship it"), said("m3", "lunch")])
    view = store.view(Scope())
    matches = view.search("ship plan")
    parts = view.term_scores("ship plan", matches.rows)
    assert parts.sum(axis=0).tolist() == pytest.approx(matches.scores.tolist())
    # df 2 of 3 messages; "ship it" has two terms where 24 are usual.
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    weight = 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / 24))
    assert parts[0, matches.rows.tolist().index(row_of(view, "it"))] == pytest.approx(idf * weight)


names = st.sampled_from(["ops", "dev", None])
people = st.sampled_from(["Ann", "Bo", None])
messages_of = st.lists(
    st.builds(
        lambda minute, text, channel, topic, author, edited: {
            "minute": minute, "text": text, "channel": channel, "topic": topic, "author": author,
            "edited_at": None if edited is None else START + timedelta(minutes=minute + edited),
        },
        st.integers(0, 9), st.sampled_from(["ship it", "ship", "plan", "the plan to ship", ""]),
        names, names, people, st.one_of(st.none(), st.integers(1, 5)),
    ),
    min_size=1, max_size=12,
)  # fmt: skip
moments = st.one_of(
    st.none(), st.integers(-1, 10).map(lambda minute: START + timedelta(minutes=minute))
)
some_names = st.one_of(st.none(), st.frozensets(st.sampled_from(["ops", "dev", "no"]), max_size=2))
scopes = st.builds(
    lambda readable, **filters: Scope(Query(text="", **filters), readable),
    some_names,
    channels=some_names, not_channels=some_names, topics=some_names,
    authors=st.one_of(st.none(), st.frozensets(st.sampled_from(["Ann", "Bo"]), max_size=2)),
    as_of=moments, after=moments, before=moments,
)  # fmt: skip


@pytest.fixture
def small_pages(monkeypatch):
    """As if answers held few rows, so that what is large is seen in the small."""
    monkeypatch.setattr(milvus_table, "MAX_ROWS", 3)
    monkeypatch.setattr(milvus_view, "_MAX_LISTED", 2)
    monkeypatch.setattr(milvus_view, "_TERMS_AT_ONCE", 2)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(history=messages_of, scope=scopes)
def test_a_view_shows_what_chroma_s_shows(opened, small_pages, history, scope):
    messages = [said(f"m{n}", **fields) for n, fields in enumerate(history)]
    store = opened()
    store.delete(store.ids(Scope()))
    store.upsert(messages)
    with ChromaStore.in_memory() as other:
        other.upsert(messages)
        ours, theirs = store.view(scope), other.view(scope)
        assert store.ids(scope) == [m.id for m in messages if scope.admits(m)]
        assert ours.n_messages == theirs.n_messages
        text = "ship the plan"
        assert ours.document_frequencies(text) == theirs.document_frequencies(text)
        assert _shown(ours, ours.search(text).rows, False) == _shown(
            theirs, theirs.search(text).rows, False
        )
        for partition in (("topic", "ops"), ("channel", "dev"), ("none", "")):
            for window in ((at(2), at(6)), (-np.inf, np.inf)):
                assert _shown(ours, ours.window(partition, *window)) == _shown(
                    theirs, theirs.window(partition, *window)
                )
        for one in store.ids(scope):
            near = [view.neighbours(view.rows_of([one])[0], 1, 2) for view in (ours, theirs)]
            assert _shown(ours, near[0]) == _shown(theirs, near[1])


def _shown(view, rows, is_ordered=True):
    shown = [message.id for message in view.load(rows)]
    return shown if is_ordered else sorted(shown)


def test_traffic_and_pace_are_those_of_chroma(opened):
    messages = [said(f"m{n}", "plan", n * n, channel=f"c{n % 2}") for n in range(9)]
    store = opened()
    store.upsert(messages)
    with ChromaStore.in_memory() as other:
        other.upsert(messages)
        ours, theirs = store.view(Scope()), other.view(Scope())
        assert ours.pace() == theirs.pace()
        asked = [("channel", "c1"), ("channel", "c0"), ("channel", "no")]
        for mine, his in zip(ours.traffic(asked), theirs.traffic(asked), strict=True):
            assert mine.tolist() == his.tolist()


def test_of_a_large_partition_traffic_is_a_sample(opened, monkeypatch):
    store = opened()
    store.upsert([said(f"m{n}", "plan", n, channel="ops") for n in range(400)])
    monkeypatch.setattr(milvus_table, "MAX_ROWS", 100)
    (times,) = store.view(Scope()).traffic([("channel", "ops")])
    assert 50 <= len(times) <= 100
    assert set(times) <= {at(n) for n in range(400)}


def test_a_sample_is_of_the_whole_and_fits_into_one_answer(opened, monkeypatch):
    store = opened()
    store.upsert([said(f"m{n}", "plan", n) for n in range(400)])
    monkeypatch.setattr(milvus_table, "MAX_ROWS", 100)
    view = store.view(Scope())
    times = view.times(view.within(at(0), at(400)))
    assert times.tolist() == sorted(times)
    assert 50 <= len(times) <= 100
    assert len(view.within(at(0), at(99))) == 99
    # Of each quarter of the time some.
    assert (np.histogram(times, bins=4, range=(at(0), at(400)))[0] >= 8).all()


def test_the_pace_is_not_that_of_a_sample(opened, monkeypatch):
    store = opened()
    # Nothing of the channel among the last to arrive, and then more than one answer holds.
    store.upsert([said(f"m{n}", "plan", n, channel="ops") for n in range(60)])
    store.upsert([said(f"x{n}", "plan", n, channel="dev") for n in range(4)])
    monkeypatch.setattr(milvus_view, "_PACE_SAMPLE", 4)
    monkeypatch.setattr(milvus_table, "MAX_ROWS", 10)
    assert store.view(Scope(readable=frozenset({"ops"}))).pace() == 60


def test_who_wrote_more_than_a_search_gives_still_finds_what_is_asked_for(opened, monkeypatch):
    monkeypatch.setattr(milvus_view, "_MAX_MATCHES", 5)
    store = opened()
    # The name outweighs the word in all of them, and all but the last do not answer.
    store.upsert([said(f"m{n}", "Ann", n, author="Ann") for n in range(40)])
    store.upsert(
        [said(f"x{n}", "launch of something else that nobody asked for", n) for n in range(20)]
    )
    store.upsert(
        [said("answer", "so the launch is on friday then, as the others said", 99, author="Ann")]
    )
    view = store.view(Scope())
    every = view.search("Ann launch friday")
    assert every.is_cut
    assert len(every.rows) == 5
    found = view.search("Ann launch friday", containing="friday")
    assert [m.id for m in view.load(found.rows)] == ["answer"]
    assert not found.is_cut
    memory = TemporalMemory(store)
    assert "answer" in memory.retrieve("launch on friday?", asking_user="Ann").message_ids


def test_what_was_said_in_a_period_is_found_though_others_match_better(opened, monkeypatch):
    monkeypatch.setattr(milvus_view, "_MAX_MATCHES", 5)
    store = opened()
    store.upsert([said(f"m{n}", "report", n) for n in range(20)])
    then = said(
        "then", "they say that the report went out to all who had asked for it", 3 * 24 * 60
    )
    store.upsert([then])
    view = store.view(Scope())
    assert "then" not in {m.id for m in view.load(view.search("report").rows)}
    memory = TemporalMemory(store, config=ForestConfig(periods="told"))
    assert memory.retrieve("did the report go out on 5 March 2026?").message_ids == ("then",)


def test_a_retriever_keeps_its_messages_in_milvus(opened):
    history = [
        {"id": "m1", "timestamp": "2026-03-02T09:00Z", "channel": "ops", "text": "Launch Friday."},
        {"id": "m2", "timestamp": "2026-03-02T09:05Z", "channel": "ops", "text": "No, Monday."},
        {"id": "m3", "timestamp": "2026-03-02T09:06Z", "channel": "hr", "text": "Launch party."},
    ]
    retriever = TemporalForestRetriever.from_messages(
        history, store=opened(), access={"ops": ["ann"], "hr": ["bo"]}
    )
    with closing(retriever):
        (document,) = retriever.invoke("When is the launch?", asking_user="ann")
        assert set(document.metadata["message_ids"]) == {"m1", "m2"}
        retriever.memory.delete(["m2"])
        (document,) = retriever.invoke("When is the launch?", asking_user="ann")
        assert document.metadata["message_ids"] == ["m1"]


def test_digests_of_one_name_differ_by_kind_and_tenant():
    assert len({digest("id", "x"), digest("channel", "x"), digest("id", "x", "acme")}) == 3
