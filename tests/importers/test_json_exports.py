"""Discord, Telegram and Teams: what becomes of each kind of entry."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import ImportReport, read_discord, read_teams, read_telegram
from tmem_integrations.messages import Message

Write = Callable[[Any], Path]
NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)
LATER = datetime(2026, 3, 2, 9, 5, tzinfo=UTC)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(document: Any) -> Path:
        path = tmp_path / "export.json"
        path.write_text(json.dumps(document))
        return path

    return write


# Discord


def discord(*messages: dict[str, Any], guild: str = "1") -> dict[str, Any]:
    return {
        "guild": {"id": guild, "name": "Team"},
        "channel": {"id": "2", "name": "ops", "type": "GuildTextChat"},
        "messages": list(messages),
    }


def posted(message_id: str = "3", **values: Any) -> dict[str, Any]:
    author = {
        "id": "4",
        "name": "ann",
        "nickname": "Ann",
        "isBot": False,
        "roles": [{"name": "QA"}],
    }
    return {
        "id": message_id,
        "type": "Default",
        "timestamp": "2026-03-02T10:00:00+01:00",
        "content": "hi",
        "author": author,
        **values,
    }


def test_a_discord_message_has_all_that_the_export_knows(write: Write) -> None:
    answered = {"messageId": "2", "channelId": "2", "guildId": "1"}
    edited = "2026-03-02T10:05:00+01:00"
    path = write(
        discord(posted("2"), posted(type="Reply", reference=answered, timestampEdited=edited))
    )
    assert list(read_discord(path))[1] == Message(
        id="discord/1/2/3",
        text="hi",
        sent_at=NINE,
        author="Ann",
        author_id="4",
        role="QA",
        channel="ops",
        reply_to="discord/1/2/2",
        edited_at=LATER,
        permalink="https://discord.com/channels/1/2/3",
    )


def test_discord_mentions_emoji_stickers_and_files_are_named(write: Write) -> None:
    bo = {"id": "5", "name": "bo", "nickname": "Bo"}
    path = write(
        discord(
            posted(
                content="<@!5> ship <:rocket:99>",
                mentions=[bo],
                attachments=[{"fileName": "plan.pdf"}],
                stickers=[{"name": "wave"}],
            )
        )
    )
    (message,) = read_discord(path)
    assert message.text == "@Bo ship :rocket:\n[sticker: wave]\n[file: plan.pdf]"


def test_discord_bots_are_told_and_joins_skipped(write: Write) -> None:
    bot = {"id": "6", "name": "ci", "isBot": True}
    report = ImportReport()
    path = write(
        discord(
            posted(author=bot, content="", embeds=[{"title": "Build", "description": "failed"}]),
            posted("8", type="GuildMemberJoin"),
        )
    )
    (message,) = read_discord(path, report=report)
    assert (message.role, message.text) == ("bot", "Build\nfailed")
    assert report.skipped["system message (GuildMemberJoin)"].count == 1


def test_what_a_discord_message_forwards_is_told(write: Write) -> None:
    forwarded = {"content": "we ship on Friday", "attachments": [{"fileName": "plan.pdf"}]}
    path = write(discord(posted(content="", forwardedMessage=forwarded)))
    (message,) = read_discord(path)
    assert message.text == "[forwarded]\nwe ship on Friday\n[file: plan.pdf]"


def test_embeds_are_what_a_bot_says_and_previews_of_what_people_link(write: Write) -> None:
    embeds = [{"title": "Build", "fields": [{"name": "state", "value": "failed"}]}]
    bot = {"id": "6", "name": "ci", "isBot": True}
    path = write(
        discord(posted("1", embeds=embeds), posted("2", embeds=embeds, author=bot, content="done"))
    )
    assert [m.text for m in read_discord(path)] == ["hi", "done\nBuild\nstate: failed"]


def test_a_missing_key_is_told_with_its_place(write: Write) -> None:
    path = write(discord(posted(), {**posted("9"), "author": {"name": "x"}}))
    with pytest.raises(ImportFormatError, match=r"entry 2: expected author.id: field required"):
        list(read_discord(path))


# Telegram


def telegram(*messages: dict[str, Any], **values: Any) -> dict[str, Any]:
    chat = {"name": "Trip", "type": "private_supergroup", "id": 77, **values}
    return {**chat, "messages": list(messages)}


def wrote(message_id: int = 1, **values: Any) -> dict[str, Any]:
    return {
        "id": message_id,
        "type": "message",
        "date": "2026-03-02T10:00:00",
        "date_unixtime": str(int(NINE.timestamp())),
        "from": "Ann",
        "from_id": "user1",
        "text": "hi",
        **values,
    }


def test_a_telegram_message_has_all_that_the_export_knows(write: Write) -> None:
    edited = {"edited": "2026-03-02T10:05:00", "edited_unixtime": str(int(LATER.timestamp()))}
    path = write(telegram(wrote(), wrote(2, reply_to_message_id=1, **edited)))
    assert list(read_telegram(path))[1] == Message(
        id="telegram/77/2",
        text="hi",
        sent_at=NINE,
        author="Ann",
        author_id="user1",
        channel="Trip",
        reply_to="telegram/77/1",
        edited_at=LATER,
        permalink="https://t.me/c/77/2",
    )


def test_telegram_text_in_pieces_polls_and_files_are_read(write: Write) -> None:
    link = {"type": "text_link", "text": "plan", "href": "https://x.example"}
    poll = {"question": "When?", "answers": [{"text": "Mon"}, {"text": "Tue"}]}
    path = write(
        telegram(
            wrote(text=["see the ", link, {"type": "mention", "text": " @bo"}]),
            wrote(2, text="", poll=poll),
            wrote(3, text="", file="files/a.pdf", file_name="plan.pdf"),
            wrote(4, text="", photo="(File not included.)"),
            wrote(5, forwarded_from="Cy"),
        )
    )
    assert [m.text for m in read_telegram(path)] == [
        "see the plan (https://x.example) @bo",
        "[poll: When? (Mon; Tue)]",
        "[file: plan.pdf]",
        "[file]",
        "[forwarded from Cy]\nhi",
    ]


def test_telegram_service_messages_are_skipped(write: Write) -> None:
    report = ImportReport()
    path = write(telegram({**wrote(), "type": "service", "action": "invite_members"}))
    assert list(read_telegram(path, report=report)) == []
    assert report.skipped["system message"].count == 1


def test_the_topics_of_a_telegram_forum_are_topics(write: Write) -> None:
    report = ImportReport()
    opened = {**wrote(5, text=""), "type": "service", "action": "topic_created", "title": "Bugs"}
    path = write(
        telegram(
            opened,
            wrote(6, reply_to_message_id=5),
            wrote(7, reply_to_message_id=6),
            wrote(8),
        )
    )
    found = [(m.topic, m.reply_to) for m in read_telegram(path, report=report)]
    assert found == [("Bugs", None), ("Bugs", "telegram/77/6"), (None, None)]
    assert not report.warnings


def test_an_answer_to_another_telegram_chat_answers_nothing_in_this_one(write: Write) -> None:
    away = wrote(2, reply_to_message_id=1, reply_to_peer_id="channel9")
    assert [m.reply_to for m in read_telegram(write(telegram(wrote(1), away)))] == [None, None]


def test_telegram_places_and_contacts_are_named(write: Write) -> None:
    place = {"latitude": 52.5, "longitude": 13.4}
    person = {"first_name": "Ann", "last_name": "Lee", "phone_number": "+49 1"}
    path = write(
        telegram(
            wrote(1, text="", location_information=place, place_name="Office"),
            wrote(2, text="", contact_information=person),
        )
    )
    assert [m.text for m in read_telegram(path)] == [
        "[location: Office, 52.5, 13.4]",
        "[contact: Ann Lee, +49 1]",
    ]


def test_an_old_telegram_export_asks_for_the_zone(write: Write) -> None:
    path = write(telegram(wrote(date_unixtime=None)))
    with pytest.raises(ImportFormatError, match=r"Trip, entry 1: date .* has no timezone"):
        list(read_telegram(path))
    assert next(read_telegram(path, timezone="Europe/Berlin")).sent_at == NINE


def test_two_telegram_chats_of_one_name_stay_two_channels(write: Write) -> None:
    chats = [telegram(wrote(), id=1), telegram(wrote(), id=2)]
    path = write({"chats": {"about": "", "list": chats}})
    assert [m.channel for m in read_telegram(path)] == ["Trip (1)", "Trip (2)"]


# Teams


def graph(message_id: str = "1", content: str = "<p>hi</p>", **values: Any) -> dict[str, Any]:
    return {
        "id": message_id,
        "messageType": "message",
        "createdDateTime": "2026-03-02T09:00:00Z",
        "from": {"user": {"id": "u1", "displayName": "Ann"}},
        "body": {"contentType": "html", "content": content},
        "channelIdentity": {"teamId": "t1", "channelId": "c1"},
        **values,
    }


def test_a_teams_message_has_all_that_graph_knows(write: Write) -> None:
    reply = graph("2", lastEditedDateTime="2026-03-02T09:05:00Z", webUrl="https://teams.example/2")
    path = write({"value": [graph(replies=[reply])]})
    assert list(read_teams(path, channel="Ops"))[1] == Message(
        id="teams/t1/c1/2",
        text="hi",
        sent_at=NINE,
        author="Ann",
        author_id="u1",
        channel="Ops",
        reply_to="teams/t1/c1/1",
        edited_at=LATER,
        permalink="https://teams.example/2",
    )


def test_teams_html_becomes_text(write: Write) -> None:
    content = (
        '<div>Hi <at id="0">Bo</at> &amp; all,<br>ship <strong>Friday</strong>'
        '<emoji alt="🚀"></emoji><ul><li>a</li><li>b</li></ul></div><attachment id="x"></attachment>'
    )
    files = [{"contentType": "reference", "name": "plan.pdf"}, {"contentType": "messageReference"}]
    (message,) = read_teams(write([graph(content=content, attachments=files)]))
    assert message.text == "Hi @Bo & all,\nship Friday🚀\n- a\n- b\n[file: plan.pdf]"


def test_teams_deletions_events_and_bots_are_told(write: Write) -> None:
    report = ImportReport()
    path = write(
        [
            graph("1", deletedDateTime="2026-03-02T10:00:00Z", body={"content": ""}),
            graph("2", messageType="systemEventMessage"),
            graph("3", **{"from": {"application": {"id": "b", "displayName": "ci"}}}),
        ]
    )
    assert [m.role for m in read_teams(path, report=report)] == ["bot"]
    assert report.deleted == ["teams/t1/c1/1"]
    assert report.skipped["system message (systemEventMessage)"].count == 1


def test_cards_of_apps_and_forwarded_messages_of_teams_are_read(write: Write) -> None:
    facts = {"type": "FactSet", "facts": [{"title": "state", "value": "failed"}]}
    button = {"type": "Action.OpenUrl", "title": "Open"}
    card = {"body": [{"type": "TextBlock", "text": "Build 7"}, facts, button]}
    original = {
        "originalMessageContent": "<p>we ship</p>",
        "originalMessageSender": {"user": {"displayName": "Bo"}},
    }
    attachments = [
        {"contentType": "application/vnd.microsoft.card.adaptive", "content": json.dumps(card)},
        {"contentType": "forwardedMessageReference", "content": json.dumps(original)},
        {"contentType": "application/vnd.microsoft.card.hero", "content": "no JSON"},
    ]
    (message,) = read_teams(write([graph(content="", attachments=attachments)]))
    assert message.text == "Build 7\nstate: failed\n[forwarded from Bo]\nwe ship"


def test_times_too_large_for_any_number_are_told(write: Write) -> None:
    with pytest.raises(ImportFormatError, match="entry 1"):
        list(read_telegram(write(telegram(wrote(date_unixtime="9" * 400)))))
    said = {
        "id": "5",
        "originalarrivaltime": "2026-03-02T09:00:00Z",
        "messagetype": "Text",
        "content": "hi",
    }
    conversation = {"id": "c", "MessageList": [{**said, "properties": {"edittime": "9" * 400}}]}
    with pytest.raises(ImportFormatError, match="edittime"):
        list(read_teams(write({"conversations": [conversation]})))


def test_an_account_export_of_teams_is_read(write: Write) -> None:
    said = {
        "id": "5",
        "displayName": "Ann",
        "from": "8:orgid:1",
        "originalarrivaltime": "2026-03-02T09:00:00.000Z",
        "messagetype": "RichText/Html",
        "content": "<p>hi</p>",
        "properties": {"edittime": str(int(LATER.timestamp() * 1000))},
    }
    gone = {**said, "id": "6", "properties": {"deletetime": "1"}}
    event = {**said, "id": "7", "messagetype": "ThreadActivity/AddMember"}
    conversation = {
        "id": "19:x@thread.v2",
        "displayName": "Ops",
        "MessageList": [said, gone, event],
    }
    report = ImportReport()
    (message,) = read_teams(write({"conversations": [conversation]}), report=report)
    assert (message.channel, message.text, message.edited_at) == ("Ops", "hi", LATER)
    assert report.deleted == ["teams/-/19:x@thread.v2/6"]


def test_lone_surrogates_in_an_export_become_replacement_characters(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(telegram(wrote(text="a\ud83d"))))
    assert next(read_telegram(path)).text == "a\ufffd"
