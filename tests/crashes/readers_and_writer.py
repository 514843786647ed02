"""Many readers beside one writer: no error, and nobody sees what is not theirs.

usage: python tests/crashes/readers_and_writer.py [--seconds 300] [--readers 50]

One thread adds, edits and deletes without a pause, with vectors and with a memory that anticipates; the
others ask, each as a member of one channel: half of them for a forest, half for what the other memory
recalls. Prints how many questions were answered and what went wrong; exit code 1 when something did.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tmem_integrations.anticipation.memory import AnticipatoryMemory
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.models.embeddings import StaticEmbedder
from tmem_integrations.stores.chroma import ChromaStore

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CHANNELS = ("general", "board", "dev")
# The last one leaves words open, so that vectors are asked, and the other memory.
QUESTIONS = (
    "when do we ship",
    "who has the budget of the kestrel",
    "what about number 31 and lunch",
)


class Trial:
    """What the threads share."""

    def __init__(self, seconds: float) -> None:
        embedder = StaticEmbedder()
        store = ChromaStore.in_memory(model=embedder.name)
        access = {name: [f"member of {name}"] for name in CHANNELS}
        history = TemporalMemory(store, embedder=embedder, access=access)
        self.filed = AnticipatoryMemory(history)
        self.memory = TemporalMemory(
            store, embedder=embedder, access=access, associative=self.filed
        )
        self.end = time.monotonic() + seconds
        self.faults: list[str] = []
        self.n_answers = 0
        self.n_writes = 0
        self.n_shown = 0
        self._lock = threading.Lock()

    @property
    def goes_on(self) -> bool:
        return time.monotonic() < self.end and not self.faults

    def write(self) -> None:
        chance = random.Random(0)
        number = 0
        while self.goes_on:
            number += 1
            channel = chance.choice(CHANNELS)
            said = Message(
                id=f"{channel}-{number}",
                text=f"we ship number {number % 50} with the budget of {channel}",
                sent_at=START + timedelta(minutes=number),
                author=f"author{number % 7}",
                channel=channel,
                topic="release",
            )
            self.memory.add([said])
            if number % 3 == 0:
                self.memory.add([replace(said, text=f"{said.text}, not a", edited_at=said.sent_at)])
            if number % 4 == 0:
                self.memory.delete([said.id])
            self.n_writes += 1

    def ask(self, number: int) -> None:
        channel = CHANNELS[number % len(CHANNELS)]
        while self.goes_on:
            question, asker = QUESTIONS[number % len(QUESTIONS)], f"member of {channel}"
            memory = self.memory if number % 2 else self.filed
            answer = memory.retrieve(question, asking_user=asker)
            wrong = [one for one in answer.message_ids if not one.startswith(channel)]
            wrong += [
                one for one in CHANNELS if one != channel and f"budget of {one}" in answer.text
            ]
            with self._lock:
                self.n_answers += 1
                self.n_shown += len(answer.message_ids)
                if wrong:
                    self.faults.append(f"a member of {channel} saw {wrong[:3]}")

    def guarded(self, work: object, *arguments: object) -> None:
        try:
            work(*arguments)
        except Exception:
            self.faults.append(traceback.format_exc())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--readers", type=int, default=50)
    options = parser.parse_args()
    trial = Trial(options.seconds)
    threads = [threading.Thread(target=trial.guarded, args=(trial.write,))]
    threads += [
        threading.Thread(target=trial.guarded, args=(trial.ask, number))
        for number in range(options.readers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for fault in trial.faults[:3]:
        print(fault)
    print(
        f"{trial.n_answers} answers with {trial.n_shown} messages beside {trial.n_writes} writes, "
        f"{len(trial.faults)} faults"
    )
    return 1 if trial.faults or not trial.n_shown else 0


if __name__ == "__main__":
    sys.exit(main())
