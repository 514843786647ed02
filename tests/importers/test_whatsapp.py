"""WhatsApp exports: stamps of phones and locales, the order of day and month, what is no message."""

import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import ImportReport, read_whatsapp
from tmem_integrations.messages import Message

Write = Callable[..., Path]
APRIL_3 = datetime(2026, 4, 3, 21, 15, tzinfo=UTC)
MARCH_4 = datetime(2026, 3, 4, 21, 15, tzinfo=UTC)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*lines: str, name: str = "WhatsApp Chat with Trip.txt") -> Path:
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return path

    return write


def read(path: Path, **options: object) -> list[Message]:
    return list(read_whatsapp(path, **{"timezone": "UTC", **options}))


@pytest.mark.parametrize(
    ("line", "order", "sent_at", "author"),
    [
        ("3/4/26, 9:15\u202fPM - Ann: hi", "mdy", MARCH_4, "Ann"),
        ("3/4/2026, 9:15 p. m. - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("3/4/2026, 9:15\xa0p.\xa0m. - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("2026-04-03, 9:15 p.m. - Ann: hi", None, APRIL_3, "Ann"),
        ("03/04/2026, 21:15 - Jean-Luc: hi", "dmy", APRIL_3, "Jean-Luc"),
        ("03/04/2026, 21:15 - +49 170 0000000: hi", "dmy", APRIL_3, "+49 170 0000000"),
        ("[03/04/2026, 21:15:00] Ann: hi", "dmy", APRIL_3, "Ann"),
        ("\u200e[03.04.26, 21:15:00] ~\u202fAnn: hi", "dmy", APRIL_3, "Ann"),
        ("03.04.26, 21:15 - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("٣/٤/٢٠٢٦, ٩:١٥ م - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("٣\u200f/٤\u200f/٢٠٢٦، ٩:١٥ م - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("۲۰۲۶/۴/۳،\u200f ۹:۱۵ ب.ظ. - Ann: hi", None, APRIL_3, "Ann"),
        ("\u200f[3.4.2026, 21:15:00] \u200fאן: hi", "dmy", APRIL_3, "אן"),
        ("\u202b03/04/26, 9:15 अपराह्न - \u202aAnn\u202c: hi", "dmy", APRIL_3, "Ann"),
        ("[2026/4/3 下午9:15:00] Ann: hi", None, APRIL_3, "Ann"),
        ("2026/4/3 下午9:15 - Ann: hi", None, APRIL_3, "Ann"),
        ("2026/4/3 晚上9:15 - 陳大文: hi", None, APRIL_3, "陳大文"),
        ("3/4/2026 下午9:15 - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("2026年4月3日 下午9:15 - Ann: hi", None, APRIL_3, "Ann"),
        ("2026/04/03 21:15 - Ann: hi", None, APRIL_3, "Ann"),
        ("[2026/04/03 21:15:00] Ann: hi", None, APRIL_3, "Ann"),
        ("[2026/04/03 午後9:15:00] 田中: hi", None, APRIL_3, "田中"),
        ("2026년 4월 3일 오후 9:15, Ann : hi", None, APRIL_3, "Ann"),
        ("2026. 4. 3. 오후 9:15 - 김안: hi", None, APRIL_3, "김안"),
        ("[26. 4. 3. 오후 9:15:00] Ann: hi", "ymd", APRIL_3, "Ann"),
        ("03.04.26 à 21:15 - Ann: hi", "dmy", APRIL_3, "Ann"),
        ("[3.4.2026 klo 21.15.00] Ann: hi", "dmy", APRIL_3, "Ann"),
        ("03/04/26 21.15 - Ann: hi", "dmy", APRIL_3, "Ann"),
    ],
)
def test_a_stamp_of_any_phone_is_read(
    write: Write, line: str, order: str | None, sent_at: datetime, author: str
) -> None:
    (message,) = read(write(line), date_order=order)
    assert (message.sent_at, message.author, message.text) == (sent_at, author, "hi")


@pytest.mark.parametrize(
    ("clock", "hour"),
    [
        ("凌晨12:05", 0),
        ("午前0:05", 0),
        ("上午11:05", 11),
        ("中午12:05", 12),
        ("午後0:05", 12),
        ("오후 12:05", 12),
        ("中午1:05", 13),
        ("12:05 a. m.", 0),
    ],
)
def test_noon_and_midnight_are_told_apart_in_every_language(
    write: Write, clock: str, hour: int
) -> None:
    (message,) = read(write(f"2026/4/3 {clock} - Ann: hi"))
    assert (message.sent_at.hour, message.sent_at.minute) == (hour, 5)


def test_a_korean_year_of_two_digits_goes_first(write: Write) -> None:
    path = write("26. 4. 3. 오후 9:15 - Ann: a", "26. 4. 28. 오전 9:15 - Ann: b")
    assert [m.sent_at.day for m in read(path)] == [3, 28]


@pytest.mark.parametrize("date", ["1405/1/14", "3/4/2569", "14.1.1405"])
def test_a_year_of_another_calendar_is_not_taken_for_ours(write: Write, date: str) -> None:
    path = write(f"{date}, 9:15 - Ann: hi")
    if "2569" in date:
        report = ImportReport()
        read(path, date_order="dmy", report=report)
        assert report.warnings["sent in the future"].count == 1
    else:
        with pytest.raises(ImportFormatError, match="Gregorian"):
            read(path)


def test_lines_without_a_stamp_go_on_with_the_message(write: Write) -> None:
    path = write("28/04/2026, 21:15 - Ann: milk", "", "and eggs: six", "28/04/2026, 21:16 - Bo: ok")
    assert [m.text for m in read(path)] == ["milk\n\nand eggs: six", "ok"]


@pytest.mark.parametrize(("date", "month"), [("28/4/26", 4), ("4/28/26", 4)])
def test_a_day_above_twelve_settles_the_order_for_all_dates(
    write: Write, date: str, month: int
) -> None:
    path = write("4/4/26, 9:00 - Ann: a", f"{date}, 9:00 - Ann: b")
    assert [m.sent_at.month for m in read(path)] == [4, month]


def test_time_settles_the_order_of_day_and_month(write: Write) -> None:
    path = write("9/3/26, 9:00 - Ann: a", "2/4/26, 9:00 - Ann: b")
    assert [m.sent_at.day for m in read(path)] == [9, 2]


def test_an_order_that_is_not_settled_is_asked_for(write: Write) -> None:
    with pytest.raises(
        ImportFormatError, match=r"2026-04-03 \(dmy\), 2026-03-04 \(mdy\).*--date-order"
    ):
        read(write("3/4/26, 9:15 PM - Ann: hi"))


def test_dates_that_no_order_fits_are_an_error(write: Write) -> None:
    with pytest.raises(ImportFormatError, match="one order of day and month"):
        read(write("28/4/26, 9:00 - Ann: a", "4/28/26, 9:00 - Ann: b"))


def test_the_zone_is_asked_for(write: Write) -> None:
    with pytest.raises(ImportFormatError, match="timezone"):
        read(write("28/4/26, 9:00 - Ann: a"), timezone=None)


def test_the_hour_that_comes_twice_is_read_in_the_order_of_the_lines(write: Write) -> None:
    path = write(
        "25/10/2026, 02:50 - Ann: first",
        "25/10/2026, 02:10 - Bo: second",
        "25/10/2026, 03:00 - Ann: c",
    )
    report = ImportReport()
    messages = read(path, timezone="Europe/Berlin", report=report)
    assert [m.sent_at.strftime("%H:%M") for m in messages] == ["00:50", "01:10", "02:00"]
    assert report.warnings["time that came twice when clocks were set back"].count == 2


def test_an_hour_that_clocks_skipped_is_told(write: Write) -> None:
    report = ImportReport()
    (message,) = read(write("29/03/2026, 02:30 - Ann: a"), timezone="Europe/Berlin", report=report)
    assert message.sent_at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    assert report.warnings["time that clocks skipped"].count == 1


def test_what_whatsapp_writes_itself_is_skipped(write: Write) -> None:
    path = write(
        "28/4/26, 9:00 - Messages and calls are end-to-end encrypted.",
        '28/4/26, 9:00 - Ann changed the group name from "Plan: A" to "Plan: B"',
        "[28/4/26, 9:00:00] Trip: \u200eAnn created this group",
        "28/4/26, 9:01 - Ann: hi",
    )
    report = ImportReport()
    assert [m.text for m in read(path, report=report)] == ["hi"]
    assert report.skipped["system line"].count == 3


def test_files_are_named_and_left_out_ones_marked(write: Write) -> None:
    path = write(
        "28/4/26, 9:00 - Ann: IMG-20260428-WA0001.jpg (file attached)",
        "[28/4/26, 9:01:00] Ann: \u200e<attached: 0001-plan.pdf>",
        "28/4/26, 9:02 - Ann: <Media omitted>",
        "[28/4/26, 9:03:00] Ann: \u200eimage omitted",
    )
    assert [m.text for m in read(path)] == [
        "[file: IMG-20260428-WA0001.jpg]",
        "[file: 0001-plan.pdf]",
        "[file left out]",
        "[file left out]",
    ]


@pytest.mark.parametrize(
    "text",
    ["<メディアは含まれていません>", "<省略多媒体文件>", "<忽略多媒體檔>", "<미디어 파일을 생략한 대화내용>", "\u200f<המדיה לא נכללה>",
     "<تم استبعاد الوسائط>", "<मीडिया के बिना>", "<Без медиафайлов>"],
)  # fmt: skip
def test_a_file_left_out_is_told_in_every_language(write: Write, text: str) -> None:
    (message,) = read(write(f"28/4/2026, 9:02 - Ann: {text}"))
    assert message.text == "[file left out]"


@pytest.mark.parametrize(
    "text",
    [
        "삭제된 메시지입니다.",
        "此訊息已刪除",
        "このメッセージは削除されました",
        "\u200fتم حذف هذه الرسالة",
    ],
)
def test_a_deletion_is_told_in_every_language(write: Write, text: str) -> None:
    report = ImportReport()
    assert read(write(f"28/4/2026, 9:02 - Ann: {text}"), report=report) == []
    assert len(report.deleted) == 1


def test_an_edit_keeps_the_id_and_a_deletion_tells_it(write: Write) -> None:
    before = read(write("28/4/26, 9:00 - Ann: Friday", "28/4/26, 9:00 - Ann: bye"))
    report = ImportReport()
    after = read(
        write(
            "28/4/26, 9:00 - Ann: Monday <This message was edited>",
            "28/4/26, 9:00 - Ann: This message was deleted",
        ),
        report=report,
    )
    assert [(m.id, m.text) for m in after] == [(before[0].id, "Monday")]
    assert report.deleted == [before[1].id]


def test_a_zip_from_a_phone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat - Trip.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("_chat.txt", "[28/04/2026, 21:15:07] Ann: hi\n")
        file.writestr("0001-PHOTO.jpg", b"x")
    (message,) = read(path)
    assert (message.channel, message.text) == ("Trip", "hi")
