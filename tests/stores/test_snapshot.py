"""The file beside a store: opening from it shows what the rows hold, and nothing that was removed."""

import numpy as np
import pytest
from store_helpers import at, found, in_window, said

from tmem_integrations.messages import Scope
from tmem_integrations.stores import snapshot
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.chroma_table import ChromaTable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "MIN_MESSAGES", 1)
    return tmp_path / "chat"


@pytest.fixture
def read_rows(monkeypatch):
    """Ids that are read page by page, as they come."""
    read, pages = [], ChromaTable.pages

    def noted(self, **selection):
        for page in pages(self, **selection):
            read.extend(row.message.id for row in page)
            yield page

    monkeypatch.setattr(ChromaTable, "pages", noted)
    return read


def fill(folder, n_messages=8):
    with ChromaStore.open(folder) as store:
        store.upsert([said(f"m{n}", f"word{n}", n, channel="ops") for n in range(n_messages)])


def test_a_folder_is_opened_without_reading_its_rows(folder, read_rows):
    fill(folder)
    with ChromaStore.open(folder) as store:
        assert read_rows == []
        assert found(store, "word3") == ["m3"]
        assert in_window(store, ("channel", "ops"), at(1), at(2)) == ["m1", "m2"]
        assert store.upsert([said("new")]).added == 1
        assert store.check() == ()


def test_every_field_comes_back_as_it_was(folder, read_rows):
    message = said(
        "m1", "周五 🎉\x00", -2.5, author="Ann", author_id="u1", role="lead", channel="ops",
        topic="launch", phase="beta", stage=2, phase_order=1.5, phase_progress=0.5, reply_to="m0",
        edited_at=said("x").sent_at, permalink="https://x.example/1",
    )  # fmt: skip
    others = [said("m0"), said("m2", stage="design", topic="")]
    with ChromaStore.open(folder) as store:
        store.upsert([message, *others])
    with ChromaStore.open(folder) as store:
        assert read_rows == []
        assert store.get(["m0", "m1", "m2"]) == {m.id: m for m in (message, *others)}


def test_what_was_written_after_it_is_read_on_top(folder, read_rows, monkeypatch):
    fill(folder)
    monkeypatch.setattr(snapshot, "MIN_MESSAGES", 100)
    with ChromaStore.open(folder) as store:
        store.upsert([said("late", "latecomer")])
    with ChromaStore.open(folder) as store:
        assert read_rows == ["late"]
        assert (found(store, "latecomer"), len(store)) == (["late"], 9)


@pytest.mark.parametrize(
    "take_away",
    [
        lambda store: store.delete(["s"]),
        lambda store: store.upsert([said("s", "salary", author="somebody")]),
    ],
    ids=["delete", "rename"],
)
def test_what_was_removed_is_gone_from_the_file_before_the_call_returns(folder, take_away):
    with ChromaStore.open(folder) as store:
        store.upsert([said("s", "salary", author="zorkmid"), said("m1", "lunch")])
    (file,) = folder.glob("legs*")
    assert b"zorkmid" in file.read_bytes()
    with ChromaStore.open(folder) as store:
        take_away(store)
        assert not any(b"zorkmid" in path.read_bytes() for path in folder.glob("legs*"))
    assert all(b"zorkmid" not in path.read_bytes() for path in folder.glob("legs*"))
    with ChromaStore.open(folder) as store:
        assert found(store, "zorkmid") == []
        assert store.check() == ()


def test_names_and_words_of_a_deleted_message_are_not_written_down_again(folder):
    with ChromaStore.open(folder) as store:
        store.upsert([said("s", "zorkmid", author="Quux"), *(said(f"m{n}") for n in range(5))])
        store.delete(["s"])
    (file,) = folder.glob("legs*")
    assert not any(word in file.read_bytes() for word in (b"zorkmid", b"Quux", b"quux"))


def test_a_file_that_an_old_copy_brought_back_shows_nothing_deleted(folder):
    fill(folder)
    old = (folder / "legs.npz").read_bytes()
    with ChromaStore.open(folder) as store:
        store.delete(["m3"])
    (folder / "legs.npz").write_bytes(old)
    with ChromaStore.open(folder) as store:
        assert (found(store, "word3"), len(store), store.check()) == ([], 7, ())


@pytest.mark.parametrize("n_bytes", [0, 100, -10])
def test_a_damaged_file_costs_nothing_but_time(folder, read_rows, n_bytes, caplog):
    fill(folder)
    whole = (folder / "legs.npz").read_bytes()
    (folder / "legs.npz").write_bytes(whole[:n_bytes])
    with ChromaStore.open(folder) as store:
        assert len(read_rows) == len(store) == 8
    assert "cannot be used" in caplog.text


def test_words_that_are_split_otherwise_are_read_from_the_rows(folder, read_rows):
    fill(folder)
    with ChromaStore.open(folder, language="german") as store:
        assert len(read_rows) == len(store) == 8


def test_a_file_of_another_store_is_passed_over(folder, tmp_path):
    fill(folder)
    fill(tmp_path / "other", 3)
    (tmp_path / "other" / "legs.npz").write_bytes((folder / "legs.npz").read_bytes())
    with ChromaStore.open(tmp_path / "other") as store:
        assert (len(store), store.check()) == (3, ())


def test_a_small_store_keeps_none(tmp_path):
    fill(tmp_path / "chat")
    assert list((tmp_path / "chat").glob("legs*")) == []


def test_scores_are_those_of_a_store_that_read_its_rows(folder):
    fill(folder)
    with ChromaStore.open(folder) as store:
        store.upsert([said("more", "word1 word2 word2")])
        store.delete(["m5"])
        before = store.view(Scope()).search("word1 word2")
        ids = [m.id for m in store.view(Scope()).load(before.rows)]
    with ChromaStore.open(folder) as store:
        after = store.view(Scope()).search("word1 word2")
        assert [m.id for m in store.view(Scope()).load(after.rows)] == ids
        assert np.array_equal(after.scores, before.scores)
