"""The verdict cache: what is found again, what is not, and what is forgotten."""

import copy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tmem_integrations.errors import StoreError
from tmem_integrations.messages import Message, Query
from tmem_integrations.models.verdicts import VerdictCache, verdict_key
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.prompts.relations import RelationVerdict

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
QUERY = Query.create("When is the launch?", asking_user="ann", channels=["ops", "dev"])
MESSAGES = (
    Message(id="m1", text="Friday.", sent_at=NOON, author="Ann"),
    Message(id="m2", text="No, Monday.", sent_at=NOON, author="Bo"),
)
VERDICTS = (GateVerdict("c2", "KEY", "Bo says Monday"),)


def key(**changes):
    call = {"model": "a", "prompt_version": "1", "query": QUERY, "candidates": MESSAGES}
    return verdict_key(**call | changes)


@pytest.fixture(params=["file", "memory"])
def cache(request, tmp_path):
    return VerdictCache(tmp_path / "verdicts.db" if request.param == "file" else None)


def test_what_was_put_is_found(cache):
    links = (RelationVerdict("m2", "m1", "UPDATE", 0.9, 0.5), RelationVerdict("m1", None, "NONE", 1.0, 0.0))  # fmt: skip
    cache.put("gate", VERDICTS, ["m1"])
    cache.put("links", links, ["m1"])
    assert cache.get("gate", GateVerdict) == VERDICTS
    assert cache.get("links", RelationVerdict) == links


def test_an_empty_verdict_is_not_an_unknown_one(cache):
    cache.put("k", (), ["m1"])
    assert cache.get("k", GateVerdict) == ()
    assert cache.get("other", GateVerdict) is None


def test_a_second_verdict_takes_the_place_of_the_first(cache):
    cache.put("k", VERDICTS, ["m1"])
    cache.put("k", (), ["m2"])
    assert (cache.get("k", GateVerdict), len(cache)) == ((), 1)
    assert cache.forget(["m1"]) == 0


def test_the_same_call_has_the_same_key():
    again = Query.create("When is the launch?", asking_user="ann", channels=["dev", "ops"])
    assert key() == key(query=again, candidates=list(MESSAGES))


@pytest.mark.parametrize(
    "change",
    [
        {"model": "b"},
        {"prompt_version": "2"},
        {"query": replace(QUERY, text="Why?")},
        {"query": replace(QUERY, asking_user="bo")},
        {"query": replace(QUERY, asking_user=None)},
        {"query": replace(QUERY, channels=frozenset({"ops"}))},
        {"query": replace(QUERY, channels=None, not_channels=QUERY.channels)},
        {"query": replace(QUERY, as_of=NOON)},
        {"candidates": MESSAGES[:1]},
        {"candidates": MESSAGES[::-1]},
        {"candidates": (replace(MESSAGES[0], text="Friday!"), MESSAGES[1])},
        {"candidates": (replace(MESSAGES[0], author="Anna"), MESSAGES[1])},
        {"candidates": (replace(MESSAGES[0], sent_at=NOON + timedelta(seconds=1)), MESSAGES[1])},
        {"candidates": (replace(MESSAGES[0], edited_at=NOON), MESSAGES[1])},
        {"extra": ["c2: c1"]},
    ],
)
def test_any_change_of_a_call_is_another_key(change):
    assert key(**change) != key()


def test_an_edited_or_deleted_message_takes_its_verdicts_with_it(cache):
    cache.put("both", VERDICTS, ["m1", "m2"])
    cache.put("other", VERDICTS, ["m3"])
    assert cache.forget(["m2", "m9"]) == 1
    assert cache.get("both", GateVerdict) is None
    assert cache.get("other", GateVerdict) == VERDICTS


def test_forgetting_many_messages_at_once_is_no_problem(cache):
    cache.put("k", VERDICTS, ["m1500"])
    assert cache.forget([f"m{i}" for i in range(2000)]) == 1


def test_the_file_holds_no_text_and_after_forgetting_no_reason(tmp_path):
    path = tmp_path / "verdicts.db"
    cache = VerdictCache(path)
    cache.put(key(), VERDICTS, [m.id for m in MESSAGES])
    before = path.read_bytes()
    assert b"Bo says Monday" in before
    assert b"No, Monday." not in before
    assert b"launch" not in before
    cache.forget(["m2"])
    left = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"Bo says" not in left


def test_a_restart_finds_everything(tmp_path):
    VerdictCache(tmp_path / "verdicts.db").put("k", VERDICTS, ["m1"])
    assert VerdictCache(tmp_path / "verdicts.db").get("k", GateVerdict) == VERDICTS


def test_another_process_sees_and_forgets_the_same(tmp_path):
    path = tmp_path / "verdicts.db"
    cache = VerdictCache(path)
    cache.put("k", VERDICTS, ["m1"])
    code = (
        "import sys; from tmem_integrations.models.verdicts import VerdictCache; "
        "print(VerdictCache(sys.argv[1]).forget(['m1']))"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)  # fmt: skip
    assert (run.stdout.strip(), cache.get("k", GateVerdict)) == ("1", None)


def test_threads_write_side_by_side(cache):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda i: cache.put(f"k{i}", VERDICTS, [f"m{i}"]), range(40)))
    assert len(cache) == 40


def test_beyond_its_bound_the_oldest_go():
    cache = VerdictCache(max_entries=2)
    for name in ("a", "b", "c"):
        cache.put(name, VERDICTS, ["m1"])
    assert [cache.get(name, GateVerdict) is None for name in ("a", "b", "c")] == [True, False, False]  # fmt: skip
    assert cache.forget(["m1"]) == 2


def test_a_copy_is_the_same_cache(cache):
    copy.deepcopy(cache).put("k", VERDICTS, ["m1"])
    assert copy.copy(cache).get("k", GateVerdict) == VERDICTS


def test_clearing_takes_out_everything(cache):
    cache.put("k", VERDICTS, ["m1"])
    cache.clear()
    assert (len(cache), cache.forget(["m1"])) == (0, 0)


def test_a_file_that_is_no_cache_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "verdicts.db"
    path.write_bytes(b"not a database, but longer than a header of one is" * 20)
    with pytest.raises(StoreError, match="can be deleted"):
        VerdictCache(path)


def test_a_verdict_written_by_another_version_is_asked_for_again(cache):
    cache.put("k", (RelationVerdict("m2", None, "NONE", 1.0, 0.0),), ["m1"])
    assert cache.get("k", GateVerdict) is None


def test_a_file_is_made_by_the_first_verdict_and_not_before(tmp_path):
    path = tmp_path / "verdicts.db"
    cache = VerdictCache(path)
    assert (cache.get("k", GateVerdict), cache.forget(["m1"]), len(cache)) == (None, 0, 0)
    cache.clear()
    assert not path.exists()
    cache.put("k", VERDICTS, ["m1"])
    assert path.exists()


def test_a_file_that_is_removed_meanwhile_is_made_anew(tmp_path):
    cache = VerdictCache(tmp_path / "verdicts.db")
    cache.put("k", VERDICTS, ["m1"])
    (tmp_path / "verdicts.db").unlink()
    assert cache.get("k", GateVerdict) is None
    cache.put("k", VERDICTS, ["m1"])
    assert cache.get("k", GateVerdict) == VERDICTS
