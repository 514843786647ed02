"""The registry and detection: a format is recognised, or asked for, never guessed."""

import json
import pkgutil
import zipfile
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

from tmem_integrations import importers
from tmem_integrations.errors import ImportFormatError
from tmem_integrations.importers import IMPORTERS, Importer, ImportOptions, detect, read_file

MODULES = list(pkgutil.iter_modules(importers.__path__))
SAMPLES = {
    "jsonl": '{"id": "m1", "text": "hi", "timestamp": "2026-03-02T09:00:00Z"}\n',
    "csv": "id,text,timestamp\nm1,hi,2026-03-02T09:00:00Z\n",
    "irc": "--- Log opened Mon Mar 02 09:00:00 2026\n09:00 <ann> hi\n",
    "whatsapp": "28/02/2026, 21:15 - Ann: hi\n",
    "mbox": "From ann@x.example Mon Mar  2 09:00:00 2026\nFrom: Ann <ann@x.example>\n"
    "Date: Mon, 2 Mar 2026 09:00:00 +0000\nSubject: launch\n\nhi\n",
    "vtt": "WEBVTT\n\n00:00:03.120 --> 00:00:06.480\n<v Ann>hi</v>\n",
    "discord": '{"guild": {"id": "1", "name": "g"}, "channel": {"id": "2", "name": "c"}, "messages": '
    '[{"id": "3", "timestamp": "2026-03-02T09:00:00Z", "content": "hi", "author": {"id": "4", "name": "a"}}]}',
    "telegram": '{"name": "Trip", "type": "private_group", "id": 1, "messages": [{"id": 2, "type": '
    '"message", "date": "2026-03-02T09:00:00", "from": "Ann", "text": "hi"}]}',
    "teams": '{"value": [{"id": "1", "messageType": "message", "createdDateTime": '
    '"2026-03-02T09:00:00Z", "body": {"contentType": "html", "content": "<p>hi</p>"}}]}',
}


def write_sample(name: str, folder: Path) -> Path:
    """A file of a format under a name that tells nothing."""
    path = folder / "export.txt"
    if name == "slack":
        said = [{"type": "message", "ts": "1772442000.000100", "user": "U1", "text": "hi"}]
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("channels.json", '[{"id": "C1", "name": "ops"}]')
            file.writestr("ops/2026-03-02.json", json.dumps(said))
    else:
        path.write_text(SAMPLES[name])
    return path


def test_every_importer_module_is_registered_under_its_name() -> None:
    found = {m.name: import_module(f"{importers.__name__}.{m.name}") for m in MODULES}
    assert {
        name: module.IMPORTER for name, module in found.items() if hasattr(module, "IMPORTER")
    } == dict(IMPORTERS)
    assert all(importer.name == name for name, importer in IMPORTERS.items())


def test_every_importer_has_a_public_reader() -> None:
    assert all(f"read_{name}" in importers.__all__ for name in IMPORTERS)


@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_a_sample_of_every_format_is_recognised_whatever_its_name(
    tmp_path: Path, name: str
) -> None:
    path = write_sample(name, tmp_path)
    assert detect(path) == name
    given = {"timezone": "UTC", "start": "2026-03-02T09:00"}
    takes = IMPORTERS[name].options
    options = ImportOptions(**{key: value for key, value in given.items() if key in takes})
    assert [m.text for m in read_file(path, options=options)] == ["hi"]


def test_a_bad_line_does_not_hide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "export.txt"
    path.write_text(SAMPLES["jsonl"] + "{\n")
    assert detect(path) == "jsonl"
    path.write_text(SAMPLES["irc"] * 3 + "(log rotated)\n")
    assert detect(path) == "irc"


@pytest.mark.parametrize("header", ["date,who,body", "body|date", "text;date"])
def test_a_csv_under_other_names_is_recognised_by_the_columns_given(
    tmp_path: Path, header: str
) -> None:
    path = tmp_path / "export.txt"
    path.write_text(f"{header}\n2026-03-02T09:00:00Z,ann,hi\n")
    columns = (("timestamp", "date"), ("text", "body"), ("author", "who"))
    assert detect(path, columns=columns) == "csv"
    with pytest.raises(ImportFormatError, match=r"of a CSV, say which columns.*--column text=…"):
        detect(path)
    with pytest.raises(ImportFormatError, match="--format"):
        detect(path, columns=(("timestamp", "when"),))


def test_a_csv_without_ids_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "export.txt"
    path.write_text("text,sent_at\nhi,2026-03-02T09:00:00Z\n")
    assert detect(path) == "csv"


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"Dear diary,\n", b"\x00\x01\x02", b'[{"id": 1}]', "{}".encode("utf-16")],
)
def test_what_no_importer_recognises_is_asked_for(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "export.txt"
    path.write_bytes(content)
    with pytest.raises(ImportFormatError, match=r"formats jsonl, csv.*--format"):
        detect(path)


def test_what_two_importers_recognise_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Importer("twin", "", lambda path: True, IMPORTERS["jsonl"].read, frozenset())
    monkeypatch.setattr(importers, "IMPORTERS", {**IMPORTERS, "twin": twin})
    path = tmp_path / "export.txt"
    path.write_text(SAMPLES["jsonl"])
    with pytest.raises(ImportFormatError, match=r"signs of jsonl and twin.*--format"):
        detect(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="nothing there"):
        detect(tmp_path / "none")


def test_an_unknown_format_is_told_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match=r"one of jsonl, csv.*got 'signal'"):
        read_file(tmp_path / "x", format="signal")


def test_an_option_that_a_format_does_not_take_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(SAMPLES["jsonl"])
    with pytest.raises(ImportFormatError, match="jsonl takes no date"):
        read_file(path, options=ImportOptions(date=date(2026, 3, 2)))


def test_a_format_that_is_named_is_not_detected(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("Dear diary,\n")
    with pytest.raises(ImportFormatError, match="line 1: expected a line of an IRC log"):
        list(read_file(path, format="irc"))
