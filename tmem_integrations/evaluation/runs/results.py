"""What a run found, said and cost, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tmem_integrations.errors import StoreMismatchError
from tmem_integrations.evaluation.measures import Share, precision, scoring_of
from tmem_integrations.evaluation.methods.base import Usage
from tmem_integrations.evaluation.questions import Dataset, Gold, Question
from tmem_integrations.evaluation.runs.contract import RunContract, hash_dataset, read_run
from tmem_integrations.evaluation.runs.journal import Record
from tmem_integrations.evaluation.runs.patterns import judge_by_patterns
from tmem_integrations.evaluation.runs.runner import STAGES, journal_of

_ABSTAINING = "I don't know."


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """One question of a run.

    Attributes:
        question: What was asked.
        share: What of the gold the emitted text shows; None where finding is not scored.
        precision: Share of the messages in it that are evidence; None where the data set names none.
        correct: Whether the answer is right; None where it was not judged.
        leaks: Forbidden values that the answer tells.
        ranked: Ids selected, the most relevant first.
        text: What the answering model reads.
        n_tokens: Tokens of the text.
        answer: What it answered; None without a model.
        seconds: Wall time of all stages.
        memory: What the method's own model took.
        answering: What the answering and the judging model took.
    """

    question: Question
    share: Share | None
    precision: float | None
    correct: bool | None
    leaks: tuple[str, ...]
    ranked: tuple[str, ...]
    text: str
    n_tokens: int
    answer: str | None
    seconds: float
    memory: Usage
    answering: Usage


@dataclass(frozen=True, slots=True)
class RunResults:
    """A whole run.

    Attributes:
        name: Of its folder.
        contract: Its conditions.
        results: Finished questions, in the order asked.
        failed: Questions with a stage that failed.
    """

    name: str
    contract: RunContract
    results: tuple[QuestionResult, ...]
    failed: int

    def usage(self) -> tuple[Usage, Usage]:
        """Of the memory, and of answer and judge."""
        memory = sum((r.memory for r in self.results), Usage())
        return memory, sum((r.answering for r in self.results), Usage())


def read_results(folder: Path, dataset: Dataset) -> RunResults:
    """Read a run.

    Raises:
        ImportFormatError: If the folder holds no run.
        StoreMismatchError: If it was made with other data.
    """
    contract = read_run(folder)
    if contract.data_hash != hash_dataset(dataset):
        raise StoreMismatchError(
            f"{folder} was made with another state of {contract.data} than {dataset.name}."
        )
    journals = {stage: journal_of(folder, stage) for stage in STAGES}
    finished = {stage: journal.finished for stage, journal in journals.items()}
    results = [
        _result(question, _records_of(question.id, finished), dataset.gold[question.id])
        for question in dataset.questions[: contract.questions]
        if question.id in finished["compress"]
    ]
    failed = {key for journal in journals.values() for key in journal.failed}
    return RunResults(folder.name, contract, tuple(results), len(failed))


def _records_of(key: str, finished: Mapping[str, Mapping[str, Record]]) -> dict[str, Record]:
    return {stage: records[key] for stage, records in finished.items() if key in records}


def _result(question: Question, records: Mapping[str, Record], gold: Gold) -> QuestionResult:
    compressed, retrieved = records["compress"], records["retrieve"]
    scoring = scoring_of(question, gold)
    answer, judged = records.get("answer"), records.get("judge")
    return QuestionResult(
        question=question,
        # Values are sought in the text itself: what compression left out is not found.
        share=scoring(compressed["ids"], [compressed["text"]]) if scoring else None,
        precision=precision(compressed["ids"], gold.evidence) if gold.evidence else None,
        correct=judged["correct"] if judged else None,
        leaks=tuple(judged["leaks"]) if judged else (),
        ranked=tuple(retrieved["ids"]),
        text=compressed["text"],
        n_tokens=compressed["n_tokens"],
        answer=answer["answer"] if answer else None,
        seconds=sum(record["seconds"] for record in records.values()),
        memory=_memory_usage(retrieved),
        answering=_usage(answer) + _usage(judged),
    )


def _usage(record: Record | None) -> Usage:
    if record is None or "prompt" not in record:
        return Usage()
    return Usage(record["input_tokens"] or 0, record["output_tokens"] or 0, 1)


def _memory_usage(record: Record) -> Usage:
    """What the model of a method took: by its trace, or as it told itself."""
    trace: Mapping[str, Any] = record.get("trace") or {}
    if not trace:
        return Usage(**record.get("usage", {}))
    tokens: Mapping[str, int] = trace.get("llm_tokens") or {}
    return Usage(tokens.get("input", 0), tokens.get("output", 0), int(trace.get("llm_calls") or 0))


def always_abstain(dataset: Dataset, questions: Sequence[Question]) -> list[float]:
    """What somebody who never answers gets right: 1 or 0 for each question that can be judged."""
    scores = []
    for question in questions:
        gold = dataset.gold[question.id]
        verdict = judge_by_patterns(question, gold, _ABSTAINING)
        if verdict is not None:
            scores.append(float(verdict["correct"]))
        elif gold.answer is not None:
            scores.append(0.0)
    return scores
