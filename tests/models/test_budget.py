"""Budget: what a question may cost."""

from datetime import timedelta

import pytest

from tmem_integrations.errors import ConfigError
from tmem_integrations.models.budget import Budget, Ceilings, Estimate, EstimatingBudget
from tmem_integrations.protocols import Reply


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_without_ceilings_every_call_is_allowed():
    budget = Budget()
    assert [budget.reserve(10**9, 10**9) for _ in range(3)] == [None] * 3
    assert budget.remaining_seconds() is None


def test_the_call_after_the_last_is_refused():
    budget = Budget(Ceilings(max_llm_calls=2))
    refusals = [budget.reserve(1, 1) for _ in range(3)]
    assert refusals == [None, None, "max_llm_calls=2 reached"]
    assert (budget.n_calls, budget.stopped_by) == (2, "max_llm_calls=2 reached")


def test_reserved_tokens_count_until_the_service_tells_its_own():
    budget = Budget(Ceilings(max_llm_tokens=100))
    assert budget.reserve(50, 10) is None
    assert budget.reserve(50, 10) == "max_llm_tokens=100 reached"
    budget.settle(50, 10, Reply("{}", input_tokens=30, output_tokens=5))
    assert budget.n_tokens == 30 + 5
    assert budget.reserve(50, 10) is None


def test_where_the_service_tells_no_tokens_the_estimate_stands():
    budget = Budget()
    budget.reserve(50, 10)
    budget.settle(50, 10, Reply("{}"))
    assert (budget.input_tokens, budget.output_tokens) == (50, 10)


def test_a_failed_call_costs_no_tokens_but_is_a_call():
    budget = Budget()
    budget.reserve(50, 10)
    budget.settle(50, 10, Reply("", error="x"))
    assert (budget.n_tokens, budget.n_calls) == (0, 1)


def test_time_runs_from_the_question():
    clock = Clock()
    budget = Budget(Ceilings(deadline=timedelta(seconds=2)), clock=clock)
    clock.now += 1.5
    assert budget.remaining_seconds() == 0.5
    clock.now += 5
    assert budget.remaining_seconds() == 0.0
    assert budget.reserve(1, 1) == "deadline of 0:00:02 reached"


def test_a_call_that_would_wait_past_the_deadline_is_refused():
    budget = Budget(Ceilings(deadline=timedelta(seconds=2)), clock=Clock())
    assert budget.reserve(1, 1, wait=1.9) is None
    assert budget.reserve(1, 1, wait=2.0) == "deadline of 0:00:02 reached"


@pytest.mark.parametrize(
    "setting",
    [{"max_llm_calls": -1}, {"max_llm_tokens": -1}, {"deadline": timedelta(0)}],
)
def test_an_impossible_ceiling_is_refused(setting):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        Ceilings(**setting)


def test_an_estimate_counts_every_call_as_answered_at_its_expected_length():
    budget = EstimatingBudget()
    for _ in range(2):
        budget.reserve(100, 10)
        budget.settle(100, 10, Reply("", error="not asked"))
    assert budget.estimate == Estimate(2, input_tokens=2 * 100, output_tokens=2 * 10)
    assert budget.estimate.n_tokens == 2 * (100 + 10)


def test_an_estimate_ends_at_the_ceilings():
    budget = EstimatingBudget(Ceilings(max_llm_tokens=150))
    assert budget.reserve(100, 10) is None
    budget.settle(100, 10, Reply("", error="not asked"))
    assert budget.reserve(100, 10) == "max_llm_tokens=150 reached"
