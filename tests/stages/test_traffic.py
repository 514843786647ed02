"""Traffic: counts per equal part of time, of what the question may read and nothing else."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.memory import TemporalMemory
from tmem_integrations.stages.episodes import Episode, Episodes
from tmem_integrations.stages.traffic import N_PARTS, count_traffic
from tmem_integrations.trace import Timeline, Window

NOTHING = Episodes(kept=(), lone=(), n_sparse=0)
OPS, DEV = ("channel", "ops"), ("channel", "dev")
NONE = np.array([])


def record(number: int, channel: str, text: str = "we ship") -> dict[str, object]:
    return {
        "id": f"{channel}{number}",
        "text": text,
        "timestamp": number * 60.0,
        "channel": channel,
    }


def test_every_message_is_counted_once():
    lane = count_traffic([OPS], [np.linspace(0, 1000, 77)], NOTHING).lanes[0]
    assert sum(lane.counts) == 77
    assert len(lane.counts) == N_PARTS


def test_lanes_share_the_time_from_the_first_to_the_last_message():
    timeline = count_traffic([OPS, DEV], [np.array([100.0]), np.array([50.0, 70.0])], NOTHING)
    assert (timeline.start, timeline.end) == (50.0, 100.0)
    assert [(lane.counts[0], lane.counts[-1]) for lane in timeline.lanes] == [(0, 1), (1, 0)]


def test_a_single_instant_is_counted():
    lane = count_traffic([OPS], [np.array([5.0, 5.0])], NOTHING).lanes[0]
    assert sum(lane.counts) == 2


def test_without_messages_the_timeline_is_empty():
    assert count_traffic([OPS], [NONE], NOTHING) == count_traffic([], [], NOTHING) == Timeline()


def test_a_window_belongs_to_the_lane_of_its_episode():
    kept = (Episode(DEV, (4, 7), 10.0, 90.0),)
    timeline = count_traffic([OPS, DEV], [np.array([1.0]), np.array([2.0])], Episodes(kept, (), 0))
    assert [lane.windows for lane in timeline.lanes] == [(), (Window(10.0, 90.0, 2),)]


def test_the_trace_of_a_question_counts_what_it_may_read():
    history = [record(i, "ops") for i in range(5)] + [record(i, "board") for i in range(9)]
    memory = TemporalMemory.from_messages(history, access={"ops": "*", "board": ["ann"]})
    trace = memory.retrieve("ship", asking_user="bo").trace
    assert [(lane.name, sum(lane.counts)) for lane in trace.timeline.lanes] == [("ops", 5)]
    assert "board" not in json.dumps(trace.to_dict())


def test_anchors_come_best_first_with_their_message():
    history = [record(1, "ops", "ship"), record(2, "ops", "lunch"), record(3, "ops", "ship it")]
    anchors = TemporalMemory.from_messages(history).retrieve("ship").anchors
    assert {anchor.message.text for anchor in anchors} == {"ship", "ship it"}
    assert anchors[0].score >= anchors[1].score


@given(st.lists(st.integers(0, 400), min_size=1))
def test_the_counts_are_those_of_a_histogram(seconds):
    times = np.sort(np.array(seconds, dtype=np.float64))
    lane = count_traffic([OPS], [times], NOTHING).lanes[0]
    edges = np.linspace(times[0], max(times[-1], times[0] + 1), N_PARTS + 1)
    assert lane.counts == tuple(np.histogram(times, edges)[0].tolist())
