"""Reading one message: values, cues, terms, whom it turns to; and text that means harm."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.linking.context import Context, build_context
from tmem_integrations.linking.cues import CUES, OPENERS, QUESTION, find_cues
from tmem_integrations.linking.reading import Reading, read_utterance
from tmem_integrations.linking.utterance import MAX_CHARACTERS, Utterance, to_utterances
from tmem_integrations.linking.values import find_values
from tmem_integrations.messages import Message

NOWHERE = Context()
# Cues, parts of some, words that begin like one, and what may stand before or behind.
CUE_PIECES = (
    "now", "nowhere", "no", "longer", "no longer", "not", "any", "anymore", "roll", "rolled", "back",
    "rollback", "can't", "can 't", "doesn 't", "work", "works", "working now", "er", "errr", "oops",
    "take", "takes over", "over", "go", "back to", "i", "mean", "my bad", "not to be confused", "x",
    "updates", "9", "改为", "é", ",", ".", " ", "\n", "_",
)  # fmt: skip


def said(text: str, author: str | None = None, speaker: str | None = None) -> Utterance:
    return Utterance(text=text, author=author, speaker=speaker or author)


def read(text: str, context: Context = NOWHERE) -> Reading:
    return read_utterance(said(text), context)


def cues(text: str) -> set[str]:
    return {name for name, pattern in CUES.items() if pattern.search(text)}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("due may 8, 2026", ("date", "may8")),
        ("am 8. mai", ("date", "8.mai")),
        ("el 8 de mayo", ("date", "8demayo")),
        ("le 1er février", ("date", "1erfévrier")),
        ("改到5月8日", ("date", "5月8日")),
        ("08.05.2026", ("date", "08.05.2026")),
        ("at 3 pm", ("time", "3pm")),
        ("um 15 uhr", ("time", "15uhr")),
        ("下午3点", ("time", "3点")),
        ("costs $1,200.", ("money", "$1200")),
        ("1,200 eur", ("money", "1200eur")),
        ("about 5 %", ("percent", "5%")),
        ("key rw_stg_3m8v", ("code", "rw_stg_3m8v")),
        ("use v2.8.1", ("code", "v2.8.1")),
        ("see /etc/hosts", ("code", "etc/hosts")),
        ("three devices", ("number", "three")),
        ("am dienstag", ("day", "dienstag")),
        ("周五", ("day", "周五")),
    ],
)
def test_a_value_is_found_with_its_kind(text, value):
    assert value in find_values(text)[0]


def test_a_text_taken_as_one_kind_is_not_read_as_another():
    assert find_values("8 may at 10:00")[0] == {("date", "8may"), ("time", "10:00")}


def test_a_date_with_and_without_its_year_is_the_same_value():
    assert find_values("may 8, 2026")[0] == find_values("may 8")[0]


def test_the_offset_of_each_value_is_given():
    assert find_values("9:00 or 10:00")[1] == (0, len("9:00 or "))


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("it moves to friday", "change"),
        ("der termin verschiebt sich", "change"),
        ("ahora es el viernes", "change"),
        ("le rendez-vous est reporté", "change"),
        ("会议改到周五", "change"),
        ("cancelled", "retract"),
        ("bo takes over the page", "change"),
        ("das treffen ist abgesagt", "retract"),
        ("we rolled back to v1", "retract"),
        ("data goes back to frankfurt", "retract"),
        ("上线已回滚", "retract"),
        ("the plan is unchanged", "persist"),
        ("that is fixed", "done"),
        ("errr, wrong link", "correct"),
        ("quizás el martes", "tentative"),
        ("it does not work, an error", "trouble"),
        ("unrelated: lunch?", "apart"),
    ],
)
def test_a_cue_is_heard(text, cue):
    assert cue in cues(text)


@pytest.mark.parametrize("text", ["the newspaper", "remove-all.sh", "notes on errands"])
def test_a_cue_is_a_whole_word(text):
    assert not cues(text)


@pytest.mark.parametrize("text", ["ok, got it", "well, yes", "danke!", "好的", "d'accord, merci"])
def test_an_acknowledgement_opens_a_message(text):
    assert OPENERS.match(text)


@pytest.mark.parametrize("text", ["okra is a vegetable", "nobody knows"])
def test_a_word_that_begins_like_an_acknowledgement_is_none(text):
    assert not OPENERS.match(text)


@pytest.mark.parametrize("text", ["where is it", "is it friday?", "周五可以吗？"])
def test_a_question_is_seen(text):
    assert QUESTION.search(text)


def test_function_words_and_cue_words_are_no_terms():
    assert read("The new budget replaces the earlier budgets").terms == {"budget"}


def test_the_slot_is_what_stands_near_a_value():
    assert {"review", "friday"} <= read("The review is on Friday at 10:00").near_values


TEAM = build_context(
    [
        said("The Atlas plan, with Atlas people", "Ana Ruiz", "u1"),
        said("hello", "zed", "u2"),
        said("see Atlas, and Atlas again", "well", "u3"),
        said("hi", "Bo Li", "u4"),
        said("hi", "Bo Ek", "u5"),
    ]
)


@pytest.mark.parametrize(
    ("text", "whom"),
    [
        ("zed: try again", {"u2"}),
        ("ZED, try again", {"u2"}),
        ("try again @zed", {"u2"}),
        ("Could Ana look at it?", {"u1"}),
        ("well, try again", {"u3"}),
        ("well try again", set()),
        ("as zed said", set()),
        ("Bo: try again", set()),
        ("zed: @well: try again", {"u2", "u3"}),
    ],
    ids=str,
)
def test_whom_a_message_turns_to(text, whom):
    assert read(text, TEAM).addressed == whom


def test_who_is_addressed_is_no_term():
    assert read("zed: reboot", TEAM).terms == {"reboot"}


def test_a_word_mostly_written_with_a_capital_is_a_name():
    assert TEAM.names == {"atlas"}
    assert read("atlas is late", TEAM).names == {"atlas"}


def test_a_rarer_term_weighs_more():
    context = build_context([said("budget review"), said("budget")])
    assert context.document_frequency == {"budget": 2, "review": 1}
    assert context.idf("review") > context.idf("budget")


def test_a_renamed_author_stays_the_same_speaker():
    at = "2026-01-05T10:00:00Z"
    records = [
        {"id": "1", "text": "a", "sent_at": at, "author": "Ana", "author_id": "u1"},
        {"id": "2", "text": "b", "sent_at": at, "author": "Anna", "author_id": "u1"},
        {"id": "3", "text": "c", "sent_at": at, "author": "Bo"},
    ]
    utterances = to_utterances([Message.from_dict(record) for record in records])
    assert [(u.speaker, u.position) for u in utterances] == [("u1", 0), ("u1", 1), ("Bo", 2)]


HOSTILE = {
    "a line": "a" * 1_000_000,
    "digits": "1" * 1_000_000,
    "commas": "1," * 500_000,
    "dots": "1.1" * 300_000,
    "dashes": "a-" * 500_000,
    "stars": "*." * 500_000,
    "slashes": "a/" * 500_000,
    "underscores": "_" * 1_000_000,
    "spaces": " " * 1_000_000,
    "openers": "so " * 300_000,
    "hums": "um" * 500_000,
    "apostrophes": "a'" * 500_000,
    "mentions": "@a" * 500_000,
    "currency": "$ 1," * 250_000,
    "months": "may 1 " * 160_000,
    "chinese": "改" * 1_000_000,
    "combining": "e\u0301" * 500_000,
    "emoji": "👍" * 500_000,
    "nul": "\ufffd" * 1_000_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_of_a_huge_line_only_the_beginning_is_read(text):
    """A pattern that backtracks would not come back from these."""
    message = Message(id="m", text=text, sent_at=datetime(2026, 1, 5, tzinfo=UTC))
    (utterance,) = to_utterances([message])
    assert utterance.text == text[:MAX_CHARACTERS]
    reading = read_utterance(utterance, build_context([utterance]))
    assert reading.n_words <= MAX_CHARACTERS


def test_the_word_that_opens_a_text_is_inside_no_sentence():
    # A name stands inside sentences twice.
    assert build_context([said("X is late, ask X about it")]).names == frozenset()
    assert build_context([said("well, X is late, ask X about it")]).names == {"x"}


@given(st.lists(st.sampled_from(CUE_PIECES), max_size=8), st.sampled_from(("", " ", "-", "'")))
def test_cues_are_found_wherever_their_pattern_matches(pieces, glue):
    text = glue.join(pieces)
    assert find_cues(text) == cues(text)
