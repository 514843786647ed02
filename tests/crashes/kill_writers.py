"""Kill a writer at a random moment, again and again, and see what is left.

usage: python tests/crashes/kill_writers.py [--rounds 200] [--seed 0] [--step add]

A round runs a fixed list of writes (add, edit, delete, forget, close) in a process of its own, with a memory
that anticipates beside the messages, and ends it with SIGKILL somewhere between its start and its end. Then
the folder is opened again: every index must hold the same messages, and nothing may be derived from what is
gone or was edited. The writes are run again from the start: exactly the right messages must be there, each
filed once, and questions must find what they find in a folder that was never killed, now and as of before the
edits. Prints a line for every round that fails and a summary; exit code 1 when one failed. Needs fork.

--step delete kills while messages are deleted only, so that every round counts for that step.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from tmem_integrations.anticipation.ledger import Ledger, fingerprint
from tmem_integrations.anticipation.memory import AnticipatoryMemory
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.protocols import FILED, Vectors
from tmem_integrations.stores.chroma import ChromaStore

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
N_MESSAGES = 60
STEPS = ("add", "edit", "delete", "forget", "close")
QUESTIONS = ("when do we ship number 7", "who has the budget", "number 31")
BEFORE_EDITS = START + timedelta(hours=12)


class LetterEmbedder:
    """Counts letters: quick, and the same in every process."""

    name = "letters"

    def embed(self, texts: Sequence[str]) -> Vectors:
        counts = np.array([[text.count(letter) + 0.1 for letter in "aeioutns"] for text in texts])
        unit: Vectors = (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)
        return unit

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        return self.embed(texts)


def history() -> list[Message]:
    return [
        Message(
            id=f"m{i}",
            text=f"we ship number {i} with the budget of {'abc'[i % 3]}",
            sent_at=START + timedelta(minutes=i),
            author=f"author{i % 5}",
            channel=("general", "board")[i % 2],
        )
        for i in range(N_MESSAGES)
    ]


def open_both(store: ChromaStore) -> tuple[TemporalMemory, AnticipatoryMemory]:
    """The memory of messages, and the one that files what the first one stores."""
    embedder = LetterEmbedder()
    filed = AnticipatoryMemory(TemporalMemory(store, embedder=embedder))
    return TemporalMemory(store, embedder=embedder, associative=filed), filed


def misfiled(filed: AnticipatoryMemory) -> list[str]:
    """What is derived from messages that are not there, or not like that any more."""
    ledger = filed.ledger
    there = filed.store.get(filed.store.ids(Scope()))
    stale = [
        one
        for one, turn in ledger.turns.items()
        if one not in there or turn.fingerprint != fingerprint(there[one])
    ]
    kinds = (ledger.scenes, ledger.items, ledger.scene_triggers, ledger.persona)
    sources = {one for kind in kinds for record in kind.values() for one in record.message_ids}
    return [*(f"derived from old {one}" for one in stale), *(sources - there.keys())]


def unfiled(filed: AnticipatoryMemory) -> list[str]:
    """What is there and not filed, or not wholly."""
    ledger, there = filed.ledger, set(filed.store.ids(Scope()))
    told = Counter(one for scene in ledger.scenes.values() for one in scene.message_ids)
    wrong = [one for one in there if told[one] != 1 or one not in ledger.turns]
    left = [s.id for s in ledger.scenes.values() if s.id not in ledger.persona_read]
    return [
        *(f"filed {told[one]} times: {one}" for one in wrong),
        *(f"not done: {s}" for s in left),
    ]


def write_all(folder: Path, tell: Callable[[str], None]) -> None:
    """The writes of a round; running them again from the start gives the same end."""
    memory, filed = open_both(ChromaStore.open(folder))
    said = history()
    tell("add")
    for start in range(0, N_MESSAGES, 20):
        memory.add(said[start : start + 20])
    assert memory.verdicts is not None
    memory.verdicts.put("key", [GateVerdict(1, "KEY", "budget")], [m.id for m in said[:10]])
    tell("edit")
    edited = START + timedelta(days=1)
    memory.update([replace(m, text=f"{m.text}, not a", edited_at=edited) for m in said[5:25]])
    tell("delete")
    memory.delete([m.id for m in said[20:35]])
    tell("forget")
    memory.forget(authors="author3")
    tell("close")
    filed.close()


def state(folder: Path) -> dict[str, Any]:
    """All that can be seen of a folder."""
    store = ChromaStore.open(folder, read_only=True)
    filed = AnticipatoryMemory(TemporalMemory(store, embedder=LetterEmbedder()))
    memory = filed.history
    ids = store.ids(Scope())
    vectors = vectors_of(store, ids)
    vectors_then = vectors_of(store, ids, BEFORE_EDITS)
    seen = {
        "messages": sorted(map(repr, store.get(ids).values())),
        "vectors": vectors,
        "vectors then": vectors_then,
        "answers": [memory.retrieve(question).text for question in QUESTIONS],
        "answers then": [memory.retrieve(q, as_of=BEFORE_EDITS).text for q in QUESTIONS],
        "judged": sorted(memory.verdicts.message_ids()) if memory.verdicts else [],
        "problems": [*store.check(), *misfiled(filed), *unfiled(filed)],
        # m31 is among those that are deleted.
        "files that hold it still": [
            path.name
            for path in folder.rglob("*")
            if path.is_file() and b"ship number 31 " in path.read_bytes()
        ],
    }
    filed.close()
    return seen


def vectors_of(
    store: ChromaStore, ids: Sequence[str], as_of: datetime | None = None
) -> dict[str, list[float]]:
    """Vectors of the messages that there were, by id."""
    view = store.view(Scope(Query.create("which?", as_of=as_of)))
    rows = view.rows_of(sorted(ids))
    vectors = view.vectors(rows)
    if vectors is None:
        return {}
    names = [m.id if m else "" for m in view.load(rows)]
    return dict(zip(names, np.round(vectors, 4).tolist(), strict=True))


def in_child(work: Callable[[], None]) -> int:
    """Run in a forked process; its id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def result_of(work: Callable[[], Any], scratch: Path) -> Any:
    """What `work` returns, run in a process of its own: this one must open no store before it forks."""
    path = scratch / "result.json"
    path.unlink(missing_ok=True)
    _, status = os.waitpid(in_child(lambda: void(path.write_text(json.dumps(work())))), 0)
    if status:
        return {"problems": ["reading failed, see the traceback above"]}
    return json.loads(path.read_text())


def void(_: object) -> None:
    return


def run_writes(folder: Path) -> dict[str, float]:
    """Run the writes to their end; how long each step took, in seconds, once the folder was open."""
    begun: dict[str, float] = {}
    told = start_writes(folder)
    with told.pipe:
        for line in told.pipe:
            begun[line.strip()] = time.monotonic()
    _, status = os.waitpid(told.pid, 0)
    if status:
        raise SystemExit("The writes fail by themselves; see the traceback above.")
    ends = [*begun.values(), time.monotonic()][1:]
    return {step: end - begun[step] for step, end in zip(begun, ends, strict=True)}


def kill_writes(folder: Path, seconds: float, *, after: str | None) -> str:
    """Run the writes and kill them some time after they began a step; what was going on."""
    told = start_writes(folder)
    step = "opening"
    with told.pipe:
        if after is not None:
            step = next((line.strip() for line in told.pipe if line.strip() == after), "the end")
        time.sleep(seconds)
        os.kill(told.pid, signal.SIGKILL)
        _, status = os.waitpid(told.pid, 0)
        for line in told.pipe:
            step = line.strip()
    return "after the end" if status == 0 else step


class Started(NamedTuple):
    """A process that writes, and where it tells what it does, a line for each step."""

    pid: int
    pipe: IO[str]


def start_writes(folder: Path) -> Started:
    reader, writer = os.pipe()

    def tell(step: str) -> None:
        os.write(writer, f"{step}\n".encode())

    pid = in_child(lambda: write_all(folder, tell))
    os.close(writer)
    return Started(pid, os.fdopen(reader))


def reopened(folder: Path) -> dict[str, Any]:
    """Problems after a kill: opened to write, as whoever goes on would."""
    with ChromaStore.open(folder) as store:
        problems = [*store.check(), *derived_of_nothing(store)]
        _, filed = open_both(store)
        problems += misfiled(filed)
        filed.close()
        return {"problems": problems}


def derived_of_nothing(store: ChromaStore) -> list[str]:
    """What lies there made of messages that are not there, or not with the words it was made of."""
    ledger = Ledger(store.derived, read_only=True)
    scenes = {scene.id: scene.message_ids for scene in ledger.scenes.values()}
    as_filed = {
        one
        for one, message in store.get(ledger.turns).items()
        if ledger.turns[one].fingerprint == fingerprint(message)
    }
    whole = {one for one, ids in scenes.items() if as_filed.issuperset(ids)}
    return [
        f"{row.key} is of what is gone: {row.body:.80}"
        for row in store.derived.rows()
        if row.kind != FILED and not whole.issuperset(row.made_of)
    ]


def run_round(
    folder: Path, seconds: float, wanted: dict[str, Any], scratch: Path, *, after: str | None
) -> tuple[str, list[str]]:
    """Write, kill, open again, write again; what was killed, and what is wrong then."""
    moment = kill_writes(folder, seconds, after=after)
    problems: list[str] = []
    # A folder killed while it was made holds nothing to read yet; writing goes on all the same.
    if (folder / "chroma.sqlite3").exists():
        problems += result_of(lambda: reopened(folder), scratch)["problems"]
    run_writes(folder)
    found = result_of(lambda: state(folder), scratch)
    problems += [key for key in wanted if found.get(key) != wanted[key]]
    shutil.rmtree(folder)
    return moment, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--step", choices=STEPS)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    killed: Counter[str] = Counter()
    n_failed = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        took = run_writes(scratch / "never killed")
        wanted = result_of(lambda: state(scratch / "never killed"), scratch)
        if wanted["problems"] or not wanted["answers"]:
            raise SystemExit(f"Something is wrong without a kill: {wanted['problems'][:3]}")
        most = took[options.step] if options.step else 0.8 * sum(took.values())
        for number in range(options.rounds):
            # Opening takes longer than the writes, so most rounds wait for it.
            after = options.step or (STEPS[0] if number % 5 else None)
            moment, problems = run_round(
                scratch / f"round {number}", chance.uniform(0, most), wanted, scratch, after=after
            )
            killed[moment] += 1
            if problems:
                n_failed += 1
                print(f"round {number}, killed in {moment}: {problems[:3]}", flush=True)
    print(f"killed in {dict(killed.most_common())}")
    print(f"{options.rounds} rounds, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
