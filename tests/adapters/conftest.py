"""A small history and a retriever over it, for either framework."""

import pytest

from tmem_integrations import TemporalForestRetriever

MONDAY, WEDNESDAY = "2026-03-02T{}:00Z", "2026-03-04T{}:00Z"
HISTORY = [
    {"id": "m1", "timestamp": MONDAY.format("09:00"), "author": "Ann", "channel": "release",
     "text": "We launch the app on Friday."},
    {"id": "m2", "timestamp": MONDAY.format("09:05"), "author": "Ann", "channel": "release",
     "text": "Fine with the launch."},
    {"id": "m3", "timestamp": MONDAY.format("09:06"), "author": "Bo", "channel": "release",
     "text": "Fine with the launch."},
    {"id": "m4", "timestamp": WEDNESDAY.format("10:00"), "author": "Ann", "channel": "release",
     "text": "The launch moves from Friday to Monday: the audit is late."},
    {"id": "m5", "timestamp": MONDAY.format("12:00"), "author": "Cy", "channel": "kitchen",
     "text": "Soup at noon."},
    {"id": "m6", "timestamp": MONDAY.format("13:00"), "author": "Dee", "channel": "board",
     "text": "The launch costs forty thousand."},
]  # fmt: skip
MEMBERS = {"release": "*", "kitchen": "*", "board": ["dee"]}


@pytest.fixture(scope="session")
def retriever():
    return TemporalForestRetriever.from_messages(HISTORY)


@pytest.fixture(scope="session")
def guarded():
    return TemporalForestRetriever.from_messages(HISTORY, access=MEMBERS)
