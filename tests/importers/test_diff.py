"""Importing again: a diff, not a copy, and nothing removed that the import does not cover."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmem_integrations.errors import ImportFormatError, StoreError
from tmem_integrations.importers import ImportOptions, ImportReport, read_file
from tmem_integrations.importers.diff import (
    Comparison,
    ImportDiff,
    no_longer_forgotten,
    to_be_stored,
)
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.stores.chroma import ChromaStore

NINE = datetime(2026, 3, 2, 9, tzinfo=UTC)


def said(name: str, minute: int, text: str = "hi", **values: Any) -> Message:
    sent_at = NINE + timedelta(minutes=minute)
    return Message(id=name, text=text, sent_at=sent_at, **{"channel": "ops", **values})


@pytest.fixture
def store() -> ChromaStore:
    store = ChromaStore.in_memory()
    store.upsert([said("a", 0), said("b", 10), said("c", 20), said("d", 30)])
    return store


def compare(
    store: ChromaStore | None, *messages: Message, deleted: tuple[str, ...] = ()
) -> ImportDiff:
    comparison = Comparison(store)
    for message in messages:
        comparison.take([message])
    return comparison.finish(deleted)


def test_without_a_store_all_is_new() -> None:
    assert compare(None, said("a", 0)).to_dict()["new"] == 1


def test_an_edit_a_late_reply_and_a_message_that_is_gone_are_told_apart(store: ChromaStore) -> None:
    diff = compare(
        store,
        said("a", 0),
        said("b", 10, "no, Monday", edited_at=NINE + timedelta(hours=2)),
        said("reply", 11, reply_to="b"),
        said("d", 30, author="Ann"),
        said("e", 40),
    )
    assert diff.to_dict() == {
        "new": 2, "late": 1, "edited": 1, "changed": 1, "unchanged": 1, "older": 0,
        "forgotten": 0, "gone": 1,
    }  # fmt: skip
    assert (diff.gone, diff.edited_ids) == (("c",), ["b"])


def test_outside_the_time_that_was_read_nothing_is_gone(store: ChromaStore) -> None:
    assert compare(store, said("b", 10), said("c", 20)).gone == ()


def test_in_other_channels_nothing_is_gone(store: ChromaStore) -> None:
    assert compare(store, said("x", 0, channel="dev"), said("y", 60, channel="dev")).gone == ()


def test_what_came_from_another_source_is_not_gone(store: ChromaStore) -> None:
    store.upsert([said("slack/T/C/1", 15)])
    diff = compare(store, said("a", 0), said("b", 10), said("c", 20), said("d", 30))
    assert diff.gone == ()


def test_without_a_channel_nothing_is_gone() -> None:
    store = ChromaStore.in_memory()
    store.upsert([said(name, minute, channel=None) for minute, name in enumerate("abc")])
    assert compare(store, said("a", 0, channel=None), said("c", 2, channel=None)).gone == ()


def test_what_the_source_says_was_deleted_is_gone(store: ChromaStore) -> None:
    assert compare(store, said("a", 0), deleted=("d", "never stored")).gone == ("d",)


def test_an_old_export_undoes_no_edit() -> None:
    store = ChromaStore.in_memory()
    edited = said("a", 0, "Monday", edited_at=NINE + timedelta(hours=1))
    store.upsert([edited])
    assert compare(store, said("a", 0, "Friday")).to_dict()["older"] == 1
    assert to_be_stored(store, [said("a", 0, "Friday"), edited]) == [edited]


@settings(max_examples=30, deadline=None)
@given(
    before=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5), max_size=6),
    after=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 5), max_size=6),
)
def test_every_message_read_is_counted_once(before: dict[str, int], after: dict[str, int]) -> None:
    store = ChromaStore.in_memory()
    store.upsert([said(name, ord(name), f"text {n}") for name, n in before.items()])
    read = [said(name, ord(name), f"text {n}") for name, n in after.items()]
    diff = compare(store, *read)
    assert diff.new == len(after.keys() - before.keys())
    assert diff.new + diff.edited + diff.unchanged == len(after)
    assert set(diff.gone) <= before.keys() - after.keys()


def of_workspace(team: str, channel_id: str, name: str = "general", number: int = 1) -> Message:
    return said(f"slack/{team}/{channel_id}/177.{number}", number, channel=name)


def test_channels_of_one_name_in_two_workspaces_do_not_become_one() -> None:
    store = ChromaStore.in_memory()
    store.upsert([of_workspace("T1", "C1")])
    with pytest.raises(
        ImportFormatError, match=r"'general' of slack/T2/C9 .* slack/T1/C1.*--workspace"
    ):
        compare(store, of_workspace("T2", "C9"))
    with pytest.raises(ImportFormatError, match="--workspace"):
        compare(None, of_workspace("T1", "C1"), of_workspace("T2", "C1", number=2))
    with pytest.raises(ImportFormatError, match=r"telegram/7 .* slack/T1/C1"):
        compare(store, said("telegram/7/1", 2, channel="general"))


def test_the_same_channel_again_and_channels_of_other_names_are_fine() -> None:
    store = ChromaStore.in_memory()
    store.upsert([of_workspace("T1", "C1")])
    again = of_workspace("T1", "C1", number=2)
    renamed = of_workspace("T1", "C1", "everybody", 3)
    named = of_workspace("T2", "C9", "acme/general")
    assert compare(store, again, renamed, named).new == 3


def test_messages_with_ids_of_one_s_own_go_where_they_say() -> None:
    store = ChromaStore.in_memory()
    store.upsert([of_workspace("T1", "C1")])
    assert (
        compare(store, said("m", 2, channel="general"), said("c/1", 3, channel="general")).new == 2
    )


def test_a_workspace_is_put_before_channels_and_their_members(tmp_path: Path) -> None:
    log = tmp_path / "ops.jsonl"
    records = [said("m", 0).to_dict(), said("n", 1, channel=None).to_dict()]
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    report = ImportReport(members={"ops": ["U1"]})
    read = read_file(log, options=ImportOptions(workspace="acme"), report=report)
    assert [m.channel for m in read] == ["acme/ops", None]
    assert report.members == {"acme/ops": ["U1"]}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TemporalMemory]:
    """A memory in a folder that has forgotten one of its two messages."""
    store = ChromaStore.open(tmp_path / "chat")
    memory = TemporalMemory.from_messages([said("a", 0), said("b", 10)], store=store)
    assert memory.forget(ids=["a"]).ids == ("a",)
    yield memory
    memory.close()


def test_what_was_forgotten_is_left_out_of_later_exports(folder: TemporalMemory) -> None:
    store = cast("ChromaStore", folder.store)
    export = [said("a", 0), said("b", 10), said("c", 20)]
    diff = compare(store, *export)
    assert (diff.forgotten, diff.new, diff.unchanged) == (1, 1, 1)
    assert [m.id for m in to_be_stored(store, export)] == ["b", "c"]
    # An edit of it is it, too.
    assert to_be_stored(store, [said("a", 0, "hello")]) == []


def test_what_was_forgotten_is_brought_back_where_that_is_wanted(folder: TemporalMemory) -> None:
    store = cast("ChromaStore", folder.store)
    comparison = Comparison(store, bring_back=True)
    comparison.take([said("a", 0)])
    assert (comparison.finish().new, comparison.diff.forgotten) == (1, 0)
    back = to_be_stored(store, [said("a", 0)], bring_back=True)
    folder.add(back)
    no_longer_forgotten(store, back)
    folder.delete(["a"])
    assert compare(store, said("a", 0)).new == 1


def test_a_message_that_was_added_anew_is_compared_as_ever(folder: TemporalMemory) -> None:
    folder.add([said("a", 0)])
    edited = said("a", 0, "hello")
    diff = compare(cast("ChromaStore", folder.store), edited)
    assert (diff.edited, diff.forgotten) == (1, 0)
    assert to_be_stored(folder.store, [edited]) == [edited]


def test_what_is_deleted_and_not_forgotten_comes_again(folder: TemporalMemory) -> None:
    folder.delete(["b"])
    assert compare(cast("ChromaStore", folder.store), said("b", 10)).new == 1


def test_a_dry_run_and_a_reader_forget_nothing(folder: TemporalMemory, tmp_path: Path) -> None:
    folder.forget(ids=["b"], dry_run=True)
    with ChromaStore.open(tmp_path / "chat", read_only=True) as store:
        with pytest.raises(StoreError):
            TemporalMemory(store).forget(ids=["b"])
        assert compare(store, said("a", 0), said("b", 10)).forgotten == 1
    folder.delete(["b"])
    assert compare(cast("ChromaStore", folder.store), said("b", 10)).new == 1
