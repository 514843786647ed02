"""Relevance: own words, surroundings, links and who wrote it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.config import RelevanceConfig
from tmem_integrations.messages import Message, Query
from tmem_integrations.stages.candidates import Candidates
from tmem_integrations.stages.relevance import rate_candidates, rate_similarity, unexplained

START = datetime(2026, 3, 2, tzinfo=UTC)
PLAIN = RelevanceConfig(
    onward=1, link=0, own=0, named_author=0, asker=0, channel=0, late=0, similarity=0
)


def candidates(
    terms: list[list[float]], messages: list[dict] | None = None, runs=None
) -> Candidates:
    n = len(terms[0])
    fields = messages or [{}] * n
    return Candidates(
        messages=tuple(
            Message(**{"id": f"m{i}", "text": "x", "sent_at": START + timedelta(minutes=i), **own})
            for i, own in enumerate(fields)
        ),
        rows=np.arange(n),
        runs=np.array(runs or [0] * n),
        term_scores=np.array(terms, dtype=np.float64),
        is_asked=np.ones(len(terms), dtype=np.bool_),
        is_anchor=np.zeros(n, dtype=np.bool_),
    )


def rate(of: Candidates, config: RelevanceConfig = PLAIN, **query) -> list[float]:
    return rate_candidates(of, Query(**{"text": "q", **query}), config).round(9).tolist()


def test_relevance_falls_with_the_distance_to_what_was_said():
    assert rate(candidates([[2.0, 0, 0]]), PLAIN) == pytest.approx(
        [2.0, 2 * 2**-0.75, 2 * 3**-0.75]
    )


def test_more_passes_to_later_messages_than_back():
    config = replace(PLAIN, onward=1.5)
    before, after = rate(candidates([[0, 2.0, 0]]), config)[::2]
    assert before == pytest.approx(2 * (0.5 * 2**-1.5) ** 0.5)
    assert after == pytest.approx(2 * (1.5 * 2**-1.5) ** 0.5)


def test_beyond_the_reach_nothing_arrives():
    config = RelevanceConfig(reach=1, link=0, own=0, named_author=0, asker=0, channel=0, late=0)
    assert rate(candidates([[2.0, 0, 0]]), config)[2] == 0


def test_two_terms_count_more_than_one_term_twice():
    once_each = rate(candidates([[1.0, 0], [0, 1.0]]))[0]
    same_twice = rate(candidates([[1.0, 1.0]]))[0]
    assert once_each == pytest.approx(1 + 2**-0.75)
    assert same_twice == pytest.approx((1 + 2**-1.5) ** 0.5)


def test_relevance_does_not_cross_channels_or_runs():
    of = candidates([[1.0, 0]], [{"channel": "a"}, {"channel": "b"}])
    assert rate(of) == [1.0, 0.0]
    assert rate(candidates([[1.0, 0]], runs=[0, 1])) == [1.0, 0.0]


def linked(messages: list[dict]) -> list[float]:
    config = RelevanceConfig(reach=3, decay=20, own=0, named_author=0, asker=0, channel=0, late=0)
    first = [1.0] + [0.0] * (len(messages) - 1)
    return rate(candidates([first], messages), config)


def test_a_reply_shares_what_it_replies_to():
    replied = linked([{}, {}, {"reply_to": "m0"}])
    assert replied[2] == pytest.approx((0.3 * 2.0) ** 0.5, abs=1e-3)
    assert replied[1] < 0.01


def test_an_address_leads_to_the_last_message_of_the_addressed():
    messages = [{"author": "Ann"}, {"author": "Cy"}, {"author": "Bo", "text": "ann: yes"}]
    assert linked(messages)[2] == pytest.approx(0.3**0.5, abs=1e-3)


def test_who_addresses_nobody_is_not_linked_to_an_unknown_author():
    messages = [{"author": None}, {"author": "Cy"}, {"author": "Bo", "text": "yes"}]
    assert linked(messages)[2] < 0.01


def test_an_author_goes_on_after_an_interruption():
    messages = [{"author": "Ann"}, {"author": "Bo"}, {"author": "Ann"}]
    assert linked(messages)[2] == pytest.approx((0.3 * 0.5) ** 0.5, abs=1e-3)


def test_the_author_the_question_names_and_the_asker_are_favoured():
    messages = [{"author": "Ann Lee"}, {"author": "Bo", "author_id": "U7"}, {"author": "Cy"}]
    config = RelevanceConfig(link=0, own=0, channel=0, late=0, named_author=0.5, asker=1.0, reach=0)
    of = candidates([[1.0, 1.0, 1.0]], messages)
    assert rate(of, config, text="What did Ann say?", asking_user="U7") == [1.5, 2.0, 1.0]


def test_a_question_for_the_present_favours_what_is_late():
    config = RelevanceConfig(link=0, own=0, channel=0, reach=0, past=0)
    of = candidates([[1.0, 1.0]])
    assert rate(of, config, text="what is the current plan") == [1.0, 1.25]
    assert rate(of, config, text="what was the plan") == [1.0, 1.0]


def test_a_question_for_the_present_keeps_places_for_what_was_said_before():
    config = RelevanceConfig(link=0, own=0, channel=0, reach=0, late=3, past=3)
    of = candidates([[1.2, 1.0, 1.0, 1.0]])  # times 1, 1.75, 2.5 and 3.25: m0 is last
    # The third place goes to the best by words, m0, with the score of that place.
    assert rate(of, config, text="what is the plan now") == [1.75, 1.2, 2.5, 3.25]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(0, 4))
def test_sharing_places_deals_out_the_same_scores(own, past):
    of = candidates([own])
    config = RelevanceConfig(link=0, own=0, channel=0, reach=0)
    alone, shared = (rate(of, replace(config, past=every), text="now?") for every in (0, past))
    assert sorted(shared) == sorted(alone)
    assert [s == 0 for s in shared] == [a == 0 for a in alone]


def test_a_channel_that_speaks_to_the_question_is_favoured():
    config = RelevanceConfig(link=0, own=0, late=0, reach=0, channel=0.5)
    of = candidates([[4.0, 1.0, 1.0]], [{"channel": "a"}, {"channel": "a"}, {"channel": "b"}])
    assert rate(of, config) == [4.0, 1.0, 1.0 * (1 / 4) ** 0.5]


def test_no_candidate_gives_no_relevance():
    assert rate(candidates([[]], [])) == []
    assert rate_candidates(candidates([[]], []), Query(text="now?"), RelevanceConfig()).size == 0


def test_words_leave_open_what_no_single_message_says():
    idf = np.array([1.0, 3.0])
    assert unexplained(np.array([[1.0, 0], [0, 3.0]]), idf) == 1 - 3 / 4
    assert unexplained(np.array([[1.0], [3.0]]), idf) == 0
    assert unexplained(np.zeros((2, 0)), idf) == 1
    assert unexplained(np.zeros((0, 5)), np.zeros(0)) == 1


def test_similarity_counts_only_above_the_ordinary():
    vectors = np.eye(4, dtype=np.float32)
    rated = rate_similarity(vectors, vectors[2], np.ones((1, 4)), 1.0, RelevanceConfig())
    assert rated[2] > 0
    assert rated[[0, 1, 3]].tolist() == [0, 0, 0]


def test_similarity_vanishes_when_words_explain_the_question():
    vectors = np.eye(4, dtype=np.float32)
    assert rate_similarity(vectors, vectors[2], np.ones((1, 4)), 0.0, RelevanceConfig()).max() == 0


def test_the_asker_s_name_counts_at_most_a_share_of_the_question():
    of = replace(candidates([[2.0, 0], [0, 9.0]], runs=[0, 1]), is_asked=np.array([True, False]))
    share = replace(PLAIN, asker_words=0.5)
    assert rate(of, share) == [2.0, 0.5 * 2.0]
    assert rate(of, replace(PLAIN, asker_words=9.0)) == [2.0, 9.0]
