"""What every `MessageStore` must do, whatever is behind it."""

import math
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from store_helpers import START, at, found, in_window, row_of, said, unit

from tmem_integrations.errors import InputError, StoreError, StoreMismatchError
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols import IngestReport, Neighbours, Window

NO_TOPIC = ("none", "")


def test_a_window_is_exact_to_the_microsecond(store):
    at_second = [datetime.fromtimestamp(1700000000 + n, UTC) for n in (0, 1)]
    store.upsert([Message(id=f"m{n}", text="", sent_at=t) for n, t in enumerate(at_second)])
    assert in_window(store, NO_TOPIC, 1700000000.5, 1700000001.5) == ["m1"]
    assert in_window(store, NO_TOPIC, 1700000000.0, 1700000001.0) == ["m0", "m1"]
    assert in_window(store, NO_TOPIC, 1700000000.000001, 1700000000.999999) == []


def test_a_window_that_starts_at_a_message_s_own_time_holds_it(store):
    store.upsert([said("m1", minute=1 / 7), said("m2", minute=2 / 7)])
    view = store.view(Scope())
    times = view.times(view.window(NO_TOPIC, -math.inf, math.inf))
    assert in_window(store, NO_TOPIC, *times) == ["m1", "m2"]


def test_unknown_fields_come_back_unknown(store):
    message = said("m1")
    store.upsert([message])
    assert store.get(["m1"]) == {"m1": message}


def test_every_field_comes_back_as_it_was(store):
    message = said(
        "m1", "rollback 👍🏽 周五", 1 / 3, author="Ann", author_id="U1", role="lead", channel="ops",
        topic="launch", phase="beta", stage=2.5, phase_order=-1.0, phase_progress=0.1,
        reply_to="m0", edited_at=START + timedelta(microseconds=1), permalink="https://x.org/1",
    )  # fmt: skip
    store.upsert([message, said("m2", stage="2"), said("m3", channel="", topic="")])
    assert store.get(["m1"])["m1"] == message
    assert store.get(["m2"])["m2"].stage == "2"
    assert store.get(["m3"])["m3"] == said("m3", channel="", topic="")


def test_times_before_1970_come_back(store):
    old = Message(id="m1", text="", sent_at=datetime(1815, 6, 18, 11, 35, tzinfo=UTC))
    store.upsert([old])
    assert store.get(["m1"])["m1"] == old


def test_an_empty_text_is_stored_and_found_by_nothing(store):
    store.upsert([said("m1", "")])
    assert store.get(["m1"])["m1"].text == ""
    assert found(store, "hello") == []
    assert len(store) == 1


def test_more_messages_than_one_batch_holds_are_all_stored(store):
    report = store.upsert([said(f"m{n}", f"word{n}", n) for n in range(5_462)])
    assert report == IngestReport(added=5_462)
    assert len(store) == len(store.get(f"m{n}" for n in range(5_462))) == 5_462
    assert found(store, "word5461") == ["m5461"]


def test_the_same_id_twice_in_one_call_holds_the_second_text(store):
    report = store.upsert([said("m1", "first"), said("m1", "second")])
    assert report == IngestReport(added=1, updated=1)
    assert found(store, "first") == []
    assert found(store, "second") == ["m1"]
    assert len(store) == 1


def test_the_same_message_again_changes_nothing(store):
    store.upsert([said("m1", "first")])
    assert store.upsert([said("m1", "first")]) == IngestReport(unchanged=1)
    assert found(store, "first") == ["m1"]


def test_an_edit_reaches_every_leg(store):
    store.upsert([said("m1", "first", channel="ops"), said("m2", "other", channel="ops")])
    edited = said("m1", "second", 5, channel="dev", author="Ann")
    assert store.upsert([edited]) == IngestReport(updated=1)
    assert store.get(["m1"])["m1"] == edited
    assert found(store, "first") == []
    assert found(store, "second") == found(store, "ann") == ["m1"]
    assert in_window(store, ("channel", "ops"), at(-9), at(9)) == ["m2"]
    assert in_window(store, ("channel", "dev"), at(-9), at(9)) == ["m1"]
    assert store.channels() == {"ops", "dev"}


def test_an_edit_can_make_a_field_unknown_again(store):
    store.upsert([said("m1", author="Ann", channel="ops", edited_at=START)])
    store.upsert([said("m1")])
    assert store.get(["m1"])["m1"] == said("m1")
    assert found(store, "ann") == []
    assert store.channels() == set()


def test_an_edit_keeps_the_arrival(store):
    store.upsert([said("m1", "one"), said("m2", "two")])
    store.upsert([said("m1", "uno")])
    assert in_window(store, NO_TOPIC, at(0), at(0)) == ["m1", "m2"]


def edited(message, text, minute=None, **changes):
    edited_at = None if minute is None else START + timedelta(minutes=minute)
    return replace(message, text=text, edited_at=edited_at, **changes)


def test_a_question_as_of_before_an_edit_is_told_the_words_of_then(store):
    first = said("m1", "launch on friday", channel="ops")
    second = edited(first, "launch on monday", 10)
    store.upsert([first], unit([1, 0]))
    store.upsert([second], unit([0, 1]))
    for minute, text, vector in ((5, first, [1, 0]), (10, second, [0, 1]), (None, second, [0, 1])):
        as_of = None if minute is None else START + timedelta(minutes=minute)
        view = store.view(Scope(Query.create("", as_of=as_of)))
        rows = view.search("launch").rows
        assert view.load(rows) == (text,)
        assert view.vectors(rows).tolist() == [vector]
        assert view.rows_of(["m1"]).tolist() == rows.tolist()
        assert view.window(("channel", "ops"), at(0), at(0)).tolist() == rows.tolist()
        assert view.n_messages == 1
    assert found(store, "friday", as_of=START + timedelta(minutes=5)) == ["m1"]
    assert found(store, "monday", as_of=START + timedelta(minutes=5)) == []
    assert found(store, "friday") == []
    assert store.get(["m1"]) == {"m1": second}
    assert len(store) == 1


def test_an_edit_without_a_time_is_known_from_when_it_was_stored(store):
    before = datetime.now(UTC)
    store.upsert([said("m1", "friday")])
    store.upsert([said("m1", "monday")])
    assert found(store, "friday", as_of=before) == found(store, "monday") == ["m1"]
    assert found(store, "monday", as_of=before) == found(store, "friday") == []
    assert found(store, "monday", as_of=datetime.now(UTC)) == ["m1"]


def test_every_text_between_edits_is_known_in_its_time(store):
    message = said("m1", "one")
    store.upsert([message])
    for minute, text in ((10, "two"), (20, "three")):
        store.upsert([edited(message, text, minute)])
    asked = [START + timedelta(minutes=m) for m in (-1, 0, 10, 19, 20)]
    assert [
        [m.text for m in view.load(view.rows_of(["m1"]))]
        for view in (store.view(Scope(Query.create("", as_of=time))) for time in asked)
    ] == [[], ["one"], ["two"], ["two"], ["three"]]


def test_a_message_that_was_stored_edited_is_not_known_before(store):
    store.upsert([edited(said("m1", ""), "monday", 10)])
    assert found(store, "monday", as_of=START + timedelta(minutes=9)) == []


def test_a_deletion_removes_every_version(store):
    salary = said("m1", "salary is 5", channel="hr")
    store.upsert([salary])
    store.upsert([edited(salary, "never mind", 10)])
    assert found(store, "salary", as_of=START) == ["m1"]
    assert store.delete(["m1"]) == 1
    scope = Scope(Query.create("", as_of=START))
    assert store.ids(scope) == []
    assert store.view(scope).n_messages == 0
    assert store.view(scope).document_frequencies("salary") == {"salari": 0}
    store.upsert([salary])
    store.delete(["m1"])
    store.upsert([edited(salary, "hello", 10)])
    assert found(store, "salary", as_of=START) == []


def test_the_past_of_a_message_lies_where_the_message_lies_now(store):
    plan = said("m1", "plan: fire Bo", channel="general", author="Ann")
    store.upsert([plan])
    store.upsert([edited(plan, "plan", 10, channel="board", author="Anna")])
    query = Query.create("", as_of=START)
    assert store.view(Scope(query, readable=frozenset({"general"}))).n_messages == 0
    view = store.view(Scope(query, readable=frozenset({"board"})))
    (seen,) = view.load(view.rows_of(["m1"]))
    assert (seen.text, seen.channel, seen.author) == ("plan: fire Bo", "board", "Anna")


def test_counts_as_of_then_are_those_of_the_words_of_then(store):
    history = [said(f"m{n}", f"plan word{n}", n) for n in range(4)]
    store.upsert(history)
    then = Scope(Query.create("", as_of=START + timedelta(minutes=9)))
    now = Scope()
    before = sorted(store.view(then).search("plan word1").scores)
    store.upsert([edited(history[1], "salad", 10), edited(history[2], "plan plan plan", 10)])
    assert sorted(store.view(then).search("plan word1").scores) == pytest.approx(before)
    assert store.view(then).document_frequencies("plan salad") == {"plan": 4, "salad": 0}
    assert store.view(now).document_frequencies("plan salad word1") == {
        "plan": 3, "salad": 1, "word1": 0,
    }  # fmt: skip


def test_a_view_of_then_made_before_an_edit_goes_on_showing_the_words_of_then(store):
    store.upsert([said("m1", "one")])
    view = store.view(Scope(Query.create("", as_of=START)))
    rows = view.rows_of(["m1"])
    store.upsert([edited(said("m1"), "uno", 10)])
    assert view.load(rows) == (said("m1", "one"),)


def test_messages_of_one_time_are_in_order_of_arrival(store):
    store.upsert([said("z"), said("a")])
    store.upsert([said("m"), said("earlier", minute=-1)])
    assert in_window(store, NO_TOPIC, at(-1), at(0)) == ["earlier", "z", "a", "m"]


def test_a_deleted_message_is_shown_by_no_leg(store):
    store.upsert([said("m1", "salary is 5", channel="hr"), said("m2", "lunch", channel="ops")])
    assert store.delete(["m1", "unknown"]) == 1
    assert len(store) == 1
    assert store.get(["m1"]) == {}
    assert found(store, "salary") == []
    assert in_window(store, ("channel", "hr"), at(-9), at(9)) == []
    assert store.channels() == {"ops"}
    view = store.view(Scope())
    assert view.document_frequencies("salary") == {"salari": 0}
    assert view.n_messages == 1


def test_a_view_made_before_a_deletion_does_not_show_the_message(store):
    store.upsert([said("m1", "salary is 5"), said("m2", "lunch")])
    view = store.view(Scope())
    row = row_of(view, "salary")
    store.delete(["m1"])
    assert view.load(np.array([row])) == (None,)
    assert len(view.search("salary").rows) == 0


def test_a_view_made_before_an_edit_shows_the_new_text(store):
    store.upsert([said("m1", "one")])
    view = store.view(Scope())
    rows = view.rows_of(["m1"])
    store.upsert([said("m1", "uno")])
    assert view.load(rows) == (said("m1", "uno"),)


def test_a_view_does_not_show_a_message_that_was_edited_out_of_its_scope(store):
    store.upsert([said("m1", "plan", channel="ops")])
    view = store.view(Scope(Query.create("", channels="ops")))
    row = row_of(view, "plan")
    store.upsert([said("m1", "plan: fire Bo", channel="secret")])
    assert view.load(np.array([row])) == (None,)


def test_a_view_shows_nothing_that_came_after_it(store):
    store.upsert([said("m1", "plan")])
    view = store.view(Scope())
    store.upsert([said("m2", "plan", 1)])
    assert len(view.search("plan").rows) == len(view.window(NO_TOPIC, at(-9), at(9))) == 1
    assert found(store, "plan") == ["m1", "m2"]


def test_deleting_nothing_and_adding_nothing_is_fine(store):
    assert store.delete([]) == 0
    assert store.upsert([]) == IngestReport()


def test_a_deleted_id_can_be_used_again(store):
    store.upsert([said("m1", "first", author="Ann")])
    store.delete(["m1"])
    assert store.upsert([said("m1", "second")]) == IngestReport(added=1)
    assert store.get(["m1"])["m1"] == said("m1", "second")


def test_a_text_in_place_of_ids_is_refused(store):
    store.upsert([said("m"), said("1")])
    with pytest.raises(InputError, match=r"\['m1'\]"):
        store.delete("m1")
    assert len(store) == 2


def test_two_messages_with_one_text_stay_two(store):
    store.upsert([said("m1", "+1", author="Ann"), said("m2", "+1", author="Bo")])
    assert len(store) == 2
    assert found(store, "Ann") == ["m1"]


def test_a_channel_that_is_not_wanted_never_admits_one_that_is_unknown(store):
    store.upsert([said("m1", "plan", channel="ops"), said("m2", "plan")])
    assert found(store, "plan", not_channels="secret") == ["m1"]


def test_a_search_can_ask_for_a_word_that_adds_nothing_to_the_score(store):
    store.upsert(
        [
            said("m1", "plan", author="Ann", channel="ops"),
            said("m2", "lunch", 1, author="Ann", channel="ops"),
            said("m3", "the plan of ann", 2, channel="ops"),
            said("m4", "the plan", 3, channel="ops"),
            said("s", "ann: plan", 4, channel="secret"),
        ]
    )
    view = store.view(Scope(readable=frozenset({"ops"})))
    every, kept = view.search("Ann plan"), view.search("Ann plan", containing="plan")
    assert sorted(m.id for m in view.load(kept.rows)) == ["m1", "m3", "m4"]
    scores = dict(zip(every.rows.tolist(), every.scores.tolist(), strict=True))
    assert kept.scores.tolist() == pytest.approx([scores[row] for row in kept.rows.tolist()])
    assert (every.is_cut, kept.is_cut) == (False, False)
    for nowhere in ("kubernetes", ""):
        assert len(view.search("Ann plan", containing=nowhere).rows) == 0


def test_a_search_can_ask_for_a_time(store):
    store.upsert([said(f"m{n}", "plan", n) for n in range(4)])
    view = store.view(Scope())
    every = view.search("plan")
    for between, expected in (
        ((at(1), at(3)), ["m1", "m2"]),
        ((-math.inf, at(1)), ["m0"]),
        ((at(3), math.inf), ["m3"]),
        ((at(3), at(1)), []),
    ):
        found = view.search("plan", containing="plan", between=between)
        assert sorted(m.id for m in view.load(found.rows)) == expected
        # What is asked for does not change what a word is worth.
        assert set(found.scores.tolist()) <= set(every.scores.tolist())


def test_counts_and_frequencies_are_those_of_the_visible_part(store):
    store.upsert([said("m1", "plan plan", channel="ops"), said("m2", "plan", channel="secret")])
    view = store.view(Scope(readable=frozenset({"ops"})))
    assert view.n_messages == 1
    assert view.document_frequencies("plan rollback") == {"plan": 1, "rollback": 0}


def test_scores_in_a_scope_do_not_depend_on_what_is_outside(store):
    ops = [said(f"m{n}", f"plan word{n}", n, channel="ops") for n in range(4)]
    store.upsert(ops)
    scope = Scope(readable=frozenset({"ops"}))
    alone = store.view(scope).search("plan word1").scores.tolist()
    store.upsert([said(f"s{n}", "plan plan word1", channel="secret") for n in range(9)])
    assert store.view(scope).search("plan word1").scores.tolist() == pytest.approx(alone)


def test_all_that_was_said_between_two_times_is_in_order_and_in_the_scope(store):
    store.upsert(
        [
            said("m3", minute=3, channel="ops"),
            said("m1", minute=1, channel="dev"),
            said("s", minute=2, channel="secret"),
            said("m2", minute=2, channel="ops"),
        ]
    )
    view = store.view(Scope(readable=frozenset({"ops", "dev"})))
    assert [m.id for m in view.load(view.within(at(1), at(3)))] == ["m1", "m2"]
    assert [m.id for m in view.load(view.within(-math.inf, math.inf))] == ["m1", "m2", "m3"]
    assert view.latest() == at(3)
    assert store.view(Scope(readable=frozenset())).latest() is None


def test_neighbours_stay_in_the_partition_and_in_the_scope(store):
    store.upsert(
        [
            said("m1", "one", 1, channel="ops", author="Ann"),
            said("m2", "two", 2, channel="ops", author="Bo"),
            said("x", "else", 2, channel="dev", author="Ann"),
            said("m3", "three", 3, channel="ops", author="Ann"),
        ]
    )
    view = store.view(Scope())
    near = view.neighbours(row_of(view, "two"), 1, 5)
    assert [m.id for m in view.load(near)] == ["m1", "m2", "m3"]
    view = store.view(Scope(Query.create("", authors="Ann")))
    near = view.neighbours(row_of(view, "one"), 5, 1)
    assert [m.id for m in view.load(near)] == ["m1", "m3"]


def test_many_windows_and_neighbourhoods_at_once_are_those_of_each(store):
    store.upsert([said(f"m{n}", f"word{n}", n, channel="ab"[n % 2]) for n in range(12)])
    view = store.view(Scope())
    rows = view.rows_of(["m3", "m8"]).tolist()
    a, b, *near = view.gather(
        [
            Window(("channel", "a"), at(2), at(7)),
            Window(("channel", "b"), at(9), at(3)),
            *(Neighbours(row, 1, 2) for row in rows),
        ]
    )
    assert [m.id for m in view.load(a)] == ["m2", "m4", "m6"]
    assert len(b) == 0
    assert [[m.id for m in view.load(part)] for part in near] == [
        ["m1", "m3", "m5", "m7"],
        ["m6", "m8", "m10"],
    ]
    assert view.gather([]) == ()
    with pytest.raises(StoreError, match="view"):
        view.gather([Neighbours(99, 1, 1)])


def test_a_row_of_another_view_is_refused(store):
    store.upsert([said("m1", "plan", channel="secret")])
    row = row_of(store.view(Scope()), "plan")
    view = store.view(Scope(readable=frozenset({"ops"})))
    for read in (view.load, view.times, view.vectors):
        with pytest.raises(StoreError, match="view"):
            read(np.array([row]))
    with pytest.raises(StoreError, match="view"):
        view.neighbours(row, 1, 1)


def test_a_partition_nobody_wrote_in_has_an_empty_window(store):
    assert in_window(store, ("topic", "nothing"), -math.inf, math.inf) == []


def test_an_empty_history_answers_everything_with_nothing(store):
    view = store.view(Scope())
    assert (view.n_messages, len(view.search("plan").rows), len(store)) == (0, 0, 0)
    assert view.load(np.empty(0, np.int64)) == ()
    assert view.pace() is None
    assert store.channels() == frozenset()


def test_the_pace_is_the_median_gap_within_partitions(store):
    store.upsert(
        [said(f"m{n}", minute=n, channel="ops") for n in (0, 1, 3)]
        + [said("x", minute=500, channel="dev")]
    )
    assert store.view(Scope()).pace() == (60 + 120) / 2


def test_the_pace_of_times_rounded_to_the_minute_is_not_zero(store):
    store.upsert([said(f"m{n}", minute=n // 3, channel="ops") for n in range(30)])
    assert 0 < store.view(Scope()).pace() <= 60


def test_vectors_come_back_in_the_order_of_the_rows(store):
    store.upsert([said("m1", "one"), said("m2", "two")], unit([1, 0, 0], [0, 0.6, 0.8]))
    view = store.view(Scope())
    rows = np.array([row_of(view, "two"), row_of(view, "one"), row_of(view, "two")])
    assert view.vectors(rows).tolist() == unit([0, 0.6, 0.8], [1, 0, 0], [0, 0.6, 0.8]).tolist()


def test_a_zero_vector_comes_back_as_zeros(store):
    store.upsert([said("m1", "one"), said("m2", "")], unit([1, 0], [0, 0]))
    view = store.view(Scope())
    rows = view.window(NO_TOPIC, at(-1), at(1))
    assert sorted(view.vectors(rows).tolist()) == [[0, 0], [1, 0]]


def test_without_vectors_there_are_none(store):
    store.upsert([said("m1")])
    view = store.view(Scope())
    assert view.vectors(view.search("hello").rows) is None


def test_an_edit_without_a_vector_does_not_keep_the_old_one(store):
    store.upsert([said("m1", "one")], unit([1, 0]))
    store.upsert([said("m1", "two")])
    view = store.view(Scope())
    assert view.vectors(view.search("two").rows).tolist() == [[0, 0]]


def test_an_unchanged_message_takes_a_new_vector(store):
    store.upsert([said("m1", "one")], unit([1, 0]))
    assert store.upsert([said("m1", "one")], unit([0, 1])) == IngestReport(updated=1)
    assert store.upsert([said("m1", "one")], unit([0, 1])) == IngestReport(unchanged=1)
    view = store.view(Scope())
    assert view.vectors(view.search("one").rows).tolist() == [[0, 1]]


def test_an_unchanged_message_without_a_vector_keeps_the_one_it_has(store):
    store.upsert([said("m1", "one")], unit([1, 0]))
    assert store.upsert([said("m1", "one")]) == IngestReport(unchanged=1)
    view = store.view(Scope())
    assert view.vectors(view.search("one").rows).tolist() == [[1, 0]]


def test_vectors_of_another_dimension_are_refused_and_nothing_is_stored(store):
    store.upsert([said("m1")], unit([1, 0]))
    with pytest.raises(StoreMismatchError, match=r"2 d.*3 d.*rebuild"):
        store.upsert([said("m2")], unit([1, 0, 0]))
    assert len(store) == 1


def test_vectors_for_a_history_that_has_none_are_refused(store):
    store.upsert([said("m1")])
    with pytest.raises(StoreMismatchError, match=r"without embeddings.*3 d.*rebuild"):
        store.upsert([said("m2")], unit([1, 0, 0]))


def test_an_emptied_store_takes_vectors_of_another_dimension(store):
    store.upsert([said("m0")])
    store.delete(["m0"])
    store.upsert([said("m1", "one")], unit([1, 0, 0]))
    view = store.view(Scope())
    assert view.vectors(view.search("one").rows).tolist() == [[1, 0, 0]]


@pytest.mark.parametrize("vectors", [unit([1, 0]), unit([1, 0], [math.nan, 0]), np.ones(2)])
def test_vectors_that_fit_no_messages_are_refused(store, vectors):
    with pytest.raises(InputError, match="vectors must"):
        store.upsert([said("m1"), said("m2")], vectors)
    assert len(store) == 0


def test_odd_characters_are_stored_and_found(store):
    store.upsert([said("id 👍/漢", "a\x00b \ud800 周五上线")])
    assert store.get(["id 👍/漢"])["id 👍/漢"].text == "a\ufffdb \ufffd 周五上线"
    assert found(store, "上线") == ["id 👍/漢"]


def test_readers_may_ask_while_a_writer_writes(store):
    errors = []
    stop = threading.Event()

    def ask():
        try:
            while not stop.is_set():
                view = store.view(Scope(Query.create("", channels="ops")))
                rows = view.search("plan").rows
                assert len(rows) == view.n_messages
                loaded = [m for m in view.load(rows) if m is not None]
                assert all(m.channel == "ops" for m in loaded)
        except Exception as error:
            errors.append(error)

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    for n in range(15):
        store.upsert([said(f"m{n}-{i}", "plan", n, channel="ops") for i in range(20)])
        store.upsert([said(f"m{n}-0", "plan too", n, channel="ops")])
    stop.set()
    for reader in readers:
        reader.join()
    assert errors == []
    assert len(found(store, "plan")) == 300


def test_two_threads_may_add_at_once(store):
    def add(name):
        for n in range(10):
            store.upsert([said(f"{name}{n}", "plan")])

    threads = [threading.Thread(target=add, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found(store, "plan")) == 30
    assert store.check() == ()


@pytest.mark.parametrize("texts", [[], ["👍", "+1"], ["", ""]])
def test_a_history_without_words_matches_no_question(store, texts):
    store.upsert([said(f"m{n}", text) for n, text in enumerate(texts)])
    assert found(store, "what was decided about kubernetes?") == found(store, "") == []


def test_a_word_no_message_contains_matches_nothing(store):
    store.upsert([said("m1", "ship"), said("m2", "plan")])
    assert found(store, "kubernetes") == []


def test_a_word_in_half_of_a_small_history_finds_its_messages(store):
    store.upsert([said("m1", "ship"), said("m2", "ship"), said("m3", "plan"), said("m4", "lunch")])
    assert found(store, "ship") == ["m1", "m2"]


def test_the_only_message_is_found_by_its_words(store):
    store.upsert([said("m1", "rollback friday")])
    assert found(store, "rollback") == ["m1"]


@pytest.mark.parametrize(
    "question", ["@ann", "#ops", "v1.2.3", "ERR_42", "👍", "上线", "ROLLBACK friday?"]
)
def test_names_versions_emoji_and_any_script_can_be_asked_for(store, question):
    text = "Hi @ann, see #ops: v1.2.3 fails with ERR_42 👍🏽 周五晚上上线新版本. The rollback is Friday"
    store.upsert([said("m1", text), said("m2", "lunch")])
    assert found(store, question) == ["m1"]


def test_the_legs_agree_with_the_rows_after_any_change(store):
    store.upsert([said(f"m{n}", f"plan {n}", n) for n in range(9)], np.eye(9, dtype=np.float32))
    store.upsert([said("m3", "edited")])
    store.delete(["m5"])
    assert store.check() == ()


def test_closing_twice_is_fine_and_a_closed_store_says_so(store):
    store.close()
    store.close()
    for use in (lambda: len(store), lambda: store.upsert([said("m1")]), store.channels):
        with pytest.raises(StoreError, match="closed"):
            use()
