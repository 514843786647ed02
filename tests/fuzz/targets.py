"""What is fuzzed: functions that take any bytes, and fail on what must not happen.

An importer gives messages or an `InputError`, a forest reads back from its text, and a reply of a model
gives checked records. A committed corpus begins each: `corpus/<target>/`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

from tmem_integrations.anticipation.replies import (
    read_boundaries,
    read_description,
    read_filings,
    read_item_triggers,
)
from tmem_integrations.errors import InputError, TextFormatError
from tmem_integrations.hostile import flags_of
from tmem_integrations.importers import (
    IMPORTERS,
    ImportOptions,
    ImportReport,
    detect,
    read_file,
)
from tmem_integrations.messages import Message
from tmem_integrations.models.json_text import find_value
from tmem_integrations.models.replies import read_gate, read_relations
from tmem_integrations.prompts.relations import RelationChild
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import ParentChoice, Relation, grow_forest
from tmem_integrations.stages.linearization import linearize, parse

CORPUS = Path(__file__).parent / "corpus"
PART = b"\n===\n"
"""Between the parts of an input that stands for several files, or several messages."""
# Options that a file may need, each of which the first byte of an input can take away.
_GIVEN = {"timezone": "Europe/Berlin", "date": date(2026, 3, 2), "start": datetime(2026, 3, 2, 9)}
_ORDERS = (None, "dmy", "mdy", "ymd")
_folder = tempfile.TemporaryDirectory(prefix="tmem-fuzz-")


def read_import(name: str, data: bytes) -> None:
    """The first byte chooses the options, the rest is the file."""
    if not data:
        return
    options = _options(name, data[0])
    report = ImportReport()
    with _source(name, data[1:]) as path, suppress(InputError):
        messages = []
        # One by one: what came before an error must be whole as well.
        for message in read_file(path, format=name, options=options, report=report):
            messages.append(message)
            json.dumps(message.to_dict(), ensure_ascii=False).encode()
        assert report.read == len(messages) == len({m.id for m in messages})
        json.dumps(report.to_dict(), ensure_ascii=False)


def _options(name: str, choice: int) -> ImportOptions:
    takes = IMPORTERS[name].options
    given = {
        key: value
        for bit, (key, value) in enumerate(_GIVEN.items())
        if key in takes and not choice >> bit & 1
    }
    if "date_order" in takes:
        given["date_order"] = _ORDERS[choice >> 3 & 3]
    if "make_ids" in takes:
        given["make_ids"] = bool(choice & 64)
    return ImportOptions(skip_bad=bool(choice & 32), **given)


@contextmanager
def _source(name: str, data: bytes) -> Iterator[Path]:
    """The file that holds the bytes; for Slack the folder of an export made of three parts."""
    path = Path(_folder.name, name)
    if name != "slack":
        path.write_bytes(data)
        yield path
        return
    (path / "ops").mkdir(parents=True, exist_ok=True)
    parts = data.split(PART, 2)
    for file, part in zip(
        ("ops/2026-03-02.json", "channels.json", "users.json"), parts, strict=False
    ):
        (path / file).write_bytes(part)
    for file in ("ops/2026-03-02.json", "channels.json", "users.json")[len(parts) :]:
        (path / file).write_bytes(b"[]")
    yield path


def detect_format(data: bytes) -> None:
    """Detection names a format or asks for one."""
    path = Path(_folder.name, "unknown")
    path.write_bytes(data)
    with suppress(InputError):
        assert detect(path) in IMPORTERS


def read_back(data: bytes) -> None:
    """Messages of any text and name, hung below each other: what is written reads back as it was."""
    evidence, choices = [], []
    for index, part in enumerate(data.split(PART)):
        head, _, text = part.partition(b"\n")
        author, role, channel = (*head.decode(errors="replace").split("|", 2), "", "")[:3]
        message = Message(
            id=f"m{index}",
            text=text.decode(errors="replace"),
            sent_at=datetime(2026, 3, 2, tzinfo=UTC) + timedelta(minutes=index),
            author=author,
            role=role or None,
            channel=channel,
        )
        evidence.append(Evidence(message, Label.KEY, 1.0))
        relation = Relation.UPDATE if len(text) % 2 else Relation.EXPAND
        choices.append(ParentChoice(index - 1 - len(head) % 3, relation))
        flags_of(message.text)
    forest = grow_forest(evidence, choices)
    for legend in (False, True):
        written = linearize(forest, legend=legend)
        told = [
            (n.message.author, n.message.role, n.message.channel, n.message.text) for n in forest
        ]
        found = parse(written)
        assert [(n.author, n.role, n.channel, n.text) for n in found] == told
        assert [n.parent for n in found] == [
            None if n.parent is None else n.parent + 1 for n in forest
        ]
        heads = [line for line in written.splitlines() if line and not line.startswith(">")]
        assert len(heads) == len(forest) + legend


def read_outline(data: bytes) -> None:
    """Any text is a linearized forest, or is said not to be."""
    with suppress(TextFormatError):
        parse(data.decode(errors="surrogateescape"))


def read_reply(data: bytes) -> None:
    """What a model answers to each of the questions that it is asked."""
    text = data.decode(errors="replace")
    gate = read_gate(text, ["c1", "c2", "c3"])
    assert {v.label for v in gate.entries} <= {"c1", "c2", "c3"}
    children = [RelationChild("m2", ("m1",)), RelationChild("m3", ("m1", "m2"))]
    links = read_relations(text, children)
    assert all(v.parent in (None, "m1", "m2") and 0 <= v.confidence <= 1 for v in links.entries)
    assert all(0 <= start < 4 for start in read_boundaries(text, 4) or ())
    assert set(read_filings(text, 2, ["t1"]) or ()) <= {0, 1}
    assert set(read_item_triggers(text, 2) or ()) <= {0, 1}
    read_description(text)
    find_value(text)


TARGETS: dict[str, Callable[[bytes], None]] = {
    **{name: partial(read_import, name) for name in IMPORTERS},
    "detection": detect_format,
    "linearization": read_back,
    "outline": read_outline,
    "replies": read_reply,
}
