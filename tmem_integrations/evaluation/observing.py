"""Asking a data set's questions for their anchors, and laying them beside the evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tmem_integrations.config import EpisodeConfig, ForestConfig
from tmem_integrations.evaluation.episodes import Observation, Seconds
from tmem_integrations.evaluation.questions import Dataset, History, Question
from tmem_integrations.evaluation.recall import Progress
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Partition, partition_of
from tmem_integrations.stages.anchors import search_text, select_anchors
from tmem_integrations.stages.episodes import pace_episodes


def observe_anchors(
    dataset: Dataset, config: ForestConfig, *, progress: Progress = lambda: None
) -> Iterator[Observation]:
    """Where the anchors of each question with evidence lie, partition by partition.

    Args:
        dataset: Messages, questions and evidence.
        config: How many anchors.
        progress: Called after each question.
    """
    for history in dataset.histories():
        questions = [q for q in history.questions if dataset.gold[q.id].evidence]
        if not questions:
            continue
        memory = _memory(history)
        by_id = {message.id: message for message in history.messages}
        times = _times(history.messages)
        spans = {partition: (own.min(), own.max()) for partition, own in times.items()}
        for question in questions:
            ids = frozenset().union(*dataset.gold[question.id].evidence)
            evidence = [by_id[i] for i in sorted(ids)]
            yield from _observe(memory, question, evidence, config, spans)
            progress()
        memory.close()


def history_pace(dataset: Dataset, config: EpisodeConfig) -> EpisodeConfig | None:
    """What `scale="auto"` sets for the first history; None when its pace cannot be measured."""
    for history in dataset.histories():
        memory = _memory(history)
        gap = memory.store.view(memory.scope(memory.query(""))).pace()
        memory.close()
        return None if gap is None else pace_episodes(config, gap)
    return None


def _memory(history: History) -> TemporalMemory:
    return TemporalMemory.from_messages(history.messages, timezone="UTC")


def _observe(
    memory: TemporalMemory,
    question: Question,
    evidence: Sequence[Message],
    config: ForestConfig,
    spans: Mapping[Partition, tuple[float, float]],
) -> Iterator[Observation]:
    query = question.query()
    view = memory.store.view(memory.scope(query))
    matches = view.search(search_text(query))
    anchors = select_anchors(matches, view.times(matches.rows), config.anchors)
    found = [message for message in view.load(anchors.rows) if message is not None]
    anchor_times, evidence_times = _times(found), _times(evidence)
    nothing = np.empty(0)
    for partition in anchor_times.keys() | evidence_times.keys():
        yield Observation(
            anchor_times.get(partition, nothing),
            evidence_times.get(partition, nothing),
            *spans[partition],
        )


def _times(messages: Sequence[Message]) -> dict[Partition, Seconds]:
    found: dict[Partition, list[float]] = defaultdict(list)
    for message in messages:
        found[partition_of(message)].append(message.sent_at.timestamp())
    return {partition: np.array(times) for partition, times in found.items()}
