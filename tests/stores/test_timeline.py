"""Timeline: order, windows, neighbours, and the mask that must agree with `Scope.admits`."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols import partition_of
from tmem_integrations.stores.timeline import Timeline, microseconds_of
from tmem_integrations.stores.versions import NEVER
from tmem_integrations.times import to_microseconds

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NAMES = st.sampled_from(["ops", "secret", "ann"]) | st.none()
TIMES = st.integers(0, 6).map(lambda n: START + timedelta(minutes=n))
SETS = st.none() | st.frozensets(st.sampled_from(["ops", "secret", "ann", "nobody"]))


@st.composite
def messages(draw, max_size=10):
    n = draw(st.integers(0, max_size))
    return [
        Message(
            id=f"m{i}", text="", sent_at=draw(TIMES), channel=draw(NAMES), topic=draw(NAMES),
            author=draw(NAMES), author_id=draw(NAMES), edited_at=draw(st.none() | TIMES),
        )
        for i in range(n)
    ]  # fmt: skip


@st.composite
def scopes(draw):
    query = Query(
        text="", channels=draw(SETS), not_channels=draw(SETS), authors=draw(SETS),
        topics=draw(SETS), as_of=draw(st.none() | TIMES), after=draw(st.none() | TIMES),
        before=draw(st.none() | TIMES),
    )  # fmt: skip
    return Scope(query, readable=draw(SETS))


def spans(history):
    """From when each is known, and until when."""
    return [to_microseconds(m.known_at) for m in history], [NEVER] * len(history)


def build(history):
    timeline = Timeline()
    timeline.add(history, range(len(history)), *spans(history))
    return timeline


def said(minute, **known):
    return Message(id=f"m{minute}", text="", sent_at=START + timedelta(minutes=minute), **known)


def order_of(timeline, message):
    code = timeline.partition_code(partition_of(message))
    return timeline.order(code, timeline.columns.alive)


@given(messages(), scopes())
def test_the_mask_is_what_the_scope_admits(history, scope):
    assert build(history).mask(scope).tolist() == [scope.admits(m) for m in history]


@given(messages(), st.sets(st.integers(0, 9)), scopes())
def test_the_mask_never_admits_a_removed_message(history, removed, scope):
    timeline = build(history)
    timeline.remove([slot for slot in removed if slot < len(history)])
    expected = [i not in removed and scope.admits(m) for i, m in enumerate(history)]
    assert timeline.mask(scope).tolist() == expected
    assert len(timeline) == len(set(range(len(history))) - removed)


@given(
    messages(), st.lists(st.integers(1, 3), max_size=10), st.randoms(), st.sets(st.integers(0, 9))
)
def test_each_partition_is_in_order_of_time_then_arrival(history, sizes, random, removed):
    arrivals = list(range(len(history)))
    random.shuffle(arrivals)
    timeline, done = Timeline(), 0
    for size in [*sizes, len(history)]:
        part = slice(done, done + size)
        timeline.add(history[part], arrivals[part], *spans(history[part]))
        done = min(done + size, len(history))
    timeline.remove([slot for slot in removed if slot < len(history)])
    for message in history:
        order = order_of(timeline, message).slots.tolist()
        members = [
            slot
            for slot, other in enumerate(history)
            if partition_of(other) == partition_of(message) and slot not in removed
        ]
        assert order == sorted(members, key=lambda s: (history[s].sent_at, arrivals[s]))


def test_a_window_holds_both_its_ends():
    order = order_of(build([said(0), said(1), said(2), said(3)]), said(0))
    one, two = int(order.sent[1]), int(order.sent[2])
    assert order.window(one, two).tolist() == [1, 2]
    assert order.window(one + 1, two - 1).tolist() == []


def test_neighbours_stop_at_the_ends_and_at_what_the_mask_hides():
    timeline = build([said(n) for n in range(5)])
    mask = np.array([True, True, False, True, True])
    order = timeline.order(timeline.partition_code(("none", "")), mask)
    columns = timeline.columns
    at = [(int(columns.sent[s]), int(columns.arrival[s])) for s in range(5)]
    assert order.neighbours(*at[1], 1, 1).tolist() == [0, 1, 3]
    assert order.neighbours(*at[0], 2, 0).tolist() == [0]
    assert order.neighbours(*at[4], 2, 9).tolist() == [1, 3, 4]


def test_neighbours_at_the_same_time_go_by_arrival():
    timeline = build([said(0)] * 4)
    order = timeline.order(timeline.partition_code(("none", "")), timeline.columns.alive)
    assert order.neighbours(int(order.sent[0]), 2, 1, 1).tolist() == [1, 2, 3]


def test_a_topic_and_a_channel_of_one_name_are_two_partitions():
    timeline = build([said(0, topic="ops"), said(1, channel="ops")])
    assert order_of(timeline, said(0, topic="ops")).slots.tolist() == [0]
    assert order_of(timeline, said(0, channel="ops")).slots.tolist() == [1]


def test_what_a_reader_holds_does_not_change_when_messages_come_and_go():
    timeline = build([said(0), said(2)])
    columns, order = timeline.columns, order_of(timeline, said(0))
    timeline.add([said(1)], [2], *spans([said(1)]))
    timeline.remove([0])
    assert columns.alive.tolist() == [True, True]
    assert order.slots.tolist() == [0, 1]
    assert len(columns) == 2


def test_the_channels_are_those_of_messages_that_are_there():
    timeline = build([said(0, channel="ops"), said(1, channel="secret"), said(2)])
    timeline.remove([1])
    assert timeline.channels() == {"ops"}


@given(st.integers(-62_135_596_800_000_000, 8_000_000_000_000_000))
def test_seconds_lead_back_to_the_microsecond_they_came_from(microseconds):
    if abs(microseconds) < 2**33 * 10**6:
        assert microseconds_of(microseconds / 1e6) == microseconds


def test_half_seconds_are_exact():
    assert microseconds_of(1700000000.5) == 1700000000500000


def test_endless_bounds_are_beyond_every_time_and_nan_is_refused():
    assert microseconds_of(-math.inf) < 0 < microseconds_of(math.inf)
    with pytest.raises(ValueError, match="nan"):
        microseconds_of(math.nan)
