"""What a forest says of messages that hold."""

from visual.trees import EXPAND, ROOT, UPDATE, forest_of

from tmem_integrations.evaluation.gate_gold import Asked, GateGold
from tmem_integrations.evaluation.superseding import (
    Superseding,
    check_superseding,
    superseding_figures,
)


def date(current, *, stale=(), chain=()):
    return Asked(frozenset(current.split()), frozenset(stale), tuple(chain))


def gold(*asked):
    return GateGold(asked, frozenset())


def test_what_holds_and_is_shown_as_updated_is_wrongly_superseded():
    forest = forest_of((None, ROOT), (0, UPDATE))
    assert check_superseding(gold(date("m0")), forest) == Superseding(1, 1, 0, 0)


def test_an_expansion_supersedes_nothing():
    forest = forest_of((None, ROOT), (0, EXPAND))
    assert check_superseding(gold(date("m0")), forest).wrongly == 0


def test_what_is_stale_may_be_superseded():
    forest = forest_of((None, ROOT), (0, UPDATE))
    found = check_superseding(gold(date("m1", stale=["m0"])), forest)
    assert (found.holding, found.wrongly) == (1, 0)


def test_a_recap_that_states_the_same_supersedes_nothing_wrongly():
    forest = forest_of((None, ROOT), (0, UPDATE))
    assert check_superseding(gold(date("m0 m1")), forest) == Superseding(2, 0, 0, 0)


def test_a_message_that_is_current_for_one_thing_and_stale_for_another_is_left_out():
    forest = forest_of((None, ROOT), (0, UPDATE))
    asked = (date("m0"), date("m1", stale=["m0"]))
    assert check_superseding(gold(*asked), forest).holding == 1  # m1


def test_what_comes_later_in_the_chain_may_update():
    forest = forest_of((None, ROOT), (0, UPDATE))
    asked = date("m0", chain=["m0", "m1"])
    assert check_superseding(gold(asked), forest) == Superseding(1, 0, 1, 1)


def test_a_message_is_counted_once_however_many_things_it_states():
    forest = forest_of((None, ROOT), (0, UPDATE), (0, UPDATE))
    assert check_superseding(gold(date("m0"), date("m0")), forest) == Superseding(1, 1, 0, 0)


def test_a_step_counts_where_both_messages_are_shown():
    forest = forest_of((None, ROOT), (0, UPDATE), (1, EXPAND))
    found = check_superseding(gold(date("m2", chain=["m0", "m1", "m2", "m9"])), forest)
    assert (found.steps, found.linked) == (2, 1)  # m0 to m1; m1 to m2 is no update


def test_figures_are_over_all_questions():
    figures = superseding_figures([Superseding(3, 1, 0, 0), Superseding(1, 0, 4, 3)])
    assert figures == {"holding": 4, "wrongly": 1 / 4, "steps": 4, "linked": 3 / 4}


def test_a_share_of_nothing_is_none():
    assert superseding_figures([])["wrongly"] is None
