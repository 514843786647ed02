"""What each stage does to one question; what comes out is one record of its journal."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tmem_integrations.config import CompressionConfig
from tmem_integrations.evaluation.methods.base import Passage, Selection
from tmem_integrations.evaluation.methods.ranking import visible_to
from tmem_integrations.evaluation.prompts import (
    answer_prompt,
    judge_prompt,
    read_verdict,
    text_hash,
)
from tmem_integrations.evaluation.questions import Gold, Question
from tmem_integrations.evaluation.runs.forests import (
    flat_records,
    forest_records,
    grow,
    restructure,
)
from tmem_integrations.evaluation.runs.journal import Record
from tmem_integrations.evaluation.runs.passages import fit_passages
from tmem_integrations.evaluation.runs.patterns import judge_by_patterns
from tmem_integrations.messages import Message
from tmem_integrations.protocols import LanguageModel, Reply, TokenCounter
from tmem_integrations.stages.compression import compress_forest
from tmem_integrations.stages.forest import Forest
from tmem_integrations.stages.linearization import linearize
from tmem_integrations.text import index_text, split_terms


def done(key: str, seconds: float, **values: Any) -> Record:
    """A record of what ended well."""
    return {"key": key, "status": "ok", "error": None, "seconds": round(seconds, 6), **values}


def failure(key: str, error: object) -> Record:
    """A record of what did not."""
    return {"key": key, "status": "failed", "error": str(error) or type(error).__name__}


def retrieve_record(question: Question, selection: Selection, seconds: float) -> Record:
    """Selected ids, best first, and the nodes or the text that the method made of them."""
    retrieval = selection.retrieval
    own = {} if selection.passages is None else {"passages": list(map(asdict, selection.passages))}
    nodes = forest_records(retrieval.forest) if retrieval else flat_records(selection.ids)
    return done(
        question.id,
        seconds,
        ids=list(selection.ids),
        nodes=nodes,
        llm_calls=retrieval.trace.llm_calls if retrieval else selection.usage.calls,
        trace=retrieval.trace.to_dict() if retrieval else None,
        usage=asdict(selection.usage),
        **own,
    )


def structure_record(retrieved: Record, structure: str) -> Record:
    """The nodes under the structure that is measured; a method's own text has none to change."""
    start = time.perf_counter()
    nodes = restructure(retrieved["nodes"], structure)
    own = {"passages": retrieved["passages"]} if "passages" in retrieved else {}
    return done(retrieved["key"], time.perf_counter() - start, nodes=nodes, **own)


class Compressor:
    """Makes the text of a question's forest, within the budget.

    Args:
        messages: All of the data set.
        config: The budget.
        counter: Counts its tokens.
        truncate: Cut the text at its end instead of leaving out spans.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        config: CompressionConfig,
        counter: TokenCounter,
        *,
        truncate: bool = False,
    ) -> None:
        self._truncate = truncate
        self._messages = tuple(messages)
        self._by_id = {message.id: message for message in messages}
        self._config = config
        self._counter = counter
        self._terms: dict[str, frozenset[str]] = {}

    def record(self, question: Question, structured: Record) -> Record:
        """The text, its tokens, and what had to be left out."""
        start = time.perf_counter()
        if "passages" in structured:
            return self._own_text(question, structured, start)
        visible = tuple(
            message
            for message in visible_to(question.query(), self._messages)
            if question.channel in (None, message.channel)
        )
        forest = grow(structured["nodes"], self._by_id)
        if self._truncate:
            forest = truncate_forest(forest, self._config.max_tokens, self._counter)
        compressed = compress_forest(
            forest,
            question.text,
            document_frequencies=lambda text: self._frequencies(text, visible),
            n_messages=len(visible),
            counter=self._counter,
            config=self._config,
        )
        return done(
            question.id,
            time.perf_counter() - start,
            ids=[node.message.id for node in compressed.forest],
            text=compressed.text,
            n_tokens=compressed.n_tokens,
            dropped=list(compressed.dropped),
            degraded=list(compressed.degraded),
        )

    def _own_text(self, question: Question, structured: Record, start: float) -> Record:
        passages = [Passage(p["text"], tuple(p["sources"])) for p in structured["passages"]]
        text, kept = fit_passages(passages, self._config.max_tokens, self._counter)
        shown = {i for passage in kept for i in passage.sources}
        ids = [node["id"] for node in structured["nodes"]]
        return done(
            question.id,
            time.perf_counter() - start,
            ids=[i for i in ids if i in shown],
            text=text,
            n_tokens=self._counter.count(text),
            dropped=[i for i in ids if i not in shown],
            degraded=[],
        )

    def _frequencies(self, text: str, visible: Sequence[Message]) -> Mapping[str, int]:
        wanted = set(split_terms(text))
        counts: Counter[str] = Counter()
        for message in visible:
            counts.update(wanted & self._terms_of(message))
        return counts

    def _terms_of(self, message: Message) -> frozenset[str]:
        known = self._terms.get(message.id)
        if known is None:
            known = self._terms[message.id] = frozenset(split_terms(index_text(message)))
        return known


def truncate_forest(forest: Forest, max_tokens: int, counter: TokenCounter) -> Forest:
    """The longest beginning of a forest, in the order shown, whose whole text fits; a node at least."""
    kept = bisect_right(
        range(1, len(forest.nodes) + 1),
        max_tokens,
        key=lambda n: counter.count(linearize(Forest(forest.nodes[:n]))),
    )
    return Forest(forest.nodes[: max(kept, 1)])


def answer_records(
    questions: Sequence[Question], compressed: Mapping[str, Record], llm: LanguageModel
) -> list[Record]:
    """Ask one model for all answers of a batch."""
    prompts = [answer_prompt(question, compressed[question.id]["text"]) for question in questions]
    start = time.perf_counter()
    replies = llm.ask(prompts)
    seconds = (time.perf_counter() - start) / len(questions)
    return [
        _reply_record(question.id, prompt, reply, seconds, answer=reply.text.strip())
        for question, prompt, reply in zip(questions, prompts, replies, strict=True)
    ]


def judge_records(
    questions: Sequence[Question],
    gold: Mapping[str, Gold],
    answers: Mapping[str, Record],
    llm: LanguageModel | None,
) -> list[Record]:
    """Judge a batch: by patterns or letter where the gold has them, else by a model.

    Without a model or a reference answer nothing is said: `correct` is None.
    """
    by_rule = {q.id: judge_by_patterns(q, gold[q.id], answers[q.id]["answer"]) for q in questions}
    asked: list[Question] = []
    records: list[Record] = []
    for question in questions:
        verdict = by_rule[question.id]
        if verdict is not None:
            records.append(done(question.id, 0.0, by="patterns", **verdict))
        elif llm is not None and gold[question.id].answer is not None:
            asked.append(question)
        else:
            records.append(done(question.id, 0.0, by="nothing", correct=None, leaks=[]))
    if asked and llm is not None:
        prompts = [judge_prompt(q, gold[q.id], answers[q.id]["answer"]) for q in asked]
        start = time.perf_counter()
        replies = llm.ask(prompts)
        seconds = (time.perf_counter() - start) / len(asked)
        for question, prompt, reply in zip(asked, prompts, replies, strict=True):
            verdict_of = read_verdict(reply.text)
            if reply.error is None and verdict_of is None:
                records.append(failure(question.id, f"no final verdict in {reply.text[-80:]!r}"))
                continue
            correct = verdict_of == "Correct"
            records.append(
                _reply_record(
                    question.id, prompt, reply, seconds, by="model", correct=correct, leaks=[]
                )
            )
    return records


def _reply_record(key: str, prompt: str, reply: Reply, seconds: float, **values: Any) -> Record:
    if reply.error is not None:
        return failure(key, reply.error)
    return done(
        key,
        seconds,
        prompt=text_hash(prompt),
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        **values,
    )
