"""The way of a question, as a generator without I/O (TEF §4).

anchors → episodes → evidence → relations → forest → compression → linearization. The generator
yields requests and is sent the answers; `drivers.py` runs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

import numpy as np

from tmem_integrations.config import ForestConfig
from tmem_integrations.messages import Message, Query
from tmem_integrations.protocols import Matches, Partition, Rows, Scores, TokenCounter, partition_of
from tmem_integrations.requests import (
    Flow,
    Neighbours,
    Window,
    count,
    frequencies,
    gather,
    load,
    pace,
    search,
    times,
)
from tmem_integrations.stages.anchors import Anchors, search_text, select_anchors
from tmem_integrations.stages.compression import CompressedForest, compress_forest
from tmem_integrations.stages.episodes import Episodes, find_episodes, pace_episodes
from tmem_integrations.stages.evidence import Candidates, Evidence, select_evidence
from tmem_integrations.stages.forest import Forest, grow_forest
from tmem_integrations.stages.linearization import linearize_trees
from tmem_integrations.stages.relations import choose_parents
from tmem_integrations.trace import Recorder, Trace


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answer to one question.

    Attributes:
        query: The question with its filters.
        forest: The forest as shown.
        text: The whole emitted text; empty when there is no evidence.
        tree_texts: One text per tree, in the same order.
        n_tokens: Tokens of `text`.
        dropped: Ids of messages that the budget left no room for.
        degraded: What is less than asked for (cut messages, windows judged by rule), a sentence each.
        trace: What each stage did, and why the result is empty.
    """

    query: Query
    forest: Forest
    text: str
    tree_texts: tuple[str, ...]
    n_tokens: int
    dropped: tuple[str, ...]
    degraded: tuple[str, ...]
    trace: Trace

    @property
    def message_ids(self) -> tuple[str, ...]:
        """Ids in the order shown."""
        return tuple(node.message.id for node in self.forest)

    def metadata(self) -> dict[str, Any]:
        """What goes into `Document.metadata`: JSON values only."""
        nodes = [
            {
                "number": index + 1,
                "message_id": node.message.id,
                "parent": None if node.parent is None else node.parent + 1,
                "relation": node.relation.value,
                "depth": node.depth,
                "label": node.label.value,
                "author": node.message.author,
                "sent_at": node.message.sent_at.isoformat(),
            }
            for index, node in enumerate(self.forest)
        ]
        return {
            "message_ids": list(self.message_ids),
            "nodes": nodes,
            "n_tokens": self.n_tokens,
            "trees": len(self.forest.roots),
            "dropped": list(self.dropped),
            "degraded": list(self.degraded),
            "llm_calls": self.trace.llm_calls,
            "explanation": self.trace.explanation,
        }


def answer_question(
    query: Query,
    config: ForestConfig,
    *,
    counter: TokenCounter,
    zone: tzinfo | None = None,
    unknown_channels: Sequence[str] = (),
) -> Flow[Retrieval]:
    """Retrieve the forest of evidence for one question.

    Args:
        query: The question.
        config: Settings of all stages.
        counter: Counts tokens for the budget.
        zone: Zone of the times shown; UTC when None.
        unknown_channels: Channels the query names that are not there; only explained.
    """
    log = Recorder()
    text = search_text(query)
    matches = yield from search(text)
    at = yield from times(matches.rows)
    with log.stage("anchors", taken=len(matches.rows)) as record:
        anchors = select_anchors(matches, at, config.anchors)
        record.kept = len(anchors)
    if not len(anchors):
        n_messages = yield from count()
        return _empty(query, log, _why_empty(query, n_messages, unknown_channels))
    windows = yield from _windows(anchors, matches, config, log)
    evidence = _evidence(windows, config, log)
    forest = _forest(evidence, [m for w in windows for m in w.messages], log)
    df = yield from frequencies(text)
    df_forest = yield from frequencies(" ".join(node.message.text for node in forest))
    n_messages = yield from count()
    with log.stage("compression", taken=len(forest)) as record:
        compressed = compress_forest(
            forest,
            query.text,
            document_frequencies={**df, **df_forest},
            n_messages=n_messages,
            counter=counter,
            config=config.compression,
            zone=zone or UTC,
        )
        record.kept = len(compressed.forest)
        record.notes["n_tokens"] = compressed.n_tokens
    return _result(query, compressed, zone or UTC, log, unknown_channels)


def _windows(
    anchors: Anchors, matches: Matches, config: ForestConfig, log: Recorder
) -> Flow[tuple[Candidates, ...]]:
    """Find the episodes and load the messages around the anchors."""
    found = yield from load(anchors.rows)
    alive = [i for i, message in enumerate(found) if message is not None]
    partitions = [partition_of(m) for m in found if m is not None]
    rows = anchors.rows[alive]
    at = yield from times(rows)
    settings = config.episodes
    if config.scale == "auto":
        settings = pace_episodes(settings, (yield from pace()))
    with log.stage("episodes", taken=len(rows)) as record:
        episodes = find_episodes(rows, at, partitions, settings)
        record.notes["radius_seconds"] = settings.radius.total_seconds()
        record.kept = len(episodes.kept)
        record.notes.update(lone=len(episodes.lone), sparse=episodes.n_sparse)
    runs = yield from _runs(episodes, dict(zip(rows.tolist(), partitions, strict=True)), config)
    order = np.argsort(matches.rows)
    messages = yield from load(np.concatenate(runs or [anchors.rows[:0]]))
    ends = np.cumsum([len(run) for run in runs])
    return tuple(
        _candidates(run, messages[end - len(run) : end], matches, order, anchors.rows)
        for run, end in zip(runs, ends.tolist(), strict=True)
    )


def _runs(
    episodes: Episodes, partitions: dict[int, Partition], config: ForestConfig
) -> Flow[list[Rows]]:
    """Runs of consecutive messages around the anchors; no message is in two."""
    around = config.evidence.lone_neighbours
    parts: list[Window | Neighbours] = [Window(e.partition, e.start, e.end) for e in episodes.kept]
    parts += [Neighbours(row, around, around) for row in episodes.lone]
    owners = [e.partition for e in episodes.kept] + [partitions[row] for row in episodes.lone]
    answers = yield from gather(parts)
    by_partition: dict[Partition, list[Rows]] = defaultdict(list)
    for owner, run in zip(owners, answers, strict=True):
        if len(run):
            by_partition[owner].append(run)
    merged: list[Rows] = []
    for runs in by_partition.values():
        first = yield from times(np.array([run[0] for run in runs]))
        merged.extend(_merge_runs([runs[i] for i in np.argsort(first, kind="stable")]))
    return merged


def _merge_runs(runs: Sequence[Rows]) -> list[Rows]:
    """Join runs that share rows; each is a stretch of the same sequence."""
    merged: list[Rows] = []
    for run in runs:
        known = set(merged[-1].tolist()) if merged else set()
        fresh = [row for row in run.tolist() if row not in known]
        if len(fresh) == len(run):
            merged.append(run)
        elif run[-1] not in known:
            merged[-1] = np.concatenate([merged[-1], np.array(fresh, dtype=np.int64)])
    return merged


def _candidates(
    run: Rows,
    messages: Sequence[Message | None],
    matches: Matches,
    order: Rows,
    anchors: Rows,
) -> Candidates:
    alive = np.array([m is not None for m in messages], dtype=np.bool_)
    rows = run[alive]
    lexical: Scores = np.zeros(len(rows))
    at = np.searchsorted(matches.rows, rows, sorter=order).clip(max=len(order) - 1)
    hit = matches.rows[order[at]] == rows
    lexical[hit] = matches.scores[order[at[hit]]]
    kept = tuple(m for m in messages if m is not None)
    return Candidates(kept, lexical, np.isin(rows, anchors))


def _evidence(
    windows: Sequence[Candidates], config: ForestConfig, log: Recorder
) -> tuple[Evidence, ...]:
    with log.stage("evidence", taken=sum(len(w.messages) for w in windows)) as record:
        evidence = select_evidence(windows, config.evidence)
        record.kept = len(evidence)
    return evidence


def _forest(evidence: Sequence[Evidence], around: Sequence[Message], log: Recorder) -> Forest:
    with log.stage("forest", taken=len(evidence)) as record:
        forest = grow_forest(evidence, choose_parents(evidence, around))
        record.kept = len(forest)
        record.notes["trees"] = len(forest.roots)
    return forest


def _result(
    query: Query,
    compressed: CompressedForest,
    zone: tzinfo,
    log: Recorder,
    unknown_channels: Sequence[str],
) -> Retrieval:
    explanation = compressed.explanation
    if unknown_channels and explanation is None:
        explanation = _unknown(unknown_channels)
    return Retrieval(
        query=query,
        forest=compressed.forest,
        text=compressed.text,
        tree_texts=linearize_trees(compressed, zone=zone),
        n_tokens=compressed.n_tokens,
        dropped=compressed.dropped,
        degraded=_degraded(compressed),
        trace=log.trace(explanation),
    )


def _degraded(compressed: CompressedForest) -> tuple[str, ...]:
    """What the budget cost the messages that are shown."""
    notes = []
    if any(compressed.omitted):
        n = sum(count > 0 for count in compressed.omitted)
        notes.append(f"The budget left out sentences of {n} messages.")
    if compressed.cut:
        notes.append(
            f"The budget cut {len(compressed.cut)} messages short: {list(compressed.cut)}."
        )
    return tuple(notes)


def _empty(query: Query, log: Recorder, explanation: str) -> Retrieval:
    return Retrieval(query, Forest(), "", (), 0, (), (), log.trace(explanation))


def _why_empty(query: Query, n_messages: int, unknown_channels: Sequence[str]) -> str:
    if unknown_channels:
        return _unknown(unknown_channels)
    if not query.text.strip():
        return "The question is empty."
    if n_messages == 0:
        return "No message is in the scope of the question: the history is empty or its filters leave nothing."
    return f"None of the {n_messages} messages in scope shares a word with the question."


def _unknown(channels: Sequence[str]) -> str:
    return f"No channel named {', '.join(map(repr, channels))} can be read here."
