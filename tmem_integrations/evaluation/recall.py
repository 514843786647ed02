"""How much of the evidence methods find among the first N messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tmem_integrations.errors import InputError
from tmem_integrations.evaluation.measures import (
    Scoring,
    Share,
    bootstrap_interval,
    macro,
    micro,
    precision,
    scoring_of,
)
from tmem_integrations.evaluation.methods.base import Method, Searcher, Selection
from tmem_integrations.evaluation.questions import Dataset, Question, Rollback
from tmem_integrations.evaluation.validation import check_blind

# Large enough never to bind: recall at N messages is measured with the budget open.
_OPEN_BUDGET = 200_000
_LATEST = datetime.max.replace(tzinfo=UTC)

Progress = Callable[[], None]
Ask = Callable[[Question, int], tuple[Selection, float]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, one method, one bound.

    Attributes:
        question_id: Of the question.
        kind: Type of the question.
        selection: What the method selected.
        share: What of the gold that shows.
        precision: Share of the selection that is evidence; None when the data set names none.
        seconds: Wall time of the selection.
        misled: Whether it holds a change that was taken back and not the taking back; None where no
            change is near the evidence.
    """

    question_id: str
    kind: str | None
    selection: Selection
    share: Share
    precision: float | None
    seconds: float
    misled: bool | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """One cell of the table.

    Attributes:
        method: Name.
        max_messages: N.
        outcomes: One per scored question, in the order asked.
    """

    method: str
    max_messages: int
    outcomes: tuple[Outcome, ...]

    @property
    def values(self) -> list[float]:
        """Share of each question."""
        return [outcome.share.value for outcome in self.outcomes]

    def to_dict(self) -> dict[str, Any]:
        """Figures as JSON values."""
        low, high = bootstrap_interval(self.values)
        shares = [outcome.share for outcome in self.outcomes]
        misled = [o.misled for o in self.outcomes if o.misled is not None]
        precisions = [o.precision for o in self.outcomes if o.precision is not None]
        return {
            "method": self.method,
            "at": self.max_messages,
            "questions": len(self.outcomes),
            "macro": macro(shares),
            "interval": [low, high],
            "micro": micro(shares),
            "precision": float(np.mean(precisions)) if precisions else None,
            "misled": float(np.mean(misled)) if misled else None,
            "complete": float(np.mean([share.found == share.wanted for share in shares])),
            "messages": float(np.mean([len(o.selection.ids) for o in self.outcomes])),
            "seconds": float(np.mean([o.seconds for o in self.outcomes])),
            "by_kind": {kind: macro(own) for kind, own in _by_kind(self.outcomes).items()},
        }


def scored_questions(dataset: Dataset) -> dict[str, Scoring]:
    """How each question is scored whose finding can be scored at all.

    Raises:
        InputError: If there is none.
    """
    scorings = {q.id: scoring_of(q, dataset.gold[q.id]) for q in dataset.questions}
    known = {i: scoring for i, scoring in scorings.items() if scoring is not None}
    if not known:
        raise InputError(f"{dataset.name}: no question has evidence or required values to score.")
    return known


def measure_recall(
    dataset: Dataset,
    method: Method,
    at: Sequence[int],
    *,
    progress: Progress = lambda: None,
) -> tuple[Recall, ...]:
    """Ask every scored question with each bound.

    Args:
        dataset: Messages, questions and gold.
        method: What is measured.
        at: Bounds N; the method is asked anew for each.
        progress: Called after each question and bound.

    Raises:
        InputError: If no question can be scored, or the method breaks the bound or repeats an id.
        GoldLeakError: If gold came near the method.
    """
    scorings = scored_questions(dataset)
    texts = {m.id: m.text for m in dataset.messages}
    outcomes: dict[int, list[Outcome]] = {n: [] for n in at}
    for ask, questions in searchers(dataset, method, only=scorings):
        for question in questions:
            for n in at:
                selection, seconds = ask(question, n)
                outcomes[n].append(_outcome(question, dataset, scorings, selection, texts, seconds))
                progress()
    return tuple(Recall(method.name, n, tuple(found)) for n, found in outcomes.items())


def searchers(
    dataset: Dataset, method: Method, *, only: Collection[str] | None = None
) -> Iterator[tuple[Ask, tuple[Question, ...]]]:
    """Index each history; how to ask it, and the questions that search it, earliest `as_of` first.

    In that order a method that only grows reads each message once.

    Asking gives a selection and its wall time in seconds, with all that comes in and goes out checked.

    Args:
        dataset: Messages and questions.
        method: What is asked.
        only: Ids of the questions that matter; all when None.
    """
    for history in dataset.histories():
        asked = [q for q in history.questions if only is None or q.id in only]
        questions = tuple(sorted(asked, key=lambda q: q.as_of or _LATEST))
        if not questions:
            continue
        messages = list(history.messages)
        check_blind(messages, method.name)
        searcher = method.index(messages)
        try:
            yield _asking(method, searcher), questions
        finally:
            # Of those that hold files or connections.
            getattr(searcher, "close", lambda: None)()


def _asking(method: Method, searcher: Searcher) -> Ask:
    def ask(question: Question, n: int) -> tuple[Selection, float]:
        query = question.query()
        check_blind(query, method.name)
        start = time.perf_counter()
        selection = searcher.select(query, n, _OPEN_BUDGET)
        seconds = time.perf_counter() - start
        _check_selection(method.name, question, selection, n)
        return selection, seconds

    return ask


def _check_selection(name: str, question: Question, selection: Selection, n: int) -> None:
    ids = selection.ids
    if len(set(ids)) != len(ids) or (len(ids) > n and name != "full"):
        raise InputError(
            f"{name}, question {question.id!r}: expected at most {n} distinct messages, "
            f"got {len(ids)}, {len(set(ids))} of them distinct."
        )


def _outcome(
    question: Question,
    dataset: Dataset,
    scorings: Mapping[str, Scoring],
    selection: Selection,
    texts: Mapping[str, str],
    seconds: float,
) -> Outcome:
    units = dataset.gold[question.id].evidence
    return Outcome(
        question.id,
        question.kind,
        selection,
        scorings[question.id](selection.ids, _shown_texts(selection, texts)),
        precision(selection.ids, units) if units else None,
        seconds,
        _misled(dataset.rollbacks.get(question.id), selection),
    )


def _shown_texts(selection: Selection, texts: Mapping[str, str]) -> list[str]:
    """What is shown: the method's own text where it writes one, else the messages."""
    if selection.passages is not None:
        return [passage.text for passage in selection.passages]
    return [texts[i] for i in selection.ids]


def _misled(chain: Rollback | None, selection: Selection) -> bool | None:
    """Revision without rollback."""
    if chain is None:
        return None
    ids = set(selection.ids)
    return not ids.isdisjoint(chain.revisions) and chain.rollback not in ids


def _by_kind(outcomes: Sequence[Outcome]) -> dict[str, list[Share]]:
    return {
        kind: [o.share for o in outcomes if o.kind == kind]
        for kind in sorted({o.kind for o in outcomes if o.kind is not None})
    }
