"""The bundled history: what its README promises, and that its questions need more than flat search."""

from collections.abc import Iterator
from datetime import UTC

import pytest
from rank_bm25 import BM25Okapi

from tmem_integrations import TemporalForestRetriever
from tmem_integrations.demo import (
    ASKING_USER,
    MEMBERS,
    QUESTION,
    TIMEZONE,
    DemoQuestion,
    load_history,
    load_questions,
)
from tmem_integrations.stages.forest import Forest

HISTORY = load_history()
BY_ID = {m.id: m for m in HISTORY}
QUESTIONS = load_questions()


def test_about_three_hundred_messages_of_eight_people_in_four_channels_within_three_weeks() -> None:
    assert 280 <= len(HISTORY) <= 350
    assert len({m.author_id for m in HISTORY}) == 8
    assert {m.channel for m in HISTORY} == set(MEMBERS)
    assert (HISTORY[-1].sent_at - HISTORY[0].sent_at).days < 21


def test_ids_are_unique_and_times_are_in_order() -> None:
    assert len(BY_ID) == len(HISTORY)
    assert [m.sent_at for m in HISTORY] == sorted(m.sent_at for m in HISTORY)


def test_a_reply_answers_an_earlier_message_of_its_channel() -> None:
    replies = [m for m in HISTORY if m.reply_to]
    assert len(replies) > 100
    for m in replies:
        parent = BY_ID[m.reply_to or ""]
        assert parent.channel == m.channel
        assert parent.sent_at <= m.sent_at


def test_only_members_of_the_private_channel_write_in_it() -> None:
    assert {m.author_id for m in HISTORY if m.channel == "leads"} <= MEMBERS["leads"]


def test_four_languages_occur() -> None:
    marks = {"zh": "的", "de": "Bitte", "es": "entendido", "en": "the"}
    assert all(any(mark in m.text for m in HISTORY) for mark in marks.values())


def test_every_author_has_one_name_and_one_role() -> None:
    assert len({(m.author_id, m.author, m.role) for m in HISTORY}) == 8


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda q: q.id)
def test_a_question_names_messages_that_its_asker_may_read_by_then(case: DemoQuestion) -> None:
    assert case.evidence
    assert not set(case.evidence) & set(case.stale)
    for message_id in (*case.evidence, *case.stale):
        message = BY_ID[message_id]
        assert message.sent_at <= case.as_of.astimezone(UTC)
        assert MEMBERS[message.channel or ""] & {"*", case.asking_user}


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda q: q.id)
def test_what_supersedes_is_later_than_what_is_stale(case: DemoQuestion) -> None:
    latest = max(BY_ID[i].sent_at for i in case.evidence)
    assert all(BY_ID[i].sent_at < latest for i in case.stale)


def test_the_answer_of_the_main_question_shares_no_word_with_it() -> None:
    case = QUESTIONS[0]
    assert (case.question, case.asking_user) == (QUESTION, ASKING_USER)
    for message_id in case.evidence:
        assert not _words(QUESTION) & _words(BY_ID[message_id].text)


def test_flat_bm25_shows_the_first_date_of_the_launch_and_misses_the_current_one() -> None:
    case = QUESTIONS[0]
    readable = [m for m in HISTORY if MEMBERS[m.channel or ""] & {"*", case.asking_user}]
    index = BM25Okapi([sorted(_words(m.text)) for m in readable])
    scores = index.get_scores(sorted(_words(case.question)))
    top = {m.id for _, m in sorted(zip(scores, readable, strict=True), key=lambda p: -p[0])[:12]}
    assert case.stale[0] in top
    assert not top & set(case.evidence)


@pytest.fixture(scope="module")
def retriever() -> Iterator[TemporalForestRetriever]:
    made = TemporalForestRetriever.from_messages(
        HISTORY, timezone=TIMEZONE, access=MEMBERS, max_messages=36
    )
    yield made
    made.close()


def test_the_forest_of_the_main_question_leads_from_the_first_date_to_the_current_one(
    retriever: TemporalForestRetriever,
) -> None:
    forest = retriever.retrieve_forest(QUESTION, asking_user=ASKING_USER, max_messages=12).forest
    current, rollback = QUESTIONS[0].evidence
    first, _, postponed, _ = QUESTIONS[0].stale
    at = {node.message.id: index for index, node in enumerate(forest)}
    assert path_to_root(forest, at[current])[:3] == [current, rollback, postponed]
    assert path_to_root(forest, at[current])[-1] == first
    assert {forest.nodes[at[i]].relation for i in (current, rollback, postponed)} == {"UPDATE"}


def path_to_root(forest: Forest, index: int | None) -> list[str]:
    path = []
    while index is not None:
        path.append(forest.nodes[index].message.id)
        index = forest.nodes[index].parent
    return path


def test_the_retriever_finds_most_of_the_evidence_of_the_questions(
    retriever: TemporalForestRetriever,
) -> None:
    shares = [_share_found(retriever, case) for case in QUESTIONS]
    assert sum(shares) / len(shares) >= 0.75


def test_no_question_shows_a_channel_its_asker_is_not_in(
    retriever: TemporalForestRetriever,
) -> None:
    for case in QUESTIONS:
        shown = retriever.retrieve_forest(case.question, asking_user=case.asking_user).message_ids
        assert {BY_ID[i].channel for i in shown} <= {
            channel for channel, members in MEMBERS.items() if members & {"*", case.asking_user}
        }


def _share_found(retriever: TemporalForestRetriever, case: DemoQuestion) -> float:
    forest = retriever.retrieve_forest(
        case.question, asking_user=case.asking_user, as_of=case.as_of
    )
    return len(set(forest.message_ids) & set(case.evidence)) / len(case.evidence)


def _words(text: str) -> set[str]:
    return {word.strip("?!.,:;\"'()").lower() for word in text.split()} - {""}
