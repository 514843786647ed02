import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.bridges.filters import check_keywords, narrow
from tmem_integrations.errors import AccessError, QueryError
from tmem_integrations.messages import FILTERS, Message, Query, Scope


def test_unknown_keywords_are_refused_with_the_nearest_known_one():
    with pytest.raises(QueryError, match=r"'channel' is no filter.*did you mean 'channels'"):
        check_keywords(["channel"])


def test_every_filter_of_a_query_is_a_keyword():
    assert check_keywords([*FILTERS, "max_messages", "max_tokens"]) is None


names = st.one_of(st.none(), st.frozensets(st.sampled_from("abc")))
moments = st.one_of(
    st.none(), st.sampled_from([f"2026-01-0{day}T00:00:00+00:00" for day in range(1, 7)])
)


@st.composite
def queries(draw):
    return Query.create(
        "q",
        as_of=draw(moments), after=draw(moments), before=draw(moments),
        channels=draw(names), not_channels=draw(names), authors=draw(names), topics=draw(names),
    )  # fmt: skip


@st.composite
def messages(draw):
    letter = st.one_of(st.none(), st.sampled_from("abc"))
    return Message(
        id="m", text="", sent_at=draw(moments.filter(bool)),
        author=draw(letter), channel=draw(letter), topic=draw(letter),
    )  # fmt: skip


@given(queries(), queries(), messages())
def test_a_narrowed_query_admits_what_both_admit(scope, question, message):
    both = Scope(scope).admits(message) and Scope(question).admits(message)
    assert Scope(narrow(scope, question)).admits(message) == both


def test_a_narrowed_query_keeps_the_question():
    assert narrow(Query(text=""), Query(text="q")).text == "q"


@pytest.mark.parametrize(
    ("scoped", "asked", "user"),
    [("ann", None, "ann"), (None, "bo", "bo"), ("ann", "ann", "ann"), (None, None, None)],
)
def test_the_asker_is_the_one_of_the_scope_or_of_the_question(scoped, asked, user):
    narrowed = narrow(Query(text="", asking_user=scoped), Query(text="q", asking_user=asked))
    assert narrowed.asking_user == user


def test_nobody_else_asks_through_a_scope():
    with pytest.raises(AccessError, match="scoped to asking_user='ann'; 'bo' cannot"):
        narrow(Query(text="", asking_user="ann"), Query(text="q", asking_user="bo"))
