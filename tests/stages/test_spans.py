"""Spans are sentence-like, lossless, bounded, and never cut through a character."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.stages.spans import (
    MAX_SPAN_CHARS,
    names_a_change,
    names_a_time_or_number,
    question_entities,
    split_spans,
)

PIECES = [
    "We ship. ", "Really?! ", "ok... ", "周五上线。", "好！？", "क्या? ", "हाँ। ", "\n", "\r\n", "\r", "\u2028", "- a\n",
    "1. ", "3.5 ", "👩‍💻", "🇩🇪", "e\u0301", "\u0301", "\u200d", "क्ष", " ", "x" * 400, "é" * 400, "\u0600", "z\u0300\u0301\u0302",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@given(texts)
def test_joined_spans_are_the_text(text):
    assert "".join(split_spans(text)) == text


@given(texts)
def test_no_span_is_empty_or_longer_than_the_limit(text):
    assert all(0 < len(span) <= MAX_SPAN_CHARS for span in split_spans(text))


@given(texts)
def test_a_span_never_ends_inside_a_character(text):
    borders = {match.end() for match in regex.finditer(r"\X", text)}
    end = 0
    for span in split_spans(text):
        end += len(span)
        assert end in borders


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("We ship. Bo, ok?! yes", ["We ship. ", "Bo, ok?! ", "yes"]),
        ("ok. we ship", ["ok. ", "we ship"]),
        ("周五上线。好的！明天见", ["周五上线。", "好的！", "明天见"]),
        ("हाँ। ठीक", ["हाँ। ", "ठीक"]),
        ("متى؟ غدا", ["متى؟ ", "غدا"]),
        ('He said "no." Then left.', ['He said "no." ', "Then left."]),
        ("plan:\n- a\n- b", ["plan:\n", "- a\n", "- b"]),
        ("a line\r\nthe next", ["a line\r\n", "the next"]),
    ],
)
def test_a_sentence_or_line_is_a_span(text, spans):
    assert split_spans(text) == tuple(spans)


@pytest.mark.parametrize(
    "text",
    ["v1.2.3 at 3.5 p.m. today", "Ask Dr. Klein", "am 3. März", "1. first", "J. Smith, e.g. you", "a.b.c"],
)  # fmt: skip
def test_a_full_stop_that_ends_no_sentence_ends_no_span(text):
    assert split_spans(text) == (text,)


def test_white_space_is_no_span_of_its_own():
    assert split_spans("a\n  \n b\n \n") == ("a\n", "  \n b\n \n")


def test_nothing_has_no_spans():
    assert split_spans("") == ()


def test_a_long_line_is_cut_at_white_space():
    words = "word " * 100
    assert all(span.endswith(" ") for span in split_spans(words))


def test_emoji_without_space_are_cut_between_emoji():
    coder = "👩‍💻"  # three code points
    assert split_spans(coder * 101) == (coder * 100, coder)


def test_a_character_longer_than_a_span_is_cut_all_the_same():
    assert max(map(len, split_spans("a" + "\u0301" * 2000))) == MAX_SPAN_CHARS


@pytest.mark.parametrize("sign", [".", " ", "\n", " \n", "a", "👍", "🇩🇪", '."', "。"])
def test_a_megabyte_of_one_sign_is_split(sign):
    text = sign * (300_000 // len(sign))
    assert "".join(split_spans(text)) == text


@pytest.mark.parametrize(
    "span",
    ["at 5", "see you Friday", "by tomorrow", "next week", "am Dienstag", "下周三", "three people", "５月"],
)  # fmt: skip
def test_days_times_and_numbers_are_recognized(span):
    assert names_a_time_or_number(span)


@pytest.mark.parametrize("span", ["you may go", "sunny", "someone", "fine by me"])
def test_other_words_are_no_times_or_numbers(span):
    assert not names_a_time_or_number(span)


@pytest.mark.parametrize(
    "span", ["it is cancelled", "we rolled back", "no longer", "verschoben", "改为线上", "取消"]
)
def test_words_of_change_are_recognized(span):
    assert names_a_change(span)


def test_other_words_are_no_change():
    assert not names_a_change("the weather is nice")


def test_a_question_names_what_it_writes_large_or_as_a_code():
    found = question_entities("When does Ann ship v1.2.3 to SSO?")
    assert {"ann", "v1.2.3", "sso"} <= found
    assert not {"when", "doe", "ship", "to"} & found


def test_a_question_names_a_known_author_in_small_letters():
    assert question_entities("what does bo prefer", ["Bo", "Ann Lee"]) == {"bo"}


def test_a_question_names_what_it_quotes():
    assert question_entities('was "rollback" said?') == {"rollback"}


def test_a_name_without_words_names_nothing():
    assert question_entities("what now", ["???"]) == frozenset()
