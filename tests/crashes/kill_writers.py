"""Kill a writer at a random moment, again and again, and see what is left.

usage: python tests/crashes/kill_writers.py [--rounds 200] [--seed 0]

A round runs a fixed list of writes (add, edit, delete, forget, close) in a process of its own and ends it
with SIGKILL somewhere between its start and its end. Then the folder is opened again: every index must
hold the same messages. The writes are run again from the start: exactly the right messages must be there,
and questions must find what they find in a folder that was never killed. Prints a line for every round
that fails and a summary; exit code 1 when one failed. Needs fork.
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
from typing import Any, NamedTuple

import numpy as np

from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Scope
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.protocols import Vectors
from tmem_integrations.stores.chroma import ChromaStore

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
N_MESSAGES = 60
QUESTIONS = ("when do we ship number 7", "who has the budget", "number 31")


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


def write_all(folder: Path, tell: Callable[[str], None]) -> None:
    """The writes of a round; running them again from the start gives the same end."""
    memory = TemporalMemory(ChromaStore.open(folder), embedder=LetterEmbedder())
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
    memory.close()


def state(folder: Path) -> dict[str, Any]:
    """All that can be seen of a folder."""
    store = ChromaStore.open(folder, read_only=True)
    memory = TemporalMemory(store, embedder=LetterEmbedder())
    ids = store.ids(Scope())
    vectors = store.load_vectors(sorted(ids))
    seen = {
        "messages": sorted(map(repr, store.get(ids).values())),
        "vectors": None if vectors is None else np.round(vectors, 4).tolist(),
        "answers": [memory.retrieve(question).text for question in QUESTIONS],
        "judged": sorted(memory.verdicts.message_ids()) if memory.verdicts else [],
        "problems": list(store.check()),
    }
    memory.close()
    return seen


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


def run_writes(folder: Path) -> float:
    """Run the writes to their end; how long they took once the folder was open."""
    told = start_writes(folder)
    os.read(told.pipe, 1)
    begun = time.monotonic()
    _, status = os.waitpid(told.pid, 0)
    os.close(told.pipe)
    if status:
        raise SystemExit("The writes fail by themselves; see the traceback above.")
    return time.monotonic() - begun


def kill_writes(folder: Path, seconds: float, *, when_open: bool) -> str:
    """Run the writes and kill them after some time; what was going on."""
    told = start_writes(folder)
    first = os.read(told.pipe, 1) if when_open else b""
    time.sleep(seconds)
    os.kill(told.pid, signal.SIGKILL)
    _, status = os.waitpid(told.pid, 0)
    with os.fdopen(told.pipe, "rb") as pipe:
        steps = (first + pipe.read()).decode().split()
    if status == 0:
        return "after the end"
    return steps[-1] if steps else "opening"


class Started(NamedTuple):
    """A process that writes, and where it tells what it does."""

    pid: int
    pipe: int


def start_writes(folder: Path) -> Started:
    reader, writer = os.pipe()

    def tell(step: str) -> None:
        os.write(writer, f"{step} ".encode())

    pid = in_child(lambda: write_all(folder, tell))
    os.close(writer)
    return Started(pid, reader)


def reopened(folder: Path) -> dict[str, Any]:
    """Problems after a kill: opened to write, as whoever goes on would."""
    with ChromaStore.open(folder) as store:
        return {"problems": list(store.check())}


def run_round(
    folder: Path, seconds: float, wanted: dict[str, Any], scratch: Path, *, when_open: bool
) -> tuple[str, list[str]]:
    """Write, kill, open again, write again; what was killed, and what is wrong then."""
    moment = kill_writes(folder, seconds, when_open=when_open)
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
    options = parser.parse_args()
    chance = random.Random(options.seed)
    killed: Counter[str] = Counter()
    n_failed = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        whole = run_writes(scratch / "never killed")
        wanted = result_of(lambda: state(scratch / "never killed"), scratch)
        for number in range(options.rounds):
            moment, problems = run_round(
                scratch / f"round {number}",
                chance.uniform(0, 0.8 * whole),
                wanted,
                scratch,
                # Opening takes longer than the writes, so most rounds wait for it.
                when_open=number % 5 > 0,
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
