"""The folder of a store: its lock and its files."""

import sqlite3
from contextlib import closing

import pytest

from tmem_integrations.errors import StoreError, StoreLockedError
from tmem_integrations.stores import folder as folders
from tmem_integrations.stores.folder import DATABASE, lock_folder, require_folder, vacuum


def test_a_lock_is_free_again_after_its_release(tmp_path):
    lock = lock_folder(tmp_path)
    with pytest.raises(StoreLockedError):
        lock_folder(tmp_path)
    lock.release()
    lock_folder(tmp_path).release()


def test_a_folder_that_cannot_be_locked_says_how_to_read_it(tmp_path):
    (tmp_path / "tmem.lock").mkdir()
    with pytest.raises(StoreError, match=r"cannot be written.*read_only=True"):
        lock_folder(tmp_path)


def test_a_new_folder_is_made_with_its_parents(tmp_path):
    require_folder(tmp_path / "a" / "b", read_only=False)
    assert (tmp_path / "a" / "b").is_dir()


def test_other_files_in_a_folder_do_not_matter(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    require_folder(tmp_path, read_only=False)
    assert {path.name for path in tmp_path.iterdir()} == {"notes", "notes.txt"}


def test_a_database_in_use_is_not_vacuumed_in_silence(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "_BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as reader:
        reader.execute("CREATE TABLE rows (id)")
        reader.execute("INSERT INTO rows VALUES (1)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM rows").fetchall()
        with pytest.raises(StoreError, match="still holds remains"):
            vacuum(tmp_path)
    vacuum(tmp_path)
