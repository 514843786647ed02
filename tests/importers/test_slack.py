"""Slack exports: people and channels by name, threads, edits, tombstones, bots."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import ImportReport, detect, read_slack

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
USERS = [
    {"id": "U1", "team_id": "T1", "name": "ann", "profile": {"display_name": "Ann"}},
    {"id": "U2", "team_id": "T1", "name": "bo", "profile": {"display_name": "", "real_name": "Bo"}},
    {"id": "U3", "team_id": "T1", "name": "ci", "is_bot": True},
]
CHANNELS = [{"id": "C1", "name": "ops", "members": ["U1", "U2"]}]


def ts(minute: int = 0) -> str:
    return f"{(NOON + timedelta(minutes=minute)).timestamp():.6f}"


def said(minute: int = 0, text: str = "hi", **values: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "ts": ts(minute), "text": text, **values}


def export(tmp_path: Path, *days: list[Any], **more: Any) -> Path:
    """The folder of an export; days count from the last to the first."""
    files: dict[str, Any] = {"users.json": USERS, "channels.json": CHANNELS, **more}
    for number, day in enumerate(days):
        files[f"ops/2026-03-{28 - number:02}.json"] = day
    for name, content in files.items():
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return tmp_path / "export"


def test_a_message_has_its_people_channel_and_a_stable_id(tmp_path: Path) -> None:
    (message,) = read_slack(export(tmp_path, [said(permalink="https://t.slack.com/p1")]))
    assert message.id == f"slack/T1/C1/{ts()}"
    assert (message.author, message.author_id, message.channel) == ("Ann", "U1", "ops")
    assert (message.sent_at, message.permalink) == (NOON, "https://t.slack.com/p1")


def test_a_reply_in_the_file_of_another_day_finds_its_message(tmp_path: Path) -> None:
    report = ImportReport()
    path = export(tmp_path, [said(0)], [said(60, thread_ts=ts(0)), said(90, thread_ts=ts(90))])
    replies = {m.id: m.reply_to for m in read_slack(path, report=report)}
    assert replies[f"slack/T1/C1/{ts(60)}"] == f"slack/T1/C1/{ts(0)}"
    assert replies[f"slack/T1/C1/{ts(90)}"] is None
    assert not report.warnings


def test_mentions_channels_links_and_escapes_are_resolved(tmp_path: Path) -> None:
    text = "<@U2> see <#C1|> and <https://x.example/1|the plan> &lt;b&gt; <!subteam^S1|@sre> <@U9>"
    (message,) = read_slack(export(tmp_path, [said(text=text)]))
    assert message.text == "@Bo see #ops and the plan (https://x.example/1) <b> @sre @U9"


def test_an_edit_tells_its_time(tmp_path: Path) -> None:
    (message,) = read_slack(export(tmp_path, [said(edited={"user": "U1", "ts": ts(5)})]))
    assert message.edited_at == NOON + timedelta(minutes=5)


def test_a_tombstone_is_a_deleted_message_and_a_join_a_system_message(tmp_path: Path) -> None:
    report = ImportReport()
    day = [
        said(subtype="tombstone", text="This message was deleted."),
        said(1, subtype="channel_join"),
    ]
    assert list(read_slack(export(tmp_path, day), report=report)) == []
    assert report.deleted == [f"slack/T1/C1/{ts()}"]
    assert report.skipped["system message (channel_join)"].count == 1


@pytest.mark.parametrize(
    "values",
    [
        {"subtype": "bot_message", "user": None, "bot_id": "B1", "username": "deploy"},
        {"user": "U3"},
        {"user": None, "bot_id": "B1", "username": "deploy"},
    ],
)
def test_a_bot_is_told_as_such(tmp_path: Path, values: dict[str, Any]) -> None:
    (message,) = read_slack(export(tmp_path, [said(**values)]))
    assert message.role == "bot"


def test_files_are_named_and_attachments_of_bots_are_their_text(tmp_path: Path) -> None:
    path = export(
        tmp_path,
        [
            said(text="see", files=[{"name": "plan.pdf"}]),
            said(
                1,
                text="",
                subtype="bot_message",
                attachments=[{"title": "Build", "text": "failed"}],
            ),
        ],
    )
    assert [m.text for m in read_slack(path)] == ["see\n[file: plan.pdf]", "Build\nfailed"]


def test_a_huddle_is_told_by_who_began_it_and_is_what_its_thread_answers(tmp_path: Path) -> None:
    start = NOON.timestamp()
    room = {"created_by": "U1", "participant_history": ["U1", "U2"], "date_start": start}
    huddle = said(
        text="", user="USLACKBOT", subtype="huddle_thread", room={**room, "date_end": start + 1020}
    )
    report = ImportReport()
    path = export(tmp_path, [huddle, said(5, text="notes", thread_ts=ts())])
    first, second = read_slack(path, report=report)
    assert (first.author, first.text) == ("Ann", "[huddle: Ann, Bo; 17 min]")
    assert second.reply_to == first.id
    assert not report.warnings


@pytest.mark.parametrize("end", [1e308, -5, 0])
def test_a_huddle_without_a_length_is_told_without_one(tmp_path: Path, end: float) -> None:
    room = {"participant_history": ["U1"], "date_start": -1e308, "date_end": end}
    (message,) = read_slack(export(tmp_path, [said(subtype="huddle_thread", room=room)]))
    assert message.text == "[huddle: Ann]"


def test_a_huddle_that_never_ends_is_a_bad_entry(tmp_path: Path) -> None:
    huddle = said(subtype="huddle_thread", room={"date_end": "1e400"})
    with pytest.raises(ImportFormatError, match=r"entry 1: expected room.date_end"):
        list(read_slack(export(tmp_path, [huddle])))


def test_blocks_are_read_where_an_app_says_nothing_else(tmp_path: Path) -> None:
    run = {
        "type": "rich_text_section",
        "elements": [{"type": "text", "text": "ask "}, {"type": "user", "user_id": "U2"}],
    }
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Build 7"}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "<#C1|> is red"}]},
        {"type": "rich_text", "elements": [run]},
    ]
    path = export(tmp_path, [said(text="", blocks=blocks), said(1, text="hi", blocks=blocks)])
    assert [m.text for m in read_slack(path)] == ["Build 7\n#ops is red\nask @Bo", "hi"]


@pytest.mark.parametrize("blocks", [7, "x", [None], [{"type": []}], [{"elements": {"text": 1}}]])
def test_blocks_that_are_none_say_nothing(tmp_path: Path, blocks: object) -> None:
    assert [
        m.text for m in read_slack(export(tmp_path, [said(blocks=blocks, text=""), said(1)]))
    ] == ["hi"]


def test_attachments_beside_text_are_a_bots_words_and_previews_of_what_people_link(
    tmp_path: Path,
) -> None:
    shown = {"title": "Build", "text": "failed"}
    preview = {**shown, "from_url": "https://x.example"}
    path = export(
        tmp_path,
        [
            said(attachments=[preview]),
            said(1, user="U3", attachments=[shown, preview]),
            said(2, files=[{"id": "F1", "mode": "tombstone"}]),
        ],
    )
    assert [m.text for m in read_slack(path)] == ["hi", "hi\nBuild\nfailed", "hi"]


def test_members_are_reported_for_access_control(tmp_path: Path) -> None:
    report = ImportReport()
    list(read_slack(export(tmp_path, [said()]), report=report))
    assert report.members == {"ops": ["U1", "U2"]}


def test_a_zip_with_the_export_in_a_folder_reads_like_the_folder(tmp_path: Path) -> None:
    folder = export(tmp_path, [said()])
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as file:
        for found in folder.rglob("*.json"):
            file.write(found, f"My export/{found.relative_to(folder).as_posix()}")
    assert detect(path) == detect(folder) == "slack"
    assert list(read_slack(path)) == list(read_slack(folder))


def test_a_bad_time_is_told_with_its_place(tmp_path: Path) -> None:
    path = export(tmp_path, [said(), {**said(), "ts": "yesterday"}])
    with pytest.raises(
        ImportFormatError,
        match=r"ops/2026-03-28.json, entry 2: expected \"ts\" as seconds, found 'yesterday'",
    ):
        list(read_slack(path))
    assert len(list(read_slack(path, skip_bad=True))) == 1
