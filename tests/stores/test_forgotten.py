"""What was forgotten in a folder: known by a hash of its id, and by nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tmem_integrations.errors import StoreError
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.forgotten import FILE, ForgottenIds, forgotten_ids_of

ID = "slack/T1/C1/1772442000.000100"
IDS = st.lists(st.sampled_from(["m1", "m2", "m3", "ü\ud800", "a\nb"]), max_size=5)


def test_nothing_is_forgotten_where_there_is_no_file(tmp_path: Path) -> None:
    assert ForgottenIds(tmp_path).among(["m1"]) == frozenset()
    ForgottenIds(tmp_path).add([])
    ForgottenIds(tmp_path).remove(["m1"])
    assert not (tmp_path / FILE).exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.booleans(), IDS), max_size=6))
def test_it_holds_what_was_added_and_not_removed_since(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, list[str]]]
) -> None:
    folder, held = tmp_path_factory.mktemp("forgotten"), set[str]()
    for is_added, ids in steps:
        if is_added:
            ForgottenIds(folder).add(ids)
            held |= set(ids)
        else:
            ForgottenIds(folder).remove(ids)
            held -= set(ids)
    assert ForgottenIds(folder).among(["m1", "m2", "m3", "m4", "ü\ud800", "a\nb"]) == held


def test_the_file_holds_no_id(tmp_path: Path) -> None:
    ForgottenIds(tmp_path).add([ID, "m1"])
    content = (tmp_path / FILE).read_text()
    assert not any(part in content for part in (ID, "slack", "1772442000", "m1"))


def test_whoever_is_killed_while_writing_loses_no_earlier_and_no_later_line(tmp_path: Path) -> None:
    ForgottenIds(tmp_path).add(["m1"])
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"\n0123456789")
    ForgottenIds(tmp_path).add(["m2"])
    assert ForgottenIds(tmp_path).among(["m1", "m2", "m3"]) == {"m1", "m2"}


def test_an_editor_of_another_system_changes_nothing(tmp_path: Path) -> None:
    ForgottenIds(tmp_path).add(["m1", "m2"])
    lines = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(lines.replace(b"\n", b"\r\n"))
    assert ForgottenIds(tmp_path).among(["m1", "m2", "m3"]) == {"m1", "m2"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: lines.upper(),
        lambda lines: lines.replace(b"\n", b""),
        lambda lines: b"\0" + lines,
    ],
    ids=["other letters", "one line", "zeros"],
)
def test_a_damaged_file_is_told_and_brings_nothing_back(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    ForgottenIds(tmp_path).add(["m1", "m2"])
    assert ForgottenIds(tmp_path).problems() == ()
    (tmp_path / FILE).write_bytes(damage((tmp_path / FILE).read_bytes()))
    with pytest.raises(StoreError, match=r"line \d: expected 32 digits of a hash"):
        ForgottenIds(tmp_path).among(["m1"])
    assert len(ForgottenIds(tmp_path).problems()) == 1


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(StoreError, match=FILE):
        ForgottenIds(tmp_path).among(["m1"])


def test_only_a_store_in_a_folder_has_them(tmp_path: Path) -> None:
    with ChromaStore.in_memory() as store:
        assert forgotten_ids_of(store) is None
    with ChromaStore.open(tmp_path / "chat") as store:
        assert forgotten_ids_of(store) is not None
