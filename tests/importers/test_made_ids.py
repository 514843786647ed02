"""Ids made where a file has none: the same when a longer export is read, and no two alike."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import ImportOptions, read_csv, read_file, read_jsonl
from tmem_integrations.importers.diff import Comparison
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message

HEADER = ["text", "timestamp", "author", "channel"]
NINE, TEN = "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"
ROWS = [
    ["we ship on Friday", NINE, "Ann", "ops"],
    ["ok", NINE, "Bo", "ops"],
    ["ok", NINE, "Bo", "ops"],  # said twice
    ["ok", NINE, "Bo", "board"],
    ["ok", TEN, "Bo", "ops"],
    ["ok", NINE, "Ann", "ops"],
]


def write(path: Path, rows: list[list[str]], header: list[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read(path: Path) -> list[Message]:
    return list(read_csv(path, make_ids=True))


def test_every_message_gets_an_id_of_its_own(tmp_path: Path) -> None:
    messages = read(write(tmp_path / "chat.csv", ROWS))
    assert [m.text for m in messages] == [row[0] for row in ROWS]
    assert len({m.id for m in messages}) == len(ROWS)
    assert all(m.id.startswith("csv/") for m in messages)


@given(st.lists(st.sampled_from(ROWS), max_size=12), st.lists(st.sampled_from(ROWS), max_size=6))
def test_a_longer_export_has_the_same_ids_and_more(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], more: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("made", numbered=True)
    first = read(write(folder / "march.csv", rows))
    assert read(write(folder / "april.csv", [*rows, *more]))[: len(rows)] == first


def test_order_of_columns_way_of_writing_times_and_name_of_the_file_change_no_id(
    tmp_path: Path,
) -> None:
    first = read(write(tmp_path / "a.csv", [["hi", NINE, "Ann", "ops"]]))
    other = ["Ann", "ops", "2026-03-02 10:00:00+01:00", "hi"]
    again = read(
        write(tmp_path / "b.csv", [other], header=["author", "channel", "timestamp", "text"])
    )
    assert again == first


def test_importing_a_longer_export_again_adds_what_is_new_and_an_edit_is_new(
    tmp_path: Path,
) -> None:
    memory = TemporalMemory.from_messages(read(write(tmp_path / "a.csv", ROWS[:3])))
    edited = [["we ship on Monday", *ROWS[0][1:]], *ROWS[1:]]
    comparison = Comparison(memory.store)
    comparison.take(read(write(tmp_path / "b.csv", edited)))
    diff = comparison.finish()
    assert (diff.new, diff.edited, diff.unchanged) == (1 + 3, 0, 2)
    assert len(diff.gone) == 1  # what the edited one was; --mirror removes it


def test_an_id_that_is_there_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [["7", "hi", NINE], ["", "ho", NINE]], ["id", "text", "timestamp"])  # fmt: skip
    first, second = read(path)
    assert (first.id, second.id.startswith("csv/")) == ("7", True)


def test_channels_of_two_workspaces_share_no_id(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ROWS[:1])
    ids = {
        one.id
        for name in (None, "acme", "umbrella")
        for one in read_file(path, options=ImportOptions(make_ids=True, workspace=name))
    }
    assert len(ids) == 3


def test_jsonl_takes_it_as_well(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps({"text": "ok", "timestamp": NINE}) + "\n" for _ in "ab"))
    first, second = read_jsonl(path, make_ids=True)
    assert second.id == f"{first.id}-2"


def test_without_it_the_error_names_both_ways_out(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.csv", ROWS)
    with pytest.raises(ImportFormatError, match=r"line 2: expected 'id', .*--column id=…; .*--make-ids"):  # fmt: skip
        list(read_file(path))


def test_a_row_that_cannot_be_read_takes_no_number(tmp_path: Path) -> None:
    rows = [["hi", NINE, "Ann", "ops"], ["hi", "soon", "Ann", "ops"], ["hi", NINE, "Ann", "ops"]]
    path = write(tmp_path / "chat.csv", rows)
    with pytest.raises(ImportFormatError, match="line 3: Message 'without id': sent_at must be"):
        read(path)
    forgiving = list(read_csv(path, make_ids=True, skip_bad=True))
    assert forgiving == read(write(tmp_path / "good.csv", [rows[0], rows[2]]))
