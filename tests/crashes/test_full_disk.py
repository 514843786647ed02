"""A disk that is full, and readers beside a writer: a clear error, nothing damaged, nobody else's messages."""

import subprocess
import sys
from pathlib import Path

import pytest

SETUP = """
import resource, signal, sys
from datetime import UTC, datetime
from tmem_integrations.errors import StoreError
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.stores.chroma import ChromaStore

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = sys.argv[1]
said = [
    Message(id=f"m{i}", text=f"we ship number {i} " + "word " * 200, sent_at=datetime(2026, 3, 2, tzinfo=UTC))
    for i in range(600)
]
"""
# No file may grow beyond the limit: what writing to a full disk looks like, without filling one.
FULL = """
memory = TemporalMemory(ChromaStore.open(folder))
memory.add(said[:10])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, hard))
try:
    memory.add(said)
except StoreError as error:
    print("refused:", type(error).__name__, str(error)[:200].replace(chr(10), " "))
print("answers:", len(memory.retrieve("number 7").message_ids) > 0)
memory.close()
"""
AGAIN = """
memory = TemporalMemory(ChromaStore.open(folder))
print("whole:", memory.store.check())
memory.add(said)
print("then:", len(memory), memory.store.check())
memory.close()
"""
# The messages fit, what is derived from them does not.
FULL_BESIDE = """
from pathlib import Path
from tmem_integrations.anticipation.memory import AnticipatoryMemory

filed = AnticipatoryMemory.from_messages(said[:100], store=ChromaStore.open(folder, model="wordllama-256"))
filed.history.add(said[100:400])
before = filed.stats()
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
size = Path(folder, "anticipation.sqlite3").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
try:
    filed.file(said[100:400])
except StoreError as error:
    print("refused:", str(error)[-100:])
print("as before:", filed.stats() == before)
print("recalled:", len(filed.retrieve("number 7").text) > 0)
filed.close()
"""
AGAIN_BESIDE = """
from tmem_integrations.anticipation.memory import AnticipatoryMemory

store = ChromaStore.open(folder, model="wordllama-256")
filed = AnticipatoryMemory.from_messages(said[:400], store=store)
print("then:", filed.stats()["messages"], filed.stats()["undescribed"])
filed.close()
"""


def run(script: str, folder: Path) -> str:
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    return done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_a_full_disk_is_an_error_and_the_rest_is_added_later(tmp_path: Path) -> None:
    told = run(SETUP + FULL, tmp_path / "store")
    assert "refused: IngestError" in told, told
    assert "answers: True" in told, told
    # In a process of its own: the database's connection may wait for its failed write for ever.
    told = run(SETUP + AGAIN, tmp_path / "store")
    assert "whole: ()" in told, told
    assert "then: 600 ()" in told, told


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_a_disk_too_full_for_what_is_derived_is_an_error_and_changes_nothing(
    tmp_path: Path,
) -> None:
    told = run(SETUP + FULL_BESIDE, tmp_path / "store")
    assert "run the same call again" in told, told
    assert "as before: True" in told, told
    assert "recalled: True" in told, told
    told = run(SETUP + AGAIN_BESIDE, tmp_path / "store")
    assert "then: 400 0" in told, told


@pytest.mark.slow
def test_readers_beside_a_writer_see_only_their_own() -> None:
    script = Path(__file__).parent / "readers_and_writer.py"
    command = [sys.executable, str(script), "--seconds", "10", "--readers", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ", 0 faults" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
