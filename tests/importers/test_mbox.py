"""Mails: threads, own words apart from quoted ones, odd headers and bodies."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import read_mbox
from tmem_integrations.messages import Message

FROM = "From ann@x.example Mon Mar  2 09:00:00 2026\n"
HEAD = "From: Ann <Ann@x.example>\nDate: Mon, 2 Mar 2026 10:00:00 +0100\n"


def read(tmp_path: Path, *mails: str, **options: str) -> list[Message]:
    path = tmp_path / "dev.mbox"
    path.write_bytes("\n".join(FROM + mail for mail in mails).encode("utf-8", "surrogateescape"))
    return list(read_mbox(path, **options))


def body_of(tmp_path: Path, body: str) -> str:
    (message,) = read(tmp_path, f"{HEAD}\n{body}\n")
    return message.text


def test_a_mail_has_thread_topic_and_author(tmp_path: Path) -> None:
    first = f"{HEAD}Message-ID: <a@x>\nSubject: [dev] launch\n\nwhen?\n"
    answer = f"{HEAD}Message-ID: <b@x>\nIn-Reply-To: <a@x>\nSubject: Re: [dev] launch\n\nFriday\n"
    assert read(tmp_path, first, answer)[1] == Message(
        id="mbox/dev/b@x",
        text="Friday",
        sent_at=datetime(2026, 3, 2, 9, tzinfo=UTC),
        author="Ann",
        author_id="ann@x.example",
        channel="dev",
        topic="launch",
        reply_to="mbox/dev/a@x",
    )


def test_without_in_reply_to_the_last_reference_is_answered(tmp_path: Path) -> None:
    (message,) = read(tmp_path, f"{HEAD}References: <a@x>\n <b@x>\n\nFriday\n")
    assert message.reply_to == "mbox/dev/b@x"


def test_the_quote_at_the_end_and_the_signature_are_left_out(tmp_path: Path) -> None:
    body = "Friday.\n\nOn Mon, 2 Mar 2026, Bo\n<bo@x.example> wrote:\n> when do we ship?\n>\n> Bo\n\n-- \nAnn"
    assert body_of(tmp_path, body) == "Friday."


def test_a_quote_that_is_answered_below_stays(tmp_path: Path) -> None:
    assert body_of(tmp_path, "> when?\nFriday.") == "> when?\nFriday."


def test_a_mail_that_is_only_a_quote_stays(tmp_path: Path) -> None:
    assert body_of(tmp_path, "> when?") == "> when?"


def test_encoded_headers_and_html_bodies_are_read(tmp_path: Path) -> None:
    head = "From: =?utf-8?q?J=C3=BCrgen?= <j@x.example>\nDate: Mon, 2 Mar 2026 09:00:00 -0000\n"
    kind = "MIME-Version: 1.0\nContent-Type: text/html; charset=no-such-charset\n"
    (message,) = read(tmp_path, f"{head}{kind}\n<p>hi <b>all</b></p>\n")
    assert (message.author, message.text) == ("Jürgen", "hi all")


def test_files_of_a_mail_are_named(tmp_path: Path) -> None:
    mail = (
        f'{HEAD}MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n'
        'Content-Type: text/plain\n\nsee\n--b\nContent-Type: application/pdf; name="plan.pdf"\n'
        'Content-Disposition: attachment; filename="plan.pdf"\n\nx\n--b--\n'
    )
    (message,) = read(tmp_path, mail)
    assert message.text == "see\n[file: plan.pdf]"


def test_a_mail_without_an_id_gets_one_that_stays(tmp_path: Path) -> None:
    mail = f"{HEAD}\nhi\n"
    assert read(tmp_path, mail)[0].id == read(tmp_path, f"{HEAD}\nother\n", mail)[1].id


def test_a_mail_without_a_date_is_told_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match='mail 2: expected a header "Date"'):
        read(tmp_path, f"{HEAD}\nhi\n", "From: Bo\n\nhi\n")


def test_a_date_without_a_zone_asks_for_it(tmp_path: Path) -> None:
    mail = "From: Bo <b@x>\nDate: Mon, 2 Mar 2026 09:00:00\n\nhi\n"
    with pytest.raises(ImportFormatError, match="timezone"):
        read(tmp_path, mail)
    assert read(tmp_path, mail, timezone="UTC")[0].sent_at.hour == 9


def test_a_separator_that_is_no_text_is_only_a_separator(tmp_path: Path) -> None:
    path = tmp_path / "dev.mbox"
    path.write_bytes(b"From ann Mon Mar \xff\xff 2026\n" + f"{HEAD}\nhi\n".encode())
    assert [m.text for m in read_mbox(path)] == ["hi"]
