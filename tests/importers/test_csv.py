"""CSV: headers, separators, cells over several lines, times as numbers."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import read_csv


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "chat.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_cells_are_separated_as_the_header_is(tmp_path: Path, separator: str) -> None:
    rows = [["id", "text", "timestamp", "author"], ["1", "hi", "2026-03-02T09:00:00Z", "Ann"]]
    path = write(tmp_path, "".join(f"{separator.join(row)}\n" for row in rows))
    (message,) = read_csv(path)
    assert (message.id, message.text, message.author) == ("1", "hi", "Ann")


def test_a_quoted_cell_goes_over_lines_and_an_empty_one_is_unknown(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,text,timestamp,author\n1,"a\nb, ""c""",0,\n2,x,0,Bo\n')
    first, second = read_csv(path)
    assert (first.text, first.author) == ('a\nb, "c"', None)
    assert second.id == "2"


def test_times_may_be_seconds_and_columns_be_mapped(tmp_path: Path) -> None:
    path = write(tmp_path, "no;body;ts\n7;hi;1772442000\n")
    (message,) = read_csv(path, columns={"id": "no", "text": "body", "timestamp": "ts"})
    assert message.sent_at == datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_a_bad_row_is_told_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,text,timestamp\n1,"a\nb",0\n2,hi,yesterday\n')
    with pytest.raises(ImportFormatError, match=r"line 4: .*ISO 8601, got 'yesterday'"):
        list(read_csv(path))
    assert len(list(read_csv(path, skip_bad=True))) == 1


def test_a_cell_of_a_megabyte_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, f"id,text,timestamp\n1,{'x' * 1_000_000},0\n")
    assert len(next(read_csv(path)).text) == 1_000_000


def test_a_mapped_column_that_the_header_lacks_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "id,text,timestamp,who\nm1,hello,1772442000,Ann\n")
    columns = {"author": "whom"}
    with pytest.raises(
        ImportFormatError, match=r"the column 'whom' for author, found \['id'.*'who'"
    ):
        list(read_csv(path, columns=columns))


def test_columns_of_one_name_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="a name for each column"):
        list(read_csv(write(tmp_path, "id,text,text,timestamp\n")))


def test_a_number_with_a_control_character_beside_it_is_a_number(tmp_path: Path) -> None:
    path = write(tmp_path, "id,text,timestamp\n1,hi,1772442000\x1d\n")
    assert [m.sent_at for m in read_csv(path)] == [datetime(2026, 3, 2, 9, tzinfo=UTC)]
