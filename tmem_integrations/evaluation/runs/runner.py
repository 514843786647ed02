"""Running: each stage over what the one before finished, skipping what is done, retrying what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from tmem_integrations.batches import batches
from tmem_integrations.config import CompressionConfig
from tmem_integrations.errors import StoreLockedError, TmemError
from tmem_integrations.evaluation.methods.base import Method
from tmem_integrations.evaluation.questions import Dataset, Question
from tmem_integrations.evaluation.recall import searchers
from tmem_integrations.evaluation.runs.contract import RunContract, open_run
from tmem_integrations.evaluation.runs.journal import Journal, Record
from tmem_integrations.evaluation.runs.stages import (
    Compressor,
    answer_records,
    failure,
    judge_records,
    retrieve_record,
    structure_record,
)
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.protocols import LanguageModel

STAGES = ("retrieve", "structure", "compress", "answer", "judge")
_BATCH = 16

Report = Callable[[str, int, int], None]
"""Told stage, how many are finished, and of how many."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """What became of one stage.

    Attributes:
        stage: Name.
        finished: Questions that ended well, in this run or before.
        failed: Those that did not.
        done_now: Records written now.
    """

    stage: str
    finished: int
    failed: int
    done_now: int


def journal_of(folder: Path, stage: str) -> Journal:
    """A stage's records in a run."""
    return Journal(folder / f"{stage}.jsonl")


def run(
    dataset: Dataset,
    method: Method,
    folder: Path,
    contract: RunContract,
    *,
    llm: LanguageModel | None = None,
    judge: LanguageModel | None = None,
    report: Report = lambda stage, finished, total: None,
) -> list[StageResult]:
    """Begin or go on with a run.

    Args:
        dataset: What is asked; the first `contract.questions` questions of it.
        method: What retrieves.
        folder: Of the run.
        contract: Its conditions.
        llm: Answers; None ends the run after compression.
        judge: Judges answers that patterns cannot; None leaves these unjudged.
        report: Told of progress.

    Returns:
        One result per stage that ran.

    Raises:
        StoreMismatchError: If the folder holds another run.
        StoreLockedError: If another process writes to it.
    """
    open_run(folder, contract)
    try:
        with FileLock(folder / ".lock", timeout=0):
            return list(_stages(dataset, method, folder, contract, llm, judge, report))
    except Timeout as error:
        raise StoreLockedError(f"{folder}: another process is running this run.") from error


def _stages(
    dataset: Dataset,
    method: Method,
    folder: Path,
    contract: RunContract,
    llm: LanguageModel | None,
    judge: LanguageModel | None,
    report: Report,
) -> Iterator[StageResult]:
    questions = dataset.questions[: contract.questions]
    retrieved = journal_of(folder, "retrieve")
    todo = [q for q in questions if q.id not in retrieved.finished]
    records = _retrieve(dataset, method, todo, contract.max_messages)
    yield _write(retrieved, "retrieve", records, questions, report)

    structured = journal_of(folder, "structure")
    todo = _open(questions, retrieved, structured)
    records = ([structure_record(retrieved.finished[q.id], contract.structure)] for q in todo)
    yield _write(structured, "structure", records, questions, report)

    compressed = journal_of(folder, "compress")
    budget = CompressionConfig(max_tokens=contract.max_tokens)
    truncate = contract.compression == "truncate"
    compressor = Compressor(dataset.messages, budget, default_counter(), truncate=truncate)
    todo = _open(questions, structured, compressed)
    records = ([compressor.record(q, structured.finished[q.id])] for q in todo)
    yield _write(compressed, "compress", records, questions, report)
    if llm is None:
        return

    answered = journal_of(folder, "answer")
    parts = batches(_open(questions, compressed, answered), _BATCH)
    records = (answer_records(batch, compressed.finished, llm) for batch in parts)
    yield _write(answered, "answer", records, questions, report)

    judged = journal_of(folder, "judge")
    parts = batches(_open(questions, answered, judged), _BATCH)
    records = (judge_records(b, dataset.gold, answered.finished, judge) for b in parts)
    yield _write(judged, "judge", records, questions, report)


def _retrieve(
    dataset: Dataset, method: Method, questions: Sequence[Question], n: int
) -> Iterator[list[Record]]:
    wanted = {question.id for question in questions}
    for ask, own in searchers(dataset, method, only=wanted):
        for question in own:
            try:
                yield [retrieve_record(question, *ask(question, n))]
            except TmemError as error:
                yield [failure(question.id, error)]


def _open(questions: Sequence[Question], before: Journal, now: Journal) -> list[Question]:
    """Those that the stage before finished and this one did not."""
    ready, finished = before.finished, now.finished
    return [q for q in questions if q.id in ready and q.id not in finished]


def _write(
    journal: Journal,
    stage: str,
    records: Iterable[list[Record]],
    questions: Sequence[Question],
    report: Report,
) -> StageResult:
    before = journal.n_lines
    report(stage, len(journal.finished), len(questions))
    for batch in records:
        journal.append(batch)
        report(stage, len(journal.finished), len(questions))
    return StageResult(stage, len(journal.finished), len(journal.failed), journal.n_lines - before)
