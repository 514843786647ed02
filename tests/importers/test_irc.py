"""IRC logs: every style to the same messages; dates, ids and what is skipped."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import ImportReport, read_irc
from tmem_integrations.importers.irc import date_of
from tmem_integrations.importers.irc_lines import NewDate, Said, SystemLine, parse_line

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*lines: str, name: str = "#ops.log") -> Path:
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return path

    return write


WEECHAT = [
    "2026-03-02 09:00:00\t-->\tann (~ann@host.example) has joined #ops",
    "2026-03-02 09:03:00\t@ann\tdisk is full again",
    "2026-03-02 09:04:00\t *\tbo sighs",
    "2026-03-02 09:05:00\t--\tMode #ops [+o bo] by ann",
    "2026-03-03 00:01:00\tbo\tfixed",
]
IRSSI = [
    "--- Log opened Mon Mar 02 09:00:00 2026",
    "09:00 -!- ann [~ann@host.example] has joined #ops",
    "09:03 <@ann> disk is full again",
    "09:04  * bo sighs",
    "09:05 -!- mode/#ops [+o bo] by ann",
    "--- Day changed Tue Mar 03 2026",
    "00:01 < bo> fixed",
    "--- Log closed Tue Mar 03 00:02:00 2026",
]
ZNC = [
    "[09:00:00] *** Joins: ann (~ann@host.example)",
    "[09:03:00] <ann> disk is full again",
    "[09:04:00] * bo sighs",
    "[09:05:00] *** ann sets mode: +o bo",
    "[00:01:00] <bo> fixed",
]
UBOTTU = [
    "=== ann [n=ann@host.example] has joined #ops",
    "[09:03] <ann> disk is full again",
    "[09:04]  * bo sighs",
    "=== bo [n=bo@host.example] has left #ops []",
    "[00:01] <bo> fixed",
]
MIRC = [
    "Session Start: Mon Mar 02 09:00:00 2026",
    "Session Ident: #ops",
    "[09:00] * ann (~ann@host.example) has joined #ops",
    "[09:03] <@ann> disk is full again",
    "[09:04] * bo sighs",
    "[09:05] * ann sets mode: +o bo",
    "[00:01] <bo> fixed",
    "Session Close: Tue Mar 03 00:02:00 2026",
]
LOUNGE = [
    "[2026-03-02T09:00:00.000Z] *** ann (~ann@host.example) joined",
    "[2026-03-02T09:03:00.000Z] <ann> disk is full again",
    "[2026-03-02T09:04:00.000Z] * bo sighs",
    "[2026-03-03T00:01:00.000Z] <bo> fixed",
]


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (WEECHAT, "irc.libera.#ops.weechatlog"),
        (IRSSI, "#ops.log"),
        (ZNC, "#ops_20260302.log"),
        (UBOTTU, "2026-03-02-#ops.txt"),
        (MIRC, "#ops.log"),
        (LOUNGE, "#ops.log"),
    ],
    ids=["weechat", "irssi", "znc", "ubottu", "mirc", "lounge"],
)
def test_every_style_gives_the_same_messages(write: Write, lines: list[str], name: str) -> None:
    messages = list(read_irc(write(*lines, name=name), timezone="UTC"))
    assert [(m.sent_at, m.author, m.text, m.channel) for m in messages] == [
        (datetime(2026, 3, 2, 9, 3, tzinfo=UTC), "ann", "disk is full again", "#ops"),
        (datetime(2026, 3, 2, 9, 4, tzinfo=UTC), "bo", "/me sighs", "#ops"),
        (datetime(2026, 3, 3, 0, 1, tzinfo=UTC), "bo", "fixed", "#ops"),
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[09:00] <ann> *** look", "*** look"),
        ("[09:00] <ann> === title ===", "=== title ==="),
        ("[09:00] <ann> <bo> said so", "<bo> said so"),
        ("[09:00] <ann>  --- Day changed Tue Mar 03 2026", "--- Day changed Tue Mar 03 2026"),
        ("[09:00] * ann has joined the dots", "/me has joined the dots"),
        ("[09:00] <ann> \x0304,01red\x03 and \x02bold\x0f", "red and bold"),
        ("2026-03-02 09:00:00\tann\ta\ttab", "a\ttab"),
    ],
)
def test_what_somebody_says_is_never_a_system_line(line: str, text: str) -> None:
    said = parse_line(line)
    assert isinstance(said, Said)
    assert (said.nick, said.text) == ("ann", text)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "blank line"),
        ("[09:00] -NickServ- This nick is registered", "notice"),
        ("09:00 -ChanServ:#ops- Welcome", "notice"),
        ("[09:00] <ann> ", "empty message"),
        ("[09:00] <ann> \x02\x0f", "empty message"),
        ("[09:00] * ann is now known as anna", "system line"),
        ("--- Log closed Tue Mar 03 00:02:00 2026", "system line"),
    ],
)
def test_what_is_no_message_is_skipped_by_its_reason(line: str, reason: str) -> None:
    assert parse_line(line) == SystemLine(reason)


@pytest.mark.parametrize(
    "line",
    [
        "ann: hi",
        "[25:00] <ann> hi",
        "[09:00] ann hi",
        "2026-02-30 09:00:00\tann\thi",
        "--- Day changed Tue Foo 03 2026",
        "--- Log opened lun. mars 02 09:00:00 2026",
        "[09:00]",
    ],
)
def test_a_line_of_no_style_is_an_error_with_file_and_line(write: Write, line: str) -> None:
    path = write("--- Log opened Mon Mar 02 09:00:00 2026", line)
    with pytest.raises(ImportFormatError, match=r"#ops.log, line 2: expected .*found"):
        list(read_irc(path, timezone="UTC"))


def test_a_clock_that_falls_back_far_has_passed_midnight(write: Write) -> None:
    path = write("[23:59] <ann> a", "[00:01] <ann> b", "[23:50] <ann> c", "[00:00] <ann> d")
    report = ImportReport()
    messages = read_irc(path, timezone="UTC", date=date(2026, 3, 2), report=report)
    assert [m.sent_at.day for m in messages] == [2, 3, 3, 4]
    assert [tally.count for tally in report.warnings.values()] == [2]


def test_a_clock_that_falls_back_an_hour_stays_in_its_day(write: Write) -> None:
    path = write("[02:59] <ann> a", "[02:01] <ann> b")
    messages = read_irc(path, timezone="UTC", date=date(2026, 10, 25))
    assert [m.sent_at.day for m in messages] == [25, 25]


def test_a_quiet_day_after_a_day_change_is_not_skipped(write: Write) -> None:
    path = write(
        "--- Log opened Mon Mar 02 09:00:00 2026",
        "23:00 <ann> a",
        "--- Day changed Tue Mar 03 2026",
        "08:00 <ann> b",
    )
    assert [m.sent_at.day for m in read_irc(path, timezone="UTC")] == [2, 3]


def test_times_without_any_date_ask_for_one(write: Write) -> None:
    with pytest.raises(ImportFormatError, match=r"line 1: expected a date.*--date"):
        list(read_irc(write("[09:00] <ann> hi"), timezone="UTC"))


def test_a_log_without_offsets_asks_for_the_timezone(write: Write) -> None:
    with pytest.raises(ImportFormatError, match=r"line 1: expected a timezone.*timezone="):
        list(read_irc(write("2026-03-02 09:00:00\tann\thi")))


def test_an_offset_in_the_stamp_needs_no_timezone(write: Write) -> None:
    (message,) = read_irc(write("[2026-03-02T09:00:00+01:00] <ann> hi"))
    assert message.sent_at.hour == 9 - 1


def test_the_folder_names_the_channel_where_the_file_does_not(tmp_path: Path) -> None:
    folder = tmp_path / "#dev"
    folder.mkdir()
    (folder / "2026-03-02.log").write_text("[09:00:00] <ann> hi\n")
    (message,) = read_irc(folder / "2026-03-02.log", timezone="UTC")
    assert (message.channel, message.sent_at.day) == ("#dev", 2)


def test_digits_in_a_name_that_are_no_date_are_none() -> None:
    assert date_of(Path("#ops_20269999.log")) is None
    assert date_of(Path("12345678_2026-03-02.log")) == date(2026, 3, 2)


def test_a_given_channel_goes_before_the_name_of_the_file(write: Write) -> None:
    (message,) = read_irc(write(WEECHAT[1]), timezone="UTC", channel="libera/#ops")
    assert message.channel == "libera/#ops"


def test_ids_stay_when_the_log_has_grown(write: Write) -> None:
    before = [m.id for m in read_irc(write(*IRSSI[:4]), timezone="UTC")]
    after = [m.id for m in read_irc(write(*IRSSI), timezone="UTC")]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)


def test_ids_do_not_depend_on_the_timezone(write: Write) -> None:
    path = write(*WEECHAT)
    here, there = ([m.id for m in read_irc(path, timezone=zone)] for zone in ("UTC", "Asia/Tokyo"))
    assert here == there


def test_the_same_words_in_the_same_minute_are_two_messages(write: Write) -> None:
    path = write("[09:00] <ann> +1", "[09:00] <bo> +1", "[09:00] <ann> +1")
    messages = list(read_irc(path, timezone="UTC", date=date(2026, 3, 2)))
    assert len({m.id for m in messages}) == 3


def test_a_line_in_an_old_encoding_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "#ops.log"
    path.write_bytes("[2026-03-02T09:00:00Z] <ann> Grüße\n".encode("cp1252"))
    report = ImportReport()
    (message,) = read_irc(path, report=report)
    assert message.text == "Grüße"
    assert [tally.count for tally in report.warnings.values()] == [1]


def test_what_was_skipped_is_counted_by_reason(write: Write) -> None:
    report = ImportReport()
    list(read_irc(write(*IRSSI), timezone="UTC", report=report))
    assert report.to_dict()["read"] == 3
    assert {k: t.count for k, t in report.skipped.items()} == {"system line": 5}


@given(st.text())
def test_any_text_is_read_or_refused_with_an_import_error(line: str) -> None:
    try:
        parsed = parse_line(line)
    except ImportFormatError:
        return
    assert isinstance(parsed, Said | SystemLine | NewDate)
