"""What a span is worth (TEF Eq. 6-7)."""

import math

from tmem_integrations.stages.omission import count_shown, information_gain, term_weight


class Words:
    """Counts words, so that a test can count with it."""

    def count(self, text: str) -> int:
        return len(text.split())


def test_a_term_nobody_else_uses_weighs_most():
    assert term_weight(0, 9) == math.log(10 / 1) + 1


def test_a_term_in_every_message_weighs_one():
    assert term_weight(9, 9) == 1


def test_a_document_frequency_beyond_the_history_counts_as_all_of_it():
    assert term_weight(12, 9) == 1


def test_what_answers_the_question_counts_and_what_the_parent_lacks_counts_again():
    weights = {"ship": 2.0, "friday": 3.0, "we": 1.0}
    span, parent, question = map(frozenset, (weights, ["we", "ship"], ["ship", "friday"]))
    # U(s) ∩ U(q) = {ship, friday}, U(s) ∖ U(p) = {friday}
    assert information_gain(span, parent, question, weights.__getitem__) == (2 + 3) + 3


def test_a_span_of_several_lines_costs_the_mark_of_each_further_line():
    assert count_shown("alpha\nbeta", Words()) == 2 + 1


def test_a_span_of_blanks_costs_one_token():
    assert count_shown("  ", Words()) == 1
