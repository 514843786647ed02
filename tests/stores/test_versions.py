"""Versions: what a message said before its edits, in every leg and after every restart."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_helpers import START, said, unit

from tmem_integrations.messages import Query, Scope
from tmem_integrations.stores import snapshot
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.rows import from_metadata, to_metadata
from tmem_integrations.stores.versions import (
    MAX_EARLIER,
    NEVER,
    Earlier,
    Row,
    edited,
    versions_of,
)
from tmem_integrations.times import to_microseconds

NOW = START + timedelta(days=30)
QUESTION = "alpha beta gamma"


def minutes(n):
    return START + timedelta(minutes=n)


def told(row):
    """(text, first minute, last minute) of each version; None without end."""
    start = to_microseconds(START)
    return [
        (
            v.message.text,
            (v.known - start) / 6e7,
            None if v.until == NEVER else (v.until - start) / 6e7,
        )
        for v in versions_of(row)
    ]


def after(row, text, minute=None, now=NOW):
    edited_at = None if minute is None else minutes(minute)
    message = replace(row.message, text=text, edited_at=edited_at)
    return edited(row, message, version=2, now=now, vector=b"")


ROW = Row(said("m", "one"), arrival=0, version=1, stored_at=NOW)
DAY = 24 * 60


def test_a_dated_edit_is_known_from_its_date():
    assert told(after(ROW, "two", 5)) == [("one", 0, 5), ("two", 5, None)]


def test_an_edit_without_date_is_known_from_its_import():
    assert told(after(ROW, "two")) == [("one", 0, 30 * DAY), ("two", 30 * DAY, None)]


def test_an_edit_dated_no_later_than_what_it_replaces_is_known_from_its_import():
    once = after(ROW, "two", 5)
    assert told(after(once, "three", 5)) == [
        ("one", 0, 5), ("two", 5, 30 * DAY), ("three", 30 * DAY, None),
    ]  # fmt: skip


def test_an_edit_stored_before_the_message_was_sent_leaves_no_past():
    assert told(after(ROW, "two", now=minutes(-1))) == [("two", 0, None)]


def test_a_change_of_anything_but_the_text_leaves_no_past():
    renamed = replace(ROW.message, author="Anna")
    row = edited(ROW, renamed, version=2, now=NOW, vector=b"")
    assert versions_of(row) == [versions_of(replace(ROW, message=renamed))[0]]
    assert (row.stored_at, row.changed_at) == (NOW, NOW)


def test_a_mended_time_of_sending_moves_the_past_with_it():
    row = after(ROW, "two", 5)
    moved = replace(row.message, sent_at=minutes(-60))
    row = edited(row, moved, version=3, now=NOW, vector=b"")
    assert told(row) == [("one", -60, 5), ("two", 5, None)]


def test_only_so_many_texts_are_kept_and_the_oldest_go():
    row = ROW
    for n in range(1, MAX_EARLIER + 2):
        row = after(row, f"edit {n}", n)
    assert len(row.earlier) == MAX_EARLIER
    assert told(row)[0] == ("edit 1", 1, 2)


@given(
    st.lists(
        st.builds(
            Earlier, st.text(st.characters(exclude_categories=["Cs"])),
            st.none() | st.just(minutes(1 / 7)), st.none() | st.just(NOW), st.binary(max_size=9),
        )
    )
)  # fmt: skip
def test_a_row_comes_back_from_the_database_as_it_was(earlier):
    row = Row(said("m", "one"), 3, 7, NOW, minutes(1 / 3), None, tuple(earlier))
    assert from_metadata("m", to_metadata(row)) == row


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), max_size=3).map(" ".join)
# Per message: the minute it was sent, and the text of each minute from then on.
LIVES = st.tuples(st.integers(0, 5), st.lists(WORDS, min_size=1, max_size=4))


def seen(store, as_of):
    """What a question can see of a store: words, counts, order, texts, vectors."""
    view = store.view(Scope(Query.create("", as_of=as_of)))
    matches, rows = view.search(QUESTION), view.window(("none", ""), -1e11, 1e11)
    vectors = view.vectors(rows)
    return (
        [(m.id, m.text, m.edited_at) for m in view.load(rows)],
        dict(
            zip((m.id for m in view.load(matches.rows)), np.round(matches.scores, 9), strict=True)
        ),
        view.document_frequencies(QUESTION),
        view.n_messages,
        [] if vectors is None else vectors.tolist(),
        sorted(store.ids(Scope(Query.create("", as_of=as_of)))),
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LIVES, max_size=4), st.integers(0, 9))
def test_a_store_asked_as_of_then_is_the_store_that_was_there_then(lives, minute):
    """Compared with a store that never heard of anything later."""
    store, then = ChromaStore.in_memory(), ChromaStore.in_memory()
    for name, (first, texts) in enumerate(lives):
        for step, text in enumerate(texts):
            at = first + step
            message = said(f"m{name}", text, first, edited_at=minutes(at) if step else None)
            vector = unit([1, at])
            store.upsert([message], vector)
            if at <= minute:
                then.upsert([message], vector)
    assert seen(store, minutes(minute)) == seen(then, None)
    assert store.check() == ()
    store.close()
    then.close()


def live(folder, **settings):
    """A store in a folder with a message that was edited twice."""
    store = ChromaStore.open(folder, **settings)
    for n, text in enumerate(["alpha", "beta", "gamma"]):
        edited_at = minutes(10 * n) if n else None
        store.upsert([said("m1", text, edited_at=edited_at)], unit([1, n]))
    return store


def test_the_past_is_there_after_a_restart(tmp_path):
    with live(tmp_path / "store") as store:
        wanted = [seen(store, minutes(n)) for n in (5, 15, 25)]
    with ChromaStore.open(tmp_path / "store", read_only=True) as again:
        assert [seen(again, minutes(n)) for n in (5, 15, 25)] == wanted
        assert [w[0][0][1] for w in wanted] == ["alpha", "beta", "gamma"]
        assert again.check() == ()


def test_the_past_is_there_after_a_start_from_the_snapshot(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "MIN_MESSAGES", 1)
    with live(tmp_path / "store") as store:
        wanted = [seen(store, minutes(n)) for n in (5, 15, 25)]
    assert (tmp_path / "store" / "legs.npz").exists()
    with ChromaStore.open(tmp_path / "store") as again:
        assert [seen(again, minutes(n)) for n in (5, 15, 25)] == wanted
        assert again.check() == ()


def test_a_reader_sees_the_past_that_a_writer_makes(tmp_path):
    with live(tmp_path / "store") as store:
        reader = ChromaStore.open(tmp_path / "store", read_only=True)
        store.upsert([said("m1", "delta", edited_at=minutes(30))], unit([0, 1]))
        assert [seen(reader, minutes(n))[0][0][1] for n in (5, 25, 35)] == [
            "alpha",
            "gamma",
            "delta",
        ]
        reader.close()


def test_nothing_of_any_version_is_left_in_the_files_of_a_deleted_message(tmp_path):
    store = ChromaStore.open(tmp_path / "store")
    store.upsert([said("m1", "xylophone-4711"), said("m2", "lunch")], unit([0.25, 0.5], [1, 0]))
    store.upsert([said("m1", "never mind", edited_at=minutes(1))], unit([0, 1]))
    store.delete(["m1"])
    store.close()
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not [path for path in files if b"xylophone" in path.read_bytes()]


def test_check_names_a_message_whose_past_is_not_the_stored_one(tmp_path):
    with live(tmp_path / "store") as store:
        legs = store._replica.legs
        slot, _ = legs.versions("m1")[0]
        legs._messages[slot] = said("m1", "omega")
        (problem,) = store.check()
        assert problem == "Message 'm1' is not shown as it is stored."


def test_import_times_tell_when_a_message_came_and_when_it_changed(tmp_path):
    begun = datetime.now(UTC)
    with live(tmp_path / "store") as store:
        store.upsert([said("m2")], unit([1, 0]))
        times = store.import_times(["m1", "m2", "nowhere"])
    assert times.keys() == {"m1", "m2"}
    assert begun <= times["m1"].stored_at < times["m1"].changed_at <= datetime.now(UTC)
    assert times["m2"].stored_at == times["m2"].changed_at


def test_many_edits_of_one_message_do_not_make_the_next_one_dearer():
    store = ChromaStore.in_memory()
    for n in range(MAX_EARLIER + 20):
        store.upsert([said("m1", f"edit {n}", edited_at=minutes(n) if n else None)])
    assert store.ids(Scope(Query.create("", as_of=minutes(19)))) == ["m1"]
    assert store.ids(Scope(Query.create("", as_of=minutes(18)))) == []
    assert store.check() == ()


@pytest.mark.parametrize("key", ["stored_us", "changed_us", "learned_us", "earlier"])
def test_a_message_that_was_never_edited_has_no_room_taken_by_a_past(key):
    metadata = to_metadata(Row(said("m", "one"), 0, 1))
    assert key not in str(metadata)
