"""What a history of some size costs: ingest, opening, questions, a live message, a deletion.

Processor time is what counts, since wall time tells how busy the machine was. It includes all threads, so
work that is spread over several cores is not cheaper for it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np

from tmem_integrations.evaluation.bench_history import ask_about
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Embedder, Vectors
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stores.chroma import ChromaStore
from tmem_integrations.stores.chroma_plain import add_plainly

P = ParamSpec("P")
T = TypeVar("T")

_BATCH = 2_000
# Live messages that are added and deleted again, each with a question after it.
_N_LIVE = 10
_STATM = Path("/proc/self/statm")
# Pages held before and after; an empty store first, so that the code itself is not counted.
_OPEN_ELSEWHERE = """
import sys
from pathlib import Path
from tmem_integrations.stores.chroma import ChromaStore
def pages():
    return int(Path("/proc/self/statm").read_text().split()[1])
ChromaStore.in_memory().close()
before = pages()
store = ChromaStore.open(sys.argv[1], read_only=True)
len(store)
print(pages() - before)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What some work cost.

    Attributes:
        cpu: Seconds of processor time, of all threads.
        wall: Seconds on the clock.
    """

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What one of many alike things cost, seconds of processor time and on the clock."""

    p50: float
    p95: float
    wall_p50: float
    wall_p95: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One way to search one history.

    Attributes:
        name: Of what was measured.
        n_messages: In the history.
        ingest: All messages, vectors made already.
        question: One question.
        stages: Stage → median seconds on the clock.
        embed: Making the vectors of all messages; None where that is somebody else's.
        open: Opening what was ingested, None where it is not kept.
        first: The first question after that.
        live: Adding one message and asking a question.
        delete: Deleting one message.
        plain: Adding the same rows to a default Chroma collection.
        memory: Bytes a message, held after opening; None where the system does not tell.
        disk: Bytes a message in the folder.
    """

    name: str
    n_messages: int
    ingest: Cost
    question: Spread
    stages: dict[str, float] = field(default_factory=dict)
    embed: Cost | None = None
    open: Cost | None = None
    first: Cost | None = None
    live: Spread | None = None
    delete: Spread | None = None
    plain: Cost | None = None
    memory: float | None = None
    disk: float | None = None


def cost_of(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> tuple[Cost, T]:
    """Do it once; what it cost, and what came of it."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work(*args, **named)
    return Cost(time.process_time() - cpu, time.perf_counter() - wall), result


def spread_of(costs: Sequence[Cost]) -> Spread:
    """Median and 95th percentile.

    Examples:
        >>> spread_of([Cost(1.0, 2.0), Cost(1.0, 2.0)])
        Spread(p50=1.0, p95=1.0, wall_p50=2.0, wall_p95=2.0)
    """
    cpu = np.percentile([cost.cpu for cost in costs], [50, 95]).tolist()
    wall = np.percentile([cost.wall for cost in costs], [50, 95]).tolist()
    return Spread(*cpu, *wall)


def embed_history(messages: Sequence[Message], embedder: Embedder) -> Vectors:
    """(n, d) vectors of all texts, made in the pieces an ingest would make."""
    parts = range(0, len(messages), _BATCH)
    return np.concatenate(
        [embedder.embed([m.text for m in messages[start : start + _BATCH]]) for start in parts]
    )


def measure_memory(
    messages: Sequence[Message], folder: Path, embedder: Embedder, n_questions: int
) -> Measured:
    """Measure a `TemporalMemory` over a store in a folder.

    Args:
        messages: The history.
        folder: An empty folder for its files.
        embedder: Makes vectors of messages and questions.
        n_questions: How many questions are asked.
    """
    embed, vectors = cost_of(embed_history, messages, embedder)
    plain, _ = cost_of(add_plainly, folder / "plain", messages, vectors)
    ours = folder / "tmem"
    ingest, _ = cost_of(_ingest, ours, messages, vectors, embedder)
    opened, store = cost_of(ChromaStore.open, ours, model=embedder.name)
    questions = ask_about(messages, n_questions)
    with store:
        memory = TemporalMemory(store, embedder=embedder)
        first, _ = cost_of(memory.retrieve, questions[0])
        asked = [cost_of(memory.retrieve, question) for question in questions]
        held = _held_by(ours)
        live, delete = _live(memory, messages, questions)
    sizes = [path.stat().st_size for path in ours.rglob("*") if path.is_file()]
    return Measured(
        name="tmem",
        n_messages=len(messages),
        ingest=ingest,
        question=spread_of([cost for cost, _ in asked]),
        stages=_stages([answer for _, answer in asked]),
        embed=embed,
        open=opened,
        first=first,
        live=live,
        delete=delete,
        plain=plain,
        memory=None if held is None else held / len(messages),
        disk=sum(sizes) / len(messages),
    )


def _ingest(folder: Path, messages: Sequence[Message], vectors: Vectors, by: Embedder) -> None:
    with ChromaStore.open(folder, model=by.name) as store:
        for start in range(0, len(messages), _BATCH):
            part = slice(start, start + _BATCH)
            store.upsert(messages[part], vectors[part])


def _live(
    memory: TemporalMemory, messages: Sequence[Message], questions: Sequence[str]
) -> tuple[Spread, Spread]:
    """Messages that come in while questions are asked, and go again."""
    last = messages[-1]
    fresh = [
        Message(id=f"live{n}", text=last.text, sent_at=last.sent_at, channel=last.channel)
        for n in range(_N_LIVE)
    ]

    def add_and_ask(n: int) -> None:
        memory.add([fresh[n]])
        memory.retrieve(questions[n % len(questions)])

    live = [cost_of(add_and_ask, n)[0] for n in range(_N_LIVE)]
    gone = [cost_of(memory.delete, [message.id])[0] for message in fresh]
    return spread_of(live), spread_of(gone)


def _stages(answers: Sequence[Retrieval]) -> dict[str, float]:
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for answer in answers:
        for stage in answer.trace.stages:
            seconds[stage.stage].append(stage.seconds)
    return {stage: float(np.median(each)) for stage, each in seconds.items()}


def _held_by(folder: Path) -> int | None:
    """Bytes that opening a folder takes in a fresh process; None where there is no /proc."""
    if not _STATM.exists():
        return None
    done = subprocess.run(
        [sys.executable, "-c", _OPEN_ELSEWHERE, str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) * os.sysconf("SC_PAGE_SIZE")
