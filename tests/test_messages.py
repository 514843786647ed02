"""Messages, questions and scope."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.errors import MessageError, QueryError
from tmem_integrations.messages import Message, Query, Scope, read_messages
from tmem_integrations.times import from_microseconds, to_microseconds

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def message(**fields: object) -> Message:
    return Message(**{"id": "m1", "text": "hi", "sent_at": NOON, **fields})


def test_times_are_kept_in_utc():
    berlin = timezone(timedelta(hours=1))
    assert message(sent_at=datetime(2026, 3, 2, 13, tzinfo=berlin)).sent_at == NOON
    assert message(sent_at=datetime(2026, 3, 2, 13, tzinfo=berlin)).sent_at.tzinfo is UTC


def test_a_naive_time_needs_a_zone_and_the_error_names_the_message():
    record = {"id": "C01/17", "text": "x", "timestamp": "2026-01-05T12:00:00"}
    with pytest.raises(MessageError, match=r"'C01/17': sent_at .* has no timezone; pass timezone="):
        Message.from_dict(record)
    assert Message.from_dict(record, timezone="Europe/Berlin").sent_at.hour == 12 - 1


def test_one_time_with_offset_and_one_without_are_told_apart():
    records = [
        {"id": "a", "text": "x", "timestamp": "2026-07-01T12:00:00+02:00"},
        {"id": "b", "text": "x", "timestamp": "2026-07-01T12:00:00"},
    ]
    a, b = read_messages(records, timezone="UTC")
    assert b.sent_at - a.sent_at == timedelta(hours=2)
    with pytest.raises(MessageError, match="'b'"):
        read_messages(records)


@pytest.mark.parametrize("bad", [None, 3, message()])
def test_what_is_no_sequence_of_messages_is_an_error(bad: object):
    with pytest.raises(MessageError, match="messages one after the other"):
        read_messages(bad)


def test_milliseconds_are_not_taken_for_seconds():
    with pytest.raises(MessageError, match="milliseconds"):
        Message.from_dict({"id": "a", "text": "x", "timestamp": 1_700_000_000_000})


@pytest.mark.parametrize("bad", [None, True, "yesterday", float("nan"), [], ""])
def test_what_is_no_time_is_an_error(bad: object):
    with pytest.raises(MessageError, match="'a'"):
        Message.from_dict({"id": "a", "text": "x", "timestamp": bad})


@pytest.mark.parametrize("bad", ["", "  ", None, 1.5, True, "a\x00"])
def test_an_id_is_a_text_or_an_integer(bad: object):
    with pytest.raises(MessageError):
        Message.from_dict({"id": bad, "text": "x", "timestamp": 0})


def test_an_id_may_hold_spaces_and_integers_become_text():
    assert Message.from_dict({"id": "a b", "text": "x", "timestamp": 0}).id == "a b"
    assert Message.from_dict({"id": 7, "text": "x", "timestamp": 0, "reply_to": 6}).reply_to == "6"


def test_lone_surrogates_and_nul_become_replacement_characters():
    assert message(text="a\ud83d\x00b", author="A\udc00").text == "a\ufffd\ufffdb"
    assert message(author="A\udc00").author == "A\ufffd"
    assert message(stage="\ud800").stage == "\ufffd"


def test_unknown_stays_none():
    m = Message.from_dict({"id": "a", "text": "", "timestamp": 0, "author": None})
    assert m.author is None
    assert m.to_dict() == {"id": "a", "text": "", "timestamp": "1970-01-01T00:00:00+00:00"}


def test_a_misspelt_key_is_an_error_and_a_foreign_one_is_not():
    with pytest.raises(MessageError, match="did you mean 'author'"):
        Message.from_dict({"id": "a", "text": "x", "timestamp": 0, "auther": "Ann"})
    assert Message.from_dict({"id": "a", "text": "x", "timestamp": 0, "reactions": 3}).id == "a"


def test_a_record_survives_the_round_trip():
    m = message(author="Ann", stage="plan", phase_order=2, edited_at=NOON + timedelta(hours=1))
    assert Message.from_dict(m.to_dict()) == m


@given(st.datetimes(timezones=st.just(UTC)))
def test_microseconds_are_exact(time: datetime):
    assert from_microseconds(to_microseconds(time)) == time


def test_as_of_hides_what_came_later_and_what_was_edited_later():
    scope = Scope(Query.create("q", as_of=NOON))
    assert scope.admits(message())
    assert not scope.admits(message(sent_at=NOON + timedelta(microseconds=1)))
    assert not scope.admits(message(edited_at=NOON + timedelta(hours=1)))


def test_not_in_a_channel_never_admits_an_unknown_channel():
    scope = Scope(Query.create("q", not_channels="secret"))
    assert scope.admits(message(channel="general"))
    assert not scope.admits(message(channel="secret"))
    assert not scope.admits(message(channel=None))


def test_access_control_hides_a_message_without_channel():
    assert not Scope(Query(text="q"), frozenset({"a"})).admits(message())
    assert Scope(Query(text="q"), frozenset({"a"})).admits(message(channel="a"))


def test_authors_match_by_name_or_id():
    scope = Scope(Query.create("q", authors="U7"))
    assert scope.admits(message(author="Anna", author_id="U7"))
    assert not scope.admits(message(author="Bo", author_id="U8"))


@pytest.mark.parametrize(
    "filters",
    [
        {"as_of": "soon"},
        {"as_of": "2026-01-01"},
        {"channels": [1]},
        {"channels": 3},
        {"asking_user": 7},
    ],
)
def test_a_filter_of_the_wrong_kind_is_an_error(filters: dict[str, object]):
    with pytest.raises(QueryError):
        Query.create("q", **filters)


@pytest.mark.parametrize("field", ["timestamp", "edited_at", "phase_order", "stage"])
def test_a_number_too_large_for_any_number_is_told(field):
    record = {"id": "m1", "text": "hi", "timestamp": 0} | {field: 10**400}
    with pytest.raises(MessageError, match="m1"):
        Message.from_dict(record)
