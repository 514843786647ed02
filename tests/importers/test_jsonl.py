"""JSON lines: what is read, and how a bad line is told."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tmem_integrations.errors import ImportFormatError, MessageError
from tmem_integrations.importers import ImportReport, read_jsonl
from tmem_integrations.messages import Message

Write = Callable[..., Path]
NOON = "2026-03-02T12:00:00+01:00"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*lines: str | dict[str, Any] | bytes) -> Path:
        path = tmp_path / "chat.jsonl"
        with path.open("wb") as file:
            for line in lines:
                if isinstance(line, dict):
                    line = json.dumps(line, ensure_ascii=False)
                file.write((line.encode() if isinstance(line, str) else line) + b"\n")
        return path

    return write


def record(message_id: str = "m1", **values: Any) -> dict[str, Any]:
    return {"id": message_id, "text": "hi", "timestamp": NOON, **values}


def test_a_line_is_a_message(write: Write) -> None:
    path = write(record(author="Ann", channel="ops", reply_to="m0"))
    assert list(read_jsonl(path)) == [
        Message(
            id="m1",
            text="hi",
            sent_at=datetime(2026, 3, 2, 11, tzinfo=UTC),
            author="Ann",
            channel="ops",
            reply_to="m0",
        )
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_fine(write: Write) -> None:
    path = write(b"\xef\xbb\xbf" + json.dumps(record()).encode() + b"\r")
    assert [m.id for m in read_jsonl(path)] == ["m1"]


def test_a_line_separator_inside_a_text_does_not_end_the_line(write: Write) -> None:
    assert [m.text for m in read_jsonl(write(record(text="a\u2028b")))] == ["a\u2028b"]


def test_blank_lines_are_skipped_and_counted(write: Write) -> None:
    report = ImportReport()
    assert len(list(read_jsonl(write(record(), "", "  "), report=report))) == 1
    assert (report.read, report.skipped["blank line"].count) == (1, 2)


def test_columns_map_other_keys_also_inside_objects(write: Write) -> None:
    path = write({"ts": 0, "body": "hi", "user": {"name": "Ann"}, "uid": 7, "texts": "other"})
    columns = {"id": "uid", "text": "body", "timestamp": "ts", "author": "user.name"}
    (message,) = read_jsonl(path, columns=columns)
    assert (message.id, message.text, message.author) == ("7", "hi", "Ann")
    assert message.sent_at == datetime(1970, 1, 1, tzinfo=UTC)


def test_a_key_with_a_dot_goes_before_the_way_into_an_object(write: Write) -> None:
    path = write(record(**{"user.name": "Ann", "user": {"name": "Bo"}}))
    (message,) = read_jsonl(path, columns={"author": "user.name"})
    assert message.author == "Ann"


def test_a_mapped_key_that_a_record_lacks_is_unknown(write: Write) -> None:
    columns = {"author": "user.name", "text": "body"}
    (message,) = read_jsonl(write(record(body="hello", user="Ann")), columns=columns)
    assert (message.text, message.author) == ("hello", None)
    with pytest.raises(ImportFormatError, match="line 1: expected 'text'"):
        list(read_jsonl(write(record()), columns=columns))


def test_a_mapped_key_that_no_line_has_is_warned_of(write: Write) -> None:
    path, report = write(record(), record("m2", user={"name": "Ann"})), ImportReport()
    columns = {"author": "user.name", "channel": "rom"}
    assert [m.author for m in read_jsonl(path, columns=columns, report=report)] == [None, "Ann"]
    assert list(report.warnings) == ["no line has the key 'rom' for channel"]


def test_what_is_missing_is_not_named_among_what_was_found(write: Write) -> None:
    with pytest.raises(
        ImportFormatError, match=r"expected 'text', found the keys \['body', 'id', 't"
    ):
        list(read_jsonl(write(record(text=None, body="hello")), columns={"text": "bodi"}))


def test_columns_can_swap_two_keys(write: Write) -> None:
    (message,) = read_jsonl(
        write(record(text="Ann", author="hi")), columns={"text": "author", "author": "text"}
    )
    assert (message.text, message.author) == ("hi", "Ann")


def test_a_column_for_a_field_we_do_not_have_is_an_error_at_once(write: Write) -> None:
    with pytest.raises(ImportFormatError, match="got 'body'"):
        read_jsonl(write(record()), columns={"body": "text"})


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "expected one JSON object, found '{'"),
        ("[1]", 'expected one JSON object, found .*"jq -c'),
        ('"hi"', "expected one JSON object"),
        ("[" * 100_000, "expected one JSON object"),
        ({"id": "m1", "timestamp": NOON}, r"expected 'text', found the keys \['id', 'timestamp'\]"),
        ({"id": "m1", "text": "hi"}, "expected 'timestamp'"),
        ({"text": "hi", "timestamp": NOON}, "expected 'id'"),
        (record(timestamp="yesterday"), "must be ISO 8601, got 'yesterday'"),
        (record(timestamp="2026-03-02T12:00:00"), "'m1': .*no timezone"),
        (record(timestamp=1772449200000), "milliseconds"),
        (record(text=5), "text must be a str, got 5"),
        ('{"id": "m1", "text": "hi", "timestamp": NaN}', "expected one JSON object"),
        (record(" m1"), "without spaces around it, found ' m1'"),
        (record("   "), "not blank"),
        (record(autor="Ann"), "did you mean 'author'"),
        (b"\xff", "expected UTF-8, found byte 0xff"),
    ],
)
def test_a_bad_line_is_told_with_file_line_expected_and_found(
    write: Write, line: str | dict[str, Any] | bytes, complaint: str
) -> None:
    path = write(record("m0"), line)
    with pytest.raises(ImportFormatError, match=f"chat.jsonl, line 2: .*{complaint}"):
        list(read_jsonl(path))


def test_skip_bad_counts_bad_lines_and_reads_the_others(write: Write) -> None:
    report = ImportReport()
    path = write(record("m0"), "{", b"\xff", record("m1"))
    assert [m.id for m in read_jsonl(path, skip_bad=True, report=report)] == ["m0", "m1"]
    assert report.skipped["bad entry"].count == 2
    assert "line 2: expected one JSON object" in report.skipped["bad entry"].examples[0]


def test_an_id_used_twice_is_an_error_that_names_both_lines(write: Write) -> None:
    path = write(record(text="first"), record(text="second"))
    with pytest.raises(ImportFormatError, match=r"line 2: .*'m1' again, .* at line 1"):
        list(read_jsonl(path))


def test_the_same_line_twice_is_read_once(write: Write) -> None:
    report = ImportReport()
    assert len(list(read_jsonl(write(record(), record()), report=report))) == 1
    assert report.skipped["repeated entry"].count == 1


def test_an_id_with_a_space_inside_is_kept(write: Write) -> None:
    assert [m.id for m in read_jsonl(write(record("D1 3")))] == ["D1 3"]


def test_the_timezone_counts_only_for_times_without_one(write: Write) -> None:
    path = write(record("a"), record("b", timestamp="2026-03-02T12:00:00"))
    times = [m.sent_at.hour for m in read_jsonl(path, timezone="Asia/Tokyo")]
    assert times == [12 - 1, 12 - 9]


def test_an_unknown_timezone_is_an_error_at_once(write: Write) -> None:
    with pytest.raises(MessageError, match="IANA name"):
        read_jsonl(write(record()), timezone="Berlin")


def test_a_reply_to_what_is_not_there_is_a_warning(write: Write) -> None:
    report = ImportReport()
    list(
        read_jsonl(
            write(record("a", reply_to="x"), record("b", reply_to="c"), record("c")), report=report
        )
    )
    (tally,) = report.warnings.values()
    assert tally.count == 1
    assert "'x'" in tally.examples[0]


def test_a_file_that_is_not_there_or_a_folder_is_an_import_error(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="no such file"):
        list(read_jsonl(tmp_path / "none.jsonl"))
    with pytest.raises(ImportFormatError, match="found a folder"):
        list(read_jsonl(tmp_path))


def test_utf_16_is_named(write: Write) -> None:
    with pytest.raises(ImportFormatError, match="found UTF-16"):
        list(read_jsonl(write(json.dumps(record()).encode("utf-16"))))


def test_lines_are_read_as_they_are_needed(write: Write) -> None:
    messages = read_jsonl(write(record("m1"), "{"))
    assert next(messages).id == "m1"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(st.text(st.characters(codec="utf-8"))))
def test_what_to_dict_writes_is_read_back(write: Write, texts: list[str]) -> None:
    time = datetime(2026, 3, 2, tzinfo=UTC)
    history = [Message(id=str(i), text=text, sent_at=time) for i, text in enumerate(texts)]
    assert list(read_jsonl(write(*(m.to_dict() for m in history)))) == history


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(st.binary().filter(lambda b: b"\n" not in b)))
def test_whatever_the_bytes_skip_bad_reads_on(write: Write, lines: list[bytes]) -> None:
    report = ImportReport()
    path = write(b"{}", *lines, record("last"))
    messages = list(read_jsonl(path, skip_bad=True, report=report))
    assert messages[-1].id == "last"
    assert report.read + report.n_skipped == len(lines) + 2
