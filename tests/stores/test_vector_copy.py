"""The copy of the vectors: it answers what the database would, or does not answer."""

import logging
import os
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_helpers import START, said, unit, vectors_in

from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Scope
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.chroma_table import ChromaTable
from tmem_integrations.stores.vector_copy import FILE, VectorCopy

A, B = unit([0.6, 0.8]), unit([0.8, 0.6])
SALARY = unit([0.28, 0.96])


@pytest.fixture(params=["folder", "memory"])
def copy(request, tmp_path):
    return VectorCopy(tmp_path if request.param == "folder" else None)


def known(copy, *placed):
    """Which of (arrival, message) the copy knows, and their vectors."""
    arrivals = np.array([arrival for arrival, _ in placed], dtype=np.int64)
    vectors, is_known = copy.read(arrivals, [message for _, message in placed], 2)
    return is_known.tolist(), vectors.tolist()


def read_by(monkeypatch):
    """Ids whose vectors are asked of the database, as they come."""
    asked, read = [], ChromaTable.read_vectors

    def noted(self, ids):
        asked.extend(ids)
        return read(self, ids)

    monkeypatch.setattr(ChromaTable, "read_vectors", noted)
    return asked


def test_what_was_written_is_known_and_nothing_else(copy):
    assert known(copy, (0, said("a"))) == ([False], [[0, 0]])
    copy.write([0, 2], [said("a"), said("b")], np.vstack([A, B]))
    assert known(copy, (2, said("b")), (1, said("c")), (0, said("a")), (3, said("d"))) == (
        [True, False, True, False],
        [B[0].tolist(), [0, 0], A[0].tolist(), [0, 0]],
    )


def test_a_row_of_another_text_or_another_message_is_unknown(copy):
    copy.write([0], [said("a", "Friday")], A)
    assert known(copy, (0, said("a", "Monday")), (0, said("b", "Friday")), (0, None))[0] == [
        False,
        False,
        False,
    ]


def test_a_vector_without_content_is_known_too(copy):
    copy.write([0], [said("a", "👍")], np.zeros((1, 2), np.float32))
    assert known(copy, (0, said("a", "👍"))) == ([True], [[0, 0]])


def test_a_blanked_row_is_unknown_until_it_is_written_again(copy):
    copy.write([0, 1], [said("a"), said("b")], np.vstack([A, B]))
    copy.blank([0, 7], 2)
    assert known(copy, (0, said("a")), (1, said("b")))[0] == [False, True]
    copy.write([0], [said("a")], B)
    assert known(copy, (0, said("a"))) == ([True], B.tolist())


def test_a_torn_row_is_unknown(tmp_path):
    copy = VectorCopy(tmp_path)
    copy.write([0, 1], [said("a"), said("b")], np.vstack([A, B]))
    rows = (tmp_path / FILE).read_bytes()
    # Half of the first vector is another one's, and the file ends within the second row.
    (tmp_path / FILE).write_bytes(SALARY.tobytes()[:4] + rows[4:-3])
    assert known(copy, (0, said("a")), (1, said("b")))[0] == [False, False]


@pytest.mark.parametrize("content", [b"", b"x", b"\xff" * 1000])
def test_a_file_of_anything_is_unknown(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    assert known(VectorCopy(tmp_path), (0, said("a")), (9, said("b")))[0] == [False, False]


def test_a_file_that_cannot_be_read_is_unknown_and_told(tmp_path, caplog):
    (tmp_path / FILE).mkdir()
    assert known(VectorCopy(tmp_path), (0, said("a")))[0] == [False]
    assert "cannot be read, so the database is asked" in caplog.text


def test_a_part_of_a_row_that_a_full_disk_left_is_blanked(tmp_path):
    copy = VectorCopy(tmp_path)
    copy.write([0, 1], [said("a"), said("s")], np.vstack([A, SALARY]))
    # Without the seal of the last row, as when the disk was full.
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-8])
    copy.blank([1], 2)
    assert SALARY.tobytes() not in (tmp_path / FILE).read_bytes()
    assert known(copy, (0, said("a")))[0] == [True]


def test_a_disk_that_refuses_costs_time_only_but_never_keeps_what_is_to_go(tmp_path, caplog):
    (tmp_path / FILE).mkdir()
    copy = VectorCopy(tmp_path)
    with caplog.at_level(logging.WARNING):
        copy.write([0], [said("a")], A)
    assert "cannot be written" in caplog.text
    with pytest.raises(StoreError, match=r"cannot be removed"):
        copy.discard()


def test_a_file_that_cannot_be_blanked_stops_the_deletion(tmp_path, monkeypatch):
    with ChromaStore.open(tmp_path / "chat") as store:
        store.upsert([said("a")], A)

        def refuse(*_, **__):
            raise OSError("disk is read-only")

        with monkeypatch.context() as patch:
            patch.setattr(os, "open", refuse)
            with pytest.raises(StoreError, match=r"holds what is to be removed.*read-only"):
                store.delete(["a"])
        assert store.ids(Scope()) == ["a"]
        assert store.delete(["a"]) == 1


@pytest.mark.parametrize(
    "take_away",
    [
        lambda store: store.delete(["s"]),
        lambda store: store.upsert([said("s", "nothing")], A),
        lambda store: store.upsert([said("s", "nothing")]),
    ],
    ids=["delete", "edit", "edit without a vector"],
)
def test_a_vector_that_was_taken_away_is_gone_from_the_file(tmp_path, take_away):
    with ChromaStore.open(tmp_path / "chat") as store:
        store.upsert([said("a"), said("s", "my salary"), said("b")], np.vstack([A, SALARY, B]))
        path = tmp_path / "chat" / FILE
        assert SALARY.tobytes() in path.read_bytes()
        take_away(store)
        assert SALARY.tobytes() not in path.read_bytes()
        assert np.array_equal(vectors_in(store, "a", "b"), np.vstack([A, B]))
        assert store.check() == ()


def test_a_question_reads_no_vector_from_the_database(tmp_path, monkeypatch):
    asked = read_by(monkeypatch)
    with ChromaStore.open(tmp_path / "chat") as store:
        store.upsert([said("a"), said("b")], np.vstack([A, B]))
        assert np.array_equal(vectors_in(store, "b", "a"), np.vstack([B, A]))
    with ChromaStore.open(tmp_path / "chat", read_only=True) as reader:
        assert np.array_equal(vectors_in(reader, "a", "b"), np.vstack([A, B]))
        assert asked == []
        (tmp_path / "chat" / FILE).unlink()
        assert np.array_equal(vectors_in(reader, "a", "b"), np.vstack([A, B]))
        assert asked == ["a", "b"]


def test_an_earlier_text_has_its_own_vector(tmp_path):
    with ChromaStore.open(tmp_path / "chat") as store:
        store.upsert([said("a", "Friday")], A)
        store.upsert([said("a", "Monday", edited_at=START + timedelta(hours=2))], B)
        assert np.array_equal(vectors_in(store, "a"), B)
        assert np.array_equal(vectors_in(store, "a", as_of=START + timedelta(hours=1)), A)


def test_a_store_that_starts_over_with_another_model_knows_none_of_the_old_rows(tmp_path):
    with ChromaStore.open(tmp_path / "chat", model="old", dimension=2) as store:
        store.upsert([said("a")], A)
        store.delete(["a"])
    with ChromaStore.open(tmp_path / "chat", model="new", dimension=3) as store:
        assert not (tmp_path / "chat" / FILE).exists()
        store.upsert([said("a")], unit([0, 0, 1]))
        assert vectors_in(store, "a").tolist() == [[0, 0, 1]]


def test_check_tells_a_copy_that_differs(tmp_path):
    with ChromaStore.open(tmp_path / "chat") as store:
        store.upsert([said("a")], A)
        assert store.check() == ()
        VectorCopy(tmp_path / "chat").write([0], [said("a")], B)
        assert store.check() == (
            "Message 'a' has another vector in vectors.rows; that file may be deleted.",
        )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "delete", "touch"]),
        st.integers(0, 4),
        st.sampled_from(["hello", "Friday", "👍"]),
        st.sampled_from([A, B, SALARY, None]),
    ),
    max_size=12,
)


# Each example makes two stores.
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_whatever_happened_the_vectors_are_those_of_the_database(steps):
    with ChromaStore.in_memory(dimension=2) as store, ChromaStore.in_memory(dimension=2) as plain:
        plain._vectors.copy = None
        for kind, number, text, vector in steps:
            for one in (store, plain):
                if kind == "delete":
                    one.delete([f"m{number}"])
                else:
                    place = {"channel": "ops"} if kind == "touch" else {}
                    one.upsert([said(f"m{number}", text, **place)], vector)
        ids = [f"m{number}" for number in range(5)]
        assert np.array_equal(vectors_in(store, *ids), vectors_in(plain, *ids))
        assert store.check() == ()
