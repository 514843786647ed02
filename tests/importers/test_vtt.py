"""Meeting transcripts: who said what and when, in one go or not, and when the meeting began."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tmem_integrations.errors import ImportFormatError, MessageError
from tmem_integrations.importers import ImportReport, read_vtt
from tmem_integrations.messages import Message

Write = Callable[..., Path]
NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*cues: str, name: str = "Weekly sync.vtt") -> Path:
        path = tmp_path / name
        path.write_text("\n\n".join(("WEBVTT", *cues)) + "\n", encoding="utf-8")
        return path

    return write


def cue(start: float, end: float, *lines: str) -> str:
    def stamp(seconds: float) -> str:
        return f"00:{int(seconds) // 60:02}:{seconds % 60:06.3f}"

    return "\n".join((f"{stamp(start)} --> {stamp(end)}", *lines))


def read(path: Path, **options: object) -> list[Message]:
    return list(read_vtt(path, **{"start": NINE, **options}))


def said(path: Path, **options: object) -> list[tuple[str | None, str]]:
    return [(m.author, m.text) for m in read(path, **options)]


def test_a_voice_tag_tells_the_speaker_and_the_offset_the_time(write: Write) -> None:
    (message,) = read(write(cue(63.5, 65, "<v Ann Lee>So we ship", "on Friday.</v>")))
    assert message == Message(
        id="vtt/Weekly sync/2026-03-02T09:00:00+00:00/63.500",
        text="So we ship on Friday.",
        sent_at=NINE + timedelta(seconds=63.5),
        author="Ann Lee",
        channel="Weekly sync",
    )


def test_names_before_the_words_tell_the_speakers_where_most_cues_have_them(write: Write) -> None:
    path = write(
        "1\n" + cue(0, 2, "Ann Lee: Morning."),
        "2\n" + cue(9, 11, "Bo: One thing: the budget."),
        "3\n" + cue(20, 21, "(laughter)"),
    )
    assert said(path) == [
        ("Ann Lee", "Morning."),
        ("Bo", "One thing: the budget."),
        (None, "(laughter)"),
    ]


def test_a_colon_is_no_speaker_where_voices_are_tagged(write: Write) -> None:
    path = write(cue(0, 2, "<v Ann>Agenda: the budget</v>"), cue(9, 11, "Note: recorded"))
    assert said(path) == [("Ann", "Agenda: the budget"), (None, "Note: recorded")]


def test_a_colon_now_and_then_is_no_speaker(write: Write) -> None:
    path = write(cue(0, 2, "we have"), cue(9, 11, "two topics: budget"), cue(20, 21, "and dates"))
    assert {author for author, _ in said(path)} == {None}


def test_what_somebody_says_without_a_pause_is_one_message(write: Write) -> None:
    path = write(
        cue(0, 2, "<v Ann>We ship</v>"),
        cue(2.5, 4, "<v Ann>on Friday.</v>"),
        cue(4, 5, "<v Bo>Ok.</v>"),
        cue(5, 6, "<v Ann>Good.</v>"),
        cue(20, 21, "<v Ann>Next.</v>"),
    )
    assert said(path) == [
        ("Ann", "We ship on Friday."),
        ("Bo", "Ok."),
        ("Ann", "Good."),
        ("Ann", "Next."),
    ]


def test_a_long_speech_is_several_messages(write: Write) -> None:
    path = write(*(cue(i, i + 1, f"<v Ann>{i}</v>") for i in range(130)))
    assert [len(m.text.split()) for m in read(path)] == [60, 60, 10]


def test_speech_of_nobody_known_is_not_joined(write: Write) -> None:
    path = write(cue(0, 1, "we ship on"), cue(1, 2, "no, we do not"))
    assert said(path) == [(None, "we ship on"), (None, "no, we do not")]


def test_parts_of_an_utterance_are_one_though_others_speak_between(write: Write) -> None:
    path = write(
        "c83a7d7c-1/11-0\n" + cue(3, 9, "<v Ann>The question is whether</v>"),
        "c83a7d7c-1/10-0\n" + cue(4, 5, "<v Bo>Next time.</v>"),
        "c83a7d7c-1/11-1\n" + cue(9, 12, "<v Ann>we ship.</v>"),
        "c83a7d7c-1/12-0\n" + cue(12, 13, "<v Ann>Or wait.</v>"),
    )
    messages = read(path)
    assert [m.text for m in messages] == [
        "The question is whether we ship.",
        "Next time.",
        "Or wait.",
    ]
    assert messages[0].id.endswith("/c83a7d7c-1/11")


def test_two_voices_of_a_cue_are_two_messages_with_ids_of_their_own(write: Write) -> None:
    messages = read(write(cue(1, 2, "<v Ann>Friday?</v> <v.loud Bo>No!</v>")))
    assert [(m.author, m.text, m.id[-7:]) for m in messages] == [
        ("Ann", "Friday?", "0/1.000"),
        ("Bo", "No!", "1.000/2"),
    ]


def test_tags_and_escapes_are_resolved(write: Write) -> None:
    path = write(cue(0, 1, "<v Ann &amp; Co><i>R&amp;D</i> <00:00:00.500>is &lt;5 %</v>"))
    assert said(path) == [("Ann & Co", "R&D is <5 %")]


def test_comments_styles_settings_and_empty_cues_are_no_messages(write: Write) -> None:
    report = ImportReport()
    path = write(
        "NOTE duration:00:10\nlanguage:en",
        "STYLE\n::cue { color: red }",
        "00:01.000 --> 00:02.000 align:start position:0%\n<v Ann>hi</v>",
        cue(3, 4, "<v Bo></v>"),
    )
    assert said(path, report=report) == [("Ann", "hi")]
    assert {reason: tally.count for reason, tally in report.skipped.items()} == {
        "comment or style": 2,
        "empty message": 1,
    }


def test_the_beginning_is_asked_for(write: Write) -> None:
    with pytest.raises(ImportFormatError, match=r"when the recording began.*--start"):
        read(write(cue(0, 1, "<v Ann>hi</v>")), start=None)


def test_the_zone_of_the_beginning_is_asked_for(write: Write) -> None:
    path = write(cue(0, 1, "<v Ann>hi</v>"))
    with pytest.raises(MessageError, match="timezone"):
        read(path, start="2026-03-02 10:00")
    (message,) = read(path, start="2026-03-02 10:00", timezone="Europe/Berlin")
    assert message.sent_at == NINE


def test_the_name_that_zoom_gives_tells_the_beginning(write: Write) -> None:
    path = write(cue(0, 1, "Ann: hi"), name="GMT20260302-090000_Recording.transcript.vtt")
    (message,) = read(path, start=None)
    assert (message.sent_at, message.channel) == (NINE, "GMT20260302-090000_Recording")


def test_meetings_of_one_name_have_ids_of_their_own(write: Write) -> None:
    path = write(cue(0, 1, "<v Ann>hi</v>"))
    (first,), (second,) = read(path), read(path, start=NINE + timedelta(days=7))
    assert first.id != second.id


def test_a_bad_cue_is_told_with_its_line(write: Write) -> None:
    path = write(cue(0, 1, "<v Ann>hi</v>"), "soon --> later\n<v Bo>yes</v>")
    with pytest.raises(ImportFormatError, match=r"line 6: expected \"00:00:03.120 --> .*'soon"):
        read(path)
    report = ImportReport()
    assert said(path, skip_bad=True, report=report) == [("Ann", "hi")]
    assert report.skipped["bad entry"].count == 1
