"""Which messages an answer cites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.models.citations import Citations, read_citations


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("On Monday [7].", (7,)),
        ("Monday [7][3], not Friday [7].", (7, 3)),
        ("Monday [3, 7; 1].", (3, 7, 1)),
        ("Monday [2-4] and [6–7].", (2, 3, 4, 6, 7)),
        ("月曜日【3】", (3,)),
        ("An open bracket [3 and [x] and []", ()),
        ("", ()),
    ],
)
def test_numbers_in_brackets_are_citations_in_the_order_first_cited(text, numbers):
    assert read_citations(text, 7) == Citations(numbers)


def test_numbers_of_no_message_are_told_apart():
    assert read_citations("[0] [2] [8] [2026-03]", 7) == Citations((2, 3), (0, 8, 2026))


@given(st.text(alphabet="[]【】0123456789,-– a"), st.integers(0, 9))
def test_only_shown_messages_are_cited_and_each_once(text, n_messages):
    found = read_citations(text, n_messages)
    assert all(1 <= number <= n_messages for number in found.numbers)
    assert len({*found.numbers, *found.unknown}) == len(found.numbers) + len(found.unknown)
