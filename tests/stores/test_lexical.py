"""BM25: the scores of `rank_bm25` fitted on exactly what is alive and visible."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from tmem_integrations.stores.lexical import LexicalIndex, positive_scores

WORDS = st.sampled_from(["ship", "plan", "bug", "ops", "fix", "eta"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=6), max_size=12)
QUESTIONS = st.lists(WORDS | st.just("kubernetes"), min_size=1, max_size=5)


def build(documents):
    index = LexicalIndex()
    index.add(range(len(documents)), documents)
    return index


def okapi(documents, terms):
    """What `rank_bm25` gives to the documents (slot → terms) that hold a term of the question."""
    slots = sorted(documents)
    if not any(documents.values()):
        return {}
    scores = BM25Okapi([documents[slot] for slot in slots]).get_scores(terms)
    hits = zip(slots, scores, strict=True)
    return {slot: score for slot, score in hits if set(terms) & set(documents[slot])}


def assert_same(found, expected):
    slots, scores = found
    assert slots.tolist() == sorted(expected)
    assert scores.tolist() == pytest.approx([expected[slot] for slot in slots.tolist()], abs=1e-12)


@given(DOCUMENTS, QUESTIONS)
def test_scores_are_those_of_rank_bm25(documents, terms):
    assert_same(build(documents).search(terms), okapi(dict(enumerate(documents)), terms))


@given(DOCUMENTS, QUESTIONS, st.data())
def test_scores_in_a_scope_are_those_of_a_history_that_holds_nothing_else(documents, terms, data):
    allowed = data.draw(st.lists(st.booleans(), min_size=len(documents), max_size=len(documents)))
    visible = {slot: one for slot, one in enumerate(documents) if allowed[slot]}
    index = build(documents)
    assert_same(index.search(terms, np.array(allowed, bool)), okapi(visible, terms))
    frequencies = index.document_frequencies(terms, np.array(allowed, bool))
    assert frequencies == {t: sum(t in one for one in visible.values()) for t in terms}


@given(
    st.lists(st.tuples(DOCUMENTS, st.sets(st.integers(0, 40), max_size=8)), max_size=5), QUESTIONS
)
def test_after_any_adds_and_removes_the_scores_are_those_of_a_fresh_build(steps, terms):
    index, alive = LexicalIndex(), {}
    for documents, removed in steps:
        slots = range(index.n_slots, index.n_slots + len(documents))
        index.add(slots, documents)
        alive.update(zip(slots, documents, strict=True))
        index.remove(sorted(removed))
        alive = {slot: one for slot, one in alive.items() if slot not in removed}
        assert_same(index.search(terms), okapi(alive, terms))


def test_one_document_at_a_time_gives_the_same_as_all_at_once():
    documents = [["ship"] * (n % 3) + ["plan", f"word{n % 7}"] for n in range(200)]
    index = LexicalIndex()
    for slot, document in enumerate(documents):
        index.add([slot], [document])
    assert_same(
        index.search(["ship", "word3"]), okapi(dict(enumerate(documents)), ["ship", "word3"])
    )


def test_a_repeated_query_term_counts_twice():
    index = build([["ship"], ["plan"], ["bug"]])
    once, twice = index.search(["ship"])[1], index.search(["ship", "ship"])[1]
    assert twice.tolist() == (2 * once).tolist()


def test_a_score_is_the_formula_written_out():
    slots, scores = build([["ship", "ship"], ["plan"], ["bug"]]).search(["ship"])
    idf = math.log(3 - 1 + 0.5) - math.log(1 + 0.5)
    saturation = 1.5 * (1 - 0.75 + 0.75 * 2 / (4 / 3))
    assert slots.tolist() == [0]
    assert scores[0] == pytest.approx(idf * 2 * (1.5 + 1) / (2 + saturation))


def test_a_term_in_half_of_the_documents_still_matches():
    slots, scores = build([["ship"], ["ship"], ["plan"], ["bug"]]).search(["ship"])
    assert slots.tolist() == [0, 1]
    assert scores.tolist() == [0.0, 0.0]
    assert (positive_scores(scores) > 0).all()


def test_a_term_no_document_holds_matches_nothing():
    slots, scores = build([["ship"], []]).search(["kubernetes"])
    assert (len(slots), len(scores)) == (0, 0)
    assert len(build([["ship"]]).search([])[0]) == 0


def test_an_empty_index_and_one_of_empty_documents_match_nothing():
    assert len(LexicalIndex().search(["ship"])[0]) == 0
    assert len(build([[], []]).search(["ship"])[0]) == 0


def test_a_scope_made_before_an_addition_does_not_admit_it():
    index = build([["ship"]])
    allowed = np.array([True])
    index.add([1], [["ship"]])
    assert index.search(["ship"], allowed)[0].tolist() == [0]


def test_the_words_of_removed_documents_are_not_kept_for_ever():
    index = build([["salary", "five"], ["plan"]])
    index.remove([0])
    assert index.document_frequencies(["salary", "plan"]) == {"salary": 0, "plan": 1}
    assert "salary" not in index._numbers
    index.add([2], [["salary"]])
    assert index.search(["salary"])[0].tolist() == [2]


def test_a_slot_out_of_turn_is_refused():
    with pytest.raises(ValueError, match="expected"):
        LexicalIndex().add([1], [["ship"]])


@given(st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1))
def test_positive_scores_keep_positive_values_and_all_order(values):
    scores = np.array(values)
    lifted = positive_scores(scores)
    assert (lifted > 0).all()
    assert (lifted[scores > 0] == scores[scores > 0]).all()
    for i in range(len(values)):
        assert ((scores < scores[i]) == (lifted < lifted[i])).all()


@given(st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=12), QUESTIONS, st.data())
def test_document_frequencies_count_the_visible_documents(documents, terms, data):
    index = LexicalIndex()
    for slot, document in enumerate(documents):
        index.add([slot], [document])
    removed = data.draw(st.sets(st.integers(0, len(documents) - 1)))
    index.remove(sorted(removed))
    held = [set(d) for slot, d in enumerate(documents) if slot not in removed]
    expected = {term: sum(term in one for one in held) for term in terms}
    assert index.document_frequencies(terms) == expected
