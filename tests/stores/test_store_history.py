"""Any sequence of writes leaves what a fresh store with the same messages would hold."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_helpers import at, said

from tmem_integrations.messages import Query, Scope
from tmem_integrations.stores.chroma import ChromaStore

IDS = st.sampled_from(["m1", "m2", "m3", "m4", "m5"])
WORDS = st.lists(st.sampled_from(["ship", "plan", "bug"]), max_size=3).map(" ".join)
CHANNELS = st.sampled_from(["ops", "secret"]) | st.none()
MESSAGES = st.builds(said, IDS, WORDS, st.integers(0, 3), channel=CHANNELS)
WRITES = st.lists(st.lists(MESSAGES, min_size=1, max_size=4) | st.sets(IDS, min_size=1), max_size=6)
SCOPES = st.sampled_from(
    [Scope(), Scope(readable=frozenset({"ops"})), Scope(Query.create("", not_channels="ops"))]
)


def apply(store, write, model):
    """Write to the store and to a plain dict, whose order is that of arrival."""
    if isinstance(write, set):
        assert store.delete(write) == len(write & model.keys())
        for one in write:
            model.pop(one, None)
    else:
        store.upsert(write)
        model.update({message.id: message for message in write})


def describe(store, scope):
    """All that a question can learn: windows in order, and scores by id."""
    view = store.view(scope)
    windows = {}
    for partition in (("channel", "ops"), ("channel", "secret"), ("none", "")):
        rows = view.window(partition, at(0), at(2))
        windows[partition] = [message.id for message in view.load(rows)]
    matches = view.search("ship plan plan")
    loaded = view.load(matches.rows)
    scores = {m.id: s for m, s in zip(loaded, matches.scores.tolist(), strict=True)}
    return view.n_messages, windows, view.document_frequencies("ship bug"), scores


@settings(max_examples=25, deadline=None)
@given(WRITES, SCOPES)
def test_a_store_holds_what_a_fresh_build_holds(writes, scope):
    model = {}
    with ChromaStore.in_memory() as store, ChromaStore.in_memory() as fresh:
        for write in writes:
            apply(store, write, model)
        fresh.upsert(list(model.values()))
        *seen, scores = describe(store, scope)
        *expected, fresh_scores = describe(fresh, scope)
        assert seen == expected
        assert scores == pytest.approx(fresh_scores, abs=1e-12)
        assert store.get(["m1", "m2", "m3", "m4", "m5"]) == model
        assert store.check() == ()
