"""Judging: batches of messages, when calls fail."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.errors import ConfigError
from tmem_integrations.models.budget import Budget, Ceilings
from tmem_integrations.models.judging import UNREADABLE, RetryPolicy, judge_batches, retry_delay
from tmem_integrations.models.replies import read_gate
from tmem_integrations.protocols import Reply

BLOCKED = Reply("", error="blocked", failure="content")
BUSY = Reply("", error="busy", failure="transient")
DENIED = Reply("", error="denied", failure="permanent")


def judge(batches, model, *, budget=None, retries=None, clock=None):
    """Run the flow with a model that is a function of the labels asked about; keep the rounds."""
    rounds = []
    flow = judge_batches(
        batches,
        prompt=" ".join,
        read=lambda items, text: read_gate(text, items),
        budget=budget or Budget(),
        count_tokens=len,
        reply_tokens=lambda n: 20 * n,
        retries=retries,
        chance=lambda: 1.0,
    )
    replies = None
    while True:
        try:
            asked = flow.send(replies)
        except StopIteration as stop:
            return stop.value, rounds
        rounds.append(asked)
        if clock is not None:
            clock.now += asked.wait
        replies = [model(prompt.split(), len(rounds)) for prompt in asked.prompts]


def select_all(labels):
    return Reply(json.dumps({"selected": labels}))


def labels(n, prefix="c"):
    return [f"{prefix}{i}" for i in range(1, n + 1)]


def judged(parts):
    return [v.label for part in parts if part.reading for v in part.reading.entries]


def lost(parts):
    return [item for part in parts if part.failure for item in part.items]


def test_all_batches_are_asked_in_one_round():
    parts, rounds = judge([labels(3), labels(2, "d")], lambda asked, _: select_all(asked))
    assert [len(r.prompts) for r in rounds] == [2]
    assert [(p.batch, judged([p])) for p in parts] == [(0, labels(3)), (1, labels(2, "d"))]


def test_one_message_of_twenty_that_the_model_cannot_take_costs_that_message():
    def model(asked, _):
        return BLOCKED if "c7" in asked else select_all(asked)

    parts, rounds = judge([labels(20)], model)
    assert lost(parts) == ["c7"]
    assert judged(parts) == [label for label in labels(20) if label != "c7"]
    assert [part.failure for part in parts if part.failure] == ["blocked"]
    # 20, 10+10, 5+5, 2+3, then c6+c7 or c7+c8, then each alone.
    assert sum(len(r.prompts) for r in rounds) <= 1 + 2 * 5


@pytest.mark.parametrize("text", ["I'm sorry, I can't help with that.", "", '{"selected": [{"id'])
def test_a_message_that_makes_the_reply_unreadable_costs_that_message(text):
    def model(asked, _):
        return Reply(text) if "c2" in asked else select_all(asked)

    parts, _ = judge([labels(4), labels(1, "d")], model)
    assert lost(parts) == ["c2"]
    assert [part.failure for part in parts if part.failure] == [UNREADABLE]


def test_a_reply_that_cannot_be_read_is_asked_for_once_more_as_it_was():
    def model(asked, n_round):
        return Reply("hm") if n_round == 1 else select_all(asked)

    parts, rounds = judge([labels(4)], model)
    assert [r.prompts for r in rounds] == [("c1 c2 c3 c4",)] * 2
    assert lost(parts) == []


@pytest.mark.parametrize(
    ("sizes", "n_calls"),
    [
        ([64], 2 + 2),  # the whole twice, its halves once
        ([32, 32], 2 + 2),  # both twice
        ([16] * 4, 4),
        ([16] * 6, 6),  # asked at once
    ],
)
def test_a_model_that_answers_nothing_readable_is_not_asked_on_and_on(sizes, n_calls):
    batches = [labels(n, prefix) for n, prefix in zip(sizes, "abcdef", strict=False)]
    parts, rounds = judge(batches, lambda asked, _: Reply("hm"))
    assert lost(parts) == [label for batch in batches for label in batch]
    assert sum(len(r.prompts) for r in rounds) == n_calls
    assert {(part.failure, part.refused) for part in parts} == {(UNREADABLE, False)}


def test_what_is_read_between_lets_the_unreadable_be_asked_for_longer():
    def model(asked, _):
        return Reply("hm") if {"c7", "c20"} & set(asked) else select_all(asked)

    parts, _ = judge([labels(20), labels(3, "d"), labels(3, "e")], model)
    assert lost(parts) == ["c7", "c20"]


def test_a_policy_may_allow_more_unreadable_replies():
    parts, rounds = judge(
        [labels(64)], lambda *_: Reply("hm"), retries=RetryPolicy(max_unreadable=14)
    )
    # The whole twice, its halves twice, its quarters twice.
    assert sum(len(r.prompts) for r in rounds) == 2 * (1 + 2 + 4)
    assert lost(parts) == labels(64)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_ceiling_on_the_way_does_not_hide_that_replies_could_not_be_read(most):
    budget = Budget(Ceilings(max_llm_calls=most))
    parts, _ = judge([labels(4)], lambda *_: Reply("hm"), budget=budget)
    why = f"{UNREADABLE} (max_llm_calls={most} reached before it could be asked again)"
    assert why in {part.failure for part in parts}
    assert all(part.failure.startswith(UNREADABLE) and not part.refused for part in parts)


def test_a_failure_that_passes_is_waited_for_and_the_others_are_not_asked_again():
    def model(asked, n_round):
        busy = n_round == 1 and "c1" in asked
        return Reply("", error="busy", failure="transient", retry_after=2.5) if busy else select_all(asked)  # fmt: skip

    parts, rounds = judge([labels(2), labels(2, "d")], model)
    assert [(r.prompts, r.wait) for r in rounds] == [(("c1 c2", "d1 d2"), 0.0), (("c1 c2",), 2.5)]
    assert lost(parts) == []


def test_a_service_that_stays_busy_is_asked_a_bounded_number_of_times_with_growing_waits():
    parts, rounds = judge([labels(2)], lambda *_: BUSY, retries=RetryPolicy(max_attempts=4))
    assert [r.wait for r in rounds] == [0.0, 0.5, 1.0, 2.0]
    assert [(part.items, part.failure) for part in parts] == [(("c1", "c2"), "busy")]


def test_a_failure_of_unknown_kind_is_taken_as_one_that_may_pass():
    _, rounds = judge([labels(2)], lambda *_: Reply("", error="?"))
    assert len(rounds) == RetryPolicy().max_attempts


def test_a_permanent_failure_is_not_asked_again():
    parts, rounds = judge([labels(8)], lambda *_: DENIED)
    assert (len(rounds), lost(parts)) == (1, labels(8))


def test_an_empty_selection_is_a_judgement():
    (part,), rounds = judge([labels(3)], lambda *_: select_all([]))
    assert (part.failure, part.reading.entries, len(rounds)) == (None, (), 1)


def test_beyond_the_ceiling_of_calls_the_last_batches_are_given_back():
    budget = Budget(Ceilings(max_llm_calls=2))
    parts, _ = judge([["c1"], ["d1"], ["e1"]], lambda a, _: select_all(a), budget=budget)
    assert (judged(parts), lost(parts)) == (["c1", "d1"], ["e1"])
    assert parts[2].failure == "max_llm_calls=2 reached"


def test_the_calls_of_a_halving_count_too():
    budget = Budget(Ceilings(max_llm_calls=5))
    parts, rounds = judge([labels(64)], lambda *_: BLOCKED, budget=budget)
    assert sum(len(r.prompts) for r in rounds) == 5
    assert lost(parts) == labels(64)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_wait_past_the_deadline_is_not_waited():
    clock = Clock()
    budget = Budget(Ceilings(deadline=timedelta(seconds=2)), clock=clock)

    def model(asked, _):
        return Reply("", error="busy", failure="transient", retry_after=9.0) if "c1" in asked else select_all(asked)  # fmt: skip

    parts, rounds = judge([["c1"], ["d1"]], model, budget=budget, clock=clock)
    assert [r.timeout for r in rounds] == [2.0]
    why = "busy (deadline of 0:00:02 reached before it could be asked again)"
    assert [(part.failure, part.refused) for part in parts] == [(why, True), (None, False)]
    assert budget.stopped_by == "deadline of 0:00:02 reached"


def test_empty_batches_are_not_asked_about():
    parts, rounds = judge([[], ["c1"]], lambda asked, _: select_all(asked))
    assert ([part.batch for part in parts], [r.prompts for r in rounds]) == ([1], [("c1",)])


def test_the_service_is_never_asked_before_it_wants_to_be():
    assert retry_delay(1, 7.0, RetryPolicy(), chance=0.0) == 7.0
    assert retry_delay(1, 31.0, RetryPolicy(longest_wait=30.0)) is None


def test_jitter_shortens_a_wait_by_its_share_at_most():
    policy = RetryPolicy(first_wait=1.0, jitter=0.25)
    assert [retry_delay(1, None, policy, chance=c) for c in (0.0, 1.0)] == [1 - 0.25, 1.0]


@pytest.mark.parametrize(
    "setting",
    [
        {"max_attempts": 0},
        {"first_wait": -1},
        {"growth": 0.5},
        {"longest_wait": -1},
        {"jitter": 2},
        {"max_unreadable": 0},
    ],
)
def test_an_impossible_retry_policy_is_refused(setting):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        RetryPolicy(**setting)


@given(
    st.lists(st.integers(0, 9), max_size=4),
    st.sets(st.integers(1, 9)),
    st.integers(0, 30) | st.none(),
)
def test_every_item_comes_back_once_and_in_order_whatever_fails(sizes, bad, max_calls):
    batches = [[f"b{b}c{i}" for i in range(1, n + 1)] for b, n in enumerate(sizes)]

    def model(asked, n_round):
        broken = any(int(label.split("c")[1]) in bad for label in asked)
        return (BLOCKED, BUSY, Reply("?"))[n_round % 3] if broken else select_all(asked)

    budget = Budget(Ceilings(max_llm_calls=max_calls))
    parts, rounds = judge(batches, model, budget=budget)
    assert [item for part in parts for item in part.items] == [x for b in batches for x in b]
    assert max_calls is None or sum(len(r.prompts) for r in rounds) <= max_calls


def test_the_wait_before_a_call_counts_against_the_deadline():
    clock = Clock()
    budget = Budget(Ceilings(deadline=timedelta(seconds=2)), clock=clock)
    busy = Reply("", error="busy", failure="transient", retry_after=1.5)

    def model(asked, n_round):
        return select_all(asked) if n_round > 1 else busy

    _, rounds = judge([["c1"]], model, budget=budget, clock=clock)
    assert [(r.wait, r.timeout) for r in rounds] == [(0.0, 2.0), (1.5, 2 - 1.5)]


def test_what_a_ceiling_refused_is_told_apart_from_what_failed():
    budget = Budget(Ceilings(max_llm_calls=1))
    failed = Reply("", error="no", failure="permanent")
    parts, _ = judge([["c1"], ["d1"]], lambda *_: failed, budget=budget)
    assert [part.refused for part in parts] == [False, True]


def test_what_the_client_has_repeated_itself_is_not_asked_again():
    failed = Reply("", error="busy", failure="retried")
    parts, rounds = judge([["c1", "c2"]], lambda *_: failed)
    assert (len(rounds), lost(parts)) == (1, ["c1", "c2"])
