"""Whatever a file holds, an importer gives messages or one clear error, and detection never fails otherwise."""

import json
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tmem_integrations.errors import InputError
from tmem_integrations.importers import IMPORTERS, ImportOptions, ImportReport, detect, read_file

NAMES = sorted(IMPORTERS)
# Pieces that lead deep into the parsers.
PIECES = st.sampled_from(
    [
        "3/4/26, 9:15\u202fPM - Ann: ", "[28/04/2026, 21:15:07] ", "31/31/31, 99:99 - x: y", "\u200e", "\n",
        "From x Mon Mar  2 09:00:00 2026\n", "From: a\n", "Date: Mon, 2 Mar 2026 09:00:00 +0100\n", "\n\n",
        "Content-Type: multipart/mixed; boundary=b\n", "--b\n", "Content-Type: text/html\n",
        "Content-Transfer-Encoding: base64\n", "=?utf-8?q?=FF?=", "Subject: =?x?b?!?=\n", "Message-ID: <>\n",
        "WEBVTT\n\n", "00:00:03.120 --> 00:00:06.480\n", "99999:59:59.999 --> 0:0:0.0\n", "<v Ann>", "a/1-0\n", "Ann: ",
        "id,text,timestamp\n", '"', ",", "1,2,3\n", "12:00 <a> b\n", "<p><at>", "</div>", "&#xD800;", "\x00", "\ud800",
    ]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = [
    "id", "type", "name", "date", "date_unixtime", "text", "from", "from_id", "file", "poll", "edited", "ts",
    "user", "subtype", "thread_ts", "files", "attachments", "timestamp", "content", "author", "embeds",
    "reference", "mentions", "createdDateTime", "messageType", "body", "replies", "messagetype", "properties",
    "originalarrivaltime", "chats", "messages", "value", "guild", "channel", "conversations", "MessageList",
]  # fmt: skip
LIKELY = st.sampled_from(
    [
        "message",
        "2026-03-02T09:00:00Z",
        "1772442000",
        "Default",
        "9" * 400,
        "nan",
        "<p>x</p>",
        "RichText/Html",
    ]
)
RECORDS = st.dictionaries(st.sampled_from(KEYS), VALUES | LIKELY, max_size=10)


def assert_messages_or_one_clear_error(name: str, content: bytes) -> None:
    """Read as strictly and as forgivingly as possible; anything but an `InputError` comes through."""
    importer = IMPORTERS[name]
    for skip_bad in (False, True):
        options = ImportOptions(
            timezone="Europe/Berlin" if "timezone" in importer.options else None,
            date_order="dmy" if "date_order" in importer.options else None,
            start="2026-03-02T09:00" if "start" in importer.options else None,
            make_ids=skip_bad and "make_ids" in importer.options,
            skip_bad=skip_bad,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "2026-03-02.log"
            path.write_bytes(content)
            report = ImportReport()
            try:
                messages = list(read_file(path, format=name, options=options, report=report))
            except InputError:
                continue
            assert report.read == len(messages) == len({m.id for m in messages})


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.binary(max_size=300))
def test_bytes_give_messages_or_a_clear_error(name: str, content: bytes) -> None:
    assert_messages_or_one_clear_error(name, content)


@pytest.mark.parametrize("name", ["csv", "irc", "mbox", "vtt", "whatsapp"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pieces=st.lists(PIECES | st.text(max_size=6), max_size=12))
def test_pieces_of_logs_give_messages_or_a_clear_error(name: str, pieces: list[str]) -> None:
    assert_messages_or_one_clear_error(name, "".join(pieces).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("name", ["discord", "telegram", "teams"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=st.lists(RECORDS | VALUES, max_size=4), top=RECORDS)
@example(items=[], top={"chats": {"list": [1]}})
def test_json_of_any_shape_gives_messages_or_a_clear_error(
    name: str, items: list[object], top: dict[str, object]
) -> None:
    head = {
        "guild": {"id": 1, "name": "g"},
        "channel": {"id": 2, "name": "c"},
        "id": 3,
        "type": "x",
    }
    for key in ("messages", "value"):
        assert_messages_or_one_clear_error(name, json.dumps({**head, **top, key: items}).encode())
    assert_messages_or_one_clear_error(
        name, json.dumps({"conversations": [{"id": "1", "MessageList": items}]}).encode()
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=st.lists(RECORDS | VALUES, max_size=4), users=st.lists(RECORDS | VALUES, max_size=2))
def test_any_slack_day_gives_messages_or_a_clear_error(
    items: list[object], users: list[object]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.zip"
        for people in ([], users):
            with zipfile.ZipFile(path, "w") as file:
                file.writestr("channels.json", '[{"id": "C1", "name": "ops"}]')
                file.writestr("users.json", json.dumps(people))
                file.writestr("ops/2026-03-02.json", json.dumps(items))
            assert_messages_or_one_clear_error("slack", path.read_bytes())


@settings(max_examples=100, deadline=None)
@given(
    content=st.binary(max_size=200)
    | st.lists(PIECES).map(lambda p: "".join(p).encode(errors="replace"))
)
def test_detection_names_a_format_or_asks_for_it(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        try:
            name = detect(path)
        except InputError:
            return
        assert name in IMPORTERS


def test_html_nested_as_deep_as_somebody_likes_is_read() -> None:
    from tmem_integrations.importers.html_text import text_of_html

    assert text_of_html("<div>" * 50_000 + "hi") == "hi"
