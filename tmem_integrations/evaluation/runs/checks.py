"""Whether a run is whole and sound: counts, keys, order in time, parents, budget, prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from tmem_integrations.evaluation.prompts import answer_prompt, text_hash
from tmem_integrations.evaluation.questions import Dataset
from tmem_integrations.evaluation.records import read_lines
from tmem_integrations.evaluation.runs.contract import RunContract, hash_dataset, read_run
from tmem_integrations.evaluation.runs.journal import Journal, Record
from tmem_integrations.evaluation.runs.runner import STAGES, journal_of
from tmem_integrations.evaluation.validation import GOLD_KEYS, leaks_of
from tmem_integrations.messages import Message

# The answer stage writes the model's own answer under this name.
_OWN_KEYS = frozenset({"answer"})


def problems_of_run(folder: Path, dataset: Dataset) -> tuple[str, ...]:
    """What is wrong with a run, a sentence each; empty when it is whole and sound.

    Raises:
        ImportFormatError: If a file of the run cannot be read.
    """
    contract = read_run(folder)
    journals = {stage: journal_of(folder, stage) for stage in STAGES}
    return tuple(_problems(folder, contract, journals, dataset))


def _problems(
    folder: Path, contract: RunContract, journals: Mapping[str, Journal], dataset: Dataset
) -> Iterator[str]:
    if contract.data_hash != hash_dataset(dataset):
        yield f"The run was made with another state of {contract.data}."
        return
    asked = {q.id for q in dataset.questions[: contract.questions]}
    last = "judge" if journals["judge"].n_lines else "compress"
    for stage in STAGES[: STAGES.index(last) + 1]:
        finished = journals[stage].finished
        if unknown := finished.keys() - asked:
            yield f"{stage}: {len(unknown)} keys are no question, such as {min(unknown)!r}."
        if missing := asked - finished.keys():
            yield f"{stage}: {len(missing)} questions are not finished, such as {min(missing)!r}."
        yield from _repeated(folder, stage)
        for record in finished.values():
            if stage not in ("answer", "judge"):
                leaked = (GOLD_KEYS - _OWN_KEYS) & record.keys()
                if leaked:
                    yield f"{stage}, {record['key']!r}: holds the gold keys {sorted(leaked)}."
    yield from _nodes(contract, journals, {m.id: m for m in dataset.messages})
    yield from _prompts(contract, journals, dataset)


def _repeated(folder: Path, stage: str) -> Iterator[str]:
    path = folder / f"{stage}.jsonl"
    if not path.exists():
        return
    times = Counter(record["key"] for _, record in read_lines(path) if record["status"] == "ok")
    for key, count in times.items():
        if count > 1:
            yield f"{stage}: {key!r} was finished {count} times."


def _nodes(
    contract: RunContract, journals: Mapping[str, Journal], messages: Mapping[str, Message]
) -> Iterator[str]:
    for key, record in journals["structure"].finished.items():
        ids = [node["id"] for node in record["nodes"]]
        if len(set(ids)) != len(ids):
            yield f"structure, {key!r}: a message occurs twice, so it may have two parents."
        for node in record["nodes"]:
            yield from _link(key, node, messages)
    for key, record in journals["compress"].finished.items():
        if record["n_tokens"] > contract.max_tokens:
            yield f"compress, {key!r}: {record['n_tokens']} tokens exceed {contract.max_tokens}."


def _link(key: str, node: Record, messages: Mapping[str, Message]) -> Iterator[str]:
    chain = [messages.get(i) for i in (node["parent"], node["id"]) if i is not None]
    for earlier, later in pairwise(chain):
        if earlier is None or later is None:
            yield f"structure, {key!r}: a link to no message."
        elif earlier.sent_at > later.sent_at:
            yield f"structure, {key!r}: {node['id']!r} hangs from a later message."


def _prompts(
    contract: RunContract, journals: Mapping[str, Journal], dataset: Dataset
) -> Iterator[str]:
    """The prompt that was asked is the one made of question and found text, and holds no gold."""
    questions = {q.id: q for q in dataset.questions}
    for key, record in journals["answer"].finished.items():
        found = journals["compress"].finished.get(key)
        if found is None or key not in questions:
            continue
        question = questions[key]
        prompt = answer_prompt(question, found["text"])
        if record["prompt"] != text_hash(prompt):
            yield f"answer, {key!r}: another prompt was asked than question and text make."
        known = [answer_prompt(question, ""), found["text"]]
        for value in leaks_of(prompt, dataset.gold[key], known):
            yield f"answer, {key!r}: the prompt holds the gold value {value!r}."
