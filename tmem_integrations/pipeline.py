"""The way of a question, as a generator without I/O (TEF §4).

anchors → episodes → evidence → relations → forest → compression → linearization. The generator
yields requests and is sent the answers; `drivers.py` runs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, tzinfo

import numpy as np

from tmem_integrations.config import CompressionConfig, ForestConfig, RelevanceConfig
from tmem_integrations.explanations import no_such_channel, nothing_kept, why_empty
from tmem_integrations.judges.panel import RULES, Gate, Linker, Panel
from tmem_integrations.messages import Message, Query
from tmem_integrations.protocols import Matches, Partition, Scores, TokenCounter, partition_of
from tmem_integrations.requests import (
    Associate,
    Count,
    Embed,
    Flow,
    Frequencies,
    Gather,
    Load,
    LoadVectors,
    Pace,
    Search,
    TermScores,
    Times,
    Traffic,
    Within,
)
from tmem_integrations.retrieval import Retrieval
from tmem_integrations.stages.anchors import (
    MAX_QUESTION_CHARS,
    Anchors,
    search_text,
    select_anchors,
    shorten_question,
)
from tmem_integrations.stages.associations import (
    Associations,
    count_places,
    lift_associations,
)
from tmem_integrations.stages.candidates import Candidates, join_runs, windows_of
from tmem_integrations.stages.compression import CompressedForest, compress_forest, show_whole
from tmem_integrations.stages.episodes import Episodes, find_episodes, pace_episodes
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, grow_forest
from tmem_integrations.stages.linearization import split_trees
from tmem_integrations.stages.listing import Listing, choose_spread, thin_out
from tmem_integrations.stages.relevance import rate_candidates, rate_similarity, unexplained
from tmem_integrations.stages.traffic import count_traffic
from tmem_integrations.stores.compatibility import require_same_length
from tmem_integrations.text import without_function_words
from tmem_integrations.trace import OnStage, Recorder, Timeline

__all__ = ["Retrieval", "answer_question"]

# Below this share of the question left open by words, vectors could move a score by 4 % at the most.
_WORDS_SUFFICE = 0.3
_SHORTENED = (
    f"The question is longer than {MAX_QUESTION_CHARS:,} characters; its middle was not read."
)


def answer_question(
    query: Query,
    config: ForestConfig,
    *,
    counter: TokenCounter,
    panel: Panel = RULES,
    zone: tzinfo | None = None,
    language: str | None = None,
    unknown_channels: Sequence[str] = (),
    on_stage: OnStage | None = None,
    associative: bool = False,
    listing: Listing | None = None,
) -> Flow[Retrieval]:
    """Retrieve the forest of evidence for one question.

    Args:
        query: The question.
        config: Settings of all stages.
        counter: Counts tokens for the budget.
        panel: Who judges evidence and relations.
        zone: Zone of the times shown; UTC when None.
        language: How the history splits words, see `text.split_terms`.
        unknown_channels: Channels the query names that are not there; only explained.
        on_stage: Told of each stage as it ends.
        associative: Whether there is an associative memory to ask.
        listing: What to list, where the question names a time and no subject.
    """
    log = Recorder(on_stage)
    whole, query = query, shorten_question(query)
    if query is not whole:
        log.degraded.append(_SHORTENED)
    if listing is not None:
        query = replace(query, text=listing.without_phrase(query.text))
    matches = yield from _matches(query)
    at = yield from Times(matches.rows)
    with log.stage("anchors", taken=len(matches.rows)) as record:
        anchors = select_anchors(matches, at, config.anchors)
        record.kept = n_by_words = len(anchors)
    associations = Associations()
    if listing is not None:
        associations = yield from _listed(listing, len(anchors), config, log)
        anchors = _joined(anchors, associations)
    elif associative:
        associations = yield from _associations(query, anchors, config, log)
        anchors = _joined(anchors, associations)
    if not len(anchors):
        n_messages = yield from Count()
        return _empty(whole, why_empty(whole, n_messages, unknown_channels), zone or UTC, log)
    found = yield from Load(anchors.rows)
    candidates = yield from _candidates(query, anchors, found, config, log)
    evidence = yield from _evidence(query, candidates, associations, config, panel.gate, log)
    forest = yield from _forest(query, evidence, candidates.messages, panel.linker, log)
    log.spend(panel.budget)
    with log.stage("compression", taken=len(forest)) as record:
        compressed = yield from _compressed(
            query, forest, config.compression, counter, zone or UTC, language
        )
        record.kept = len(compressed.forest)
        record.notes.update(n_tokens=compressed.n_tokens, max_tokens=config.compression.max_tokens)
    seeds = tuple(
        Evidence(message, Label.ANCHOR, float(score))
        for message, score in zip(found[:n_by_words], anchors.scores[:n_by_words], strict=True)
        if message is not None
    )
    return _result(whole, compressed, seeds, associations, zone or UTC, log, unknown_channels)


def _matches(query: Query) -> Flow[Matches]:
    """Messages with a word of the question; the asker's name adds to a score but finds nothing alone."""
    text, question = search_text(query), without_function_words(query.text)
    return (yield from Search(text, None if text == question else question))


def _associations(
    query: Query, anchors: Anchors, config: ForestConfig, log: Recorder
) -> Flow[Associations]:
    """What an associative memory reaches, as far as words leave the question open."""
    with log.stage("associations", taken=len(anchors)) as record:
        scores = yield from TermScores(search_text(query), anchors.rows)
        share = yield from _unexplained(query, scores)
        most = count_places(share, config.evidence.max_messages, config.associations)
        record.notes.update(unexplained=round(share, 3), places=most)
        if most == 0 or not query.text.strip():
            return Associations()
        question = yield from Embed([query.text])
        vector = None if question is None else question[0]
        rows, via = yield from Associate(query.text, vector, most)
        record.kept = len(rows)
        record.notes.update(Counter(via.values()))
    return Associations(rows, via)


def _listed(
    listing: Listing, n_anchors: int, config: ForestConfig, log: Recorder
) -> Flow[Associations]:
    """What stands for a stretch of time; words that do hit take half the places at most."""
    rows = yield from Within(listing.start, listing.end)
    with log.stage("listing", taken=len(rows)) as record:
        read = thin_out(rows)
        messages = yield from Load(read)
        most = min(config.anchors.top_k, config.evidence.max_messages)
        chosen = choose_spread(messages, most - min(n_anchors, most // 2))
        record.kept = len(chosen)
    return Associations(read[chosen])


def _joined(anchors: Anchors, associations: Associations) -> Anchors:
    """All anchors; those that no word found come last and have no lexical score."""
    new = associations.rows[~np.isin(associations.rows, anchors.rows)]
    return Anchors(
        np.concatenate([anchors.rows, new]), np.concatenate([anchors.scores, np.zeros(len(new))])
    )


def _unexplained(query: Query, scores: Scores) -> Flow[float]:
    """Which share of the question some messages leave open.

    Args:
        scores: (t, n) of the terms of the search text.
    """
    asked = yield from Frequencies(without_function_words(query.text))
    searched = yield from Frequencies(search_text(query))
    n_messages = yield from Count()
    is_asked = [term in asked for term in searched]
    df = np.array(list(searched.values()), dtype=np.float64)[is_asked]
    idf = np.maximum(np.log((n_messages - df + 0.5) / (df + 0.5)), 0)
    return unexplained(scores[is_asked], idf)


def _candidates(
    query: Query,
    anchors: Anchors,
    found: Sequence[Message | None],
    config: ForestConfig,
    log: Recorder,
) -> Flow[Candidates]:
    """Find the episodes and load the messages around the anchors."""
    alive = np.array([message is not None for message in found], dtype=np.bool_)
    rows = anchors.rows[alive]
    partitions = [partition_of(m) for m in found if m is not None]
    at = yield from Times(rows)
    settings = config.episodes
    if config.scale == "auto":
        settings = pace_episodes(settings, (yield from Pace()))
    with log.stage("episodes", taken=len(rows)) as record:
        episodes = find_episodes(rows, at, partitions, settings)
        record.kept = len(episodes.kept)
        record.notes.update(
            lone=len(episodes.lone),
            sparse=episodes.n_sparse,
            radius_seconds=settings.radius.total_seconds(),
        )
    log.timeline = yield from _timeline(partitions, episodes)
    reach = config.relevance.reach
    owners, parts = windows_of(episodes, dict(zip(rows.tolist(), partitions, strict=True)), reach)
    read = yield from Gather(parts)
    runs = join_runs(owners, read, rows, reach)
    around = np.concatenate(runs or (rows[:0],))
    messages = yield from Load(around)
    alive = np.array([message is not None for message in messages], dtype=np.bool_)
    scores = yield from TermScores(search_text(query), around[alive])
    asked = yield from Frequencies(without_function_words(query.text))
    searched = yield from Frequencies(search_text(query))
    return Candidates(
        messages=tuple(m for m in messages if m is not None),
        rows=around[alive],
        runs=np.repeat(np.arange(len(runs)), [len(run) for run in runs])[alive],
        term_scores=scores,
        is_asked=np.array([term in asked for term in searched], dtype=np.bool_),
        is_anchor=np.isin(around[alive], rows),
    )


def _timeline(partitions: Sequence[Partition], episodes: Episodes) -> Flow[Timeline]:
    shown = [partition for partition, _ in Counter(partitions).most_common()]
    at = yield from Traffic(shown)
    return count_traffic(shown, at, episodes)


def _evidence(
    query: Query,
    candidates: Candidates,
    associations: Associations,
    config: ForestConfig,
    gate: Gate,
    log: Recorder,
) -> Flow[tuple[Evidence, ...]]:
    similarity = yield from _similarity(query, candidates, config.relevance)
    with log.stage("evidence", taken=len(candidates)) as record:
        relevance = rate_candidates(candidates, query, config.relevance, similarity)
        if len(associations):
            relevance = lift_associations(
                relevance, candidates.rows, associations.rows, config.evidence.max_messages
            )
        judged = yield from gate(query, candidates, relevance, config.evidence)
        record.kept = len(judged.verdict)
        record.notes.update(judged.notes, vectors=similarity is not None)
        log.degraded.extend(judged.degraded)
    return judged.verdict


def _similarity(
    query: Query, candidates: Candidates, config: RelevanceConfig
) -> Flow[Scores | None]:
    """What vectors say, where words leave enough of the question open to ask them."""
    share = yield from _unexplained(query, candidates.term_scores)
    if config.similarity == 0 or share < _WORDS_SUFFICE or not len(candidates):
        return None
    vectors = yield from LoadVectors(candidates.rows)
    if vectors is None:
        return None
    question = yield from Embed([query.text])
    if question is None:
        return None
    require_same_length(vectors.shape[1], question.shape[1])
    return rate_similarity(vectors, question[0], candidates.term_scores, share, config)


def _forest(
    query: Query,
    evidence: Sequence[Evidence],
    around: Sequence[Message],
    linker: Linker,
    log: Recorder,
) -> Flow[Forest]:
    with log.stage("forest", taken=len(evidence)) as record:
        judged = yield from linker(query, evidence, around)
        forest = grow_forest(evidence, judged.verdict)
        record.kept = len(forest)
        record.notes.update(judged.notes, trees=len(forest.roots))
        log.degraded.extend(judged.degraded)
    return forest


def _compressed(
    query: Query,
    forest: Forest,
    config: CompressionConfig,
    counter: TokenCounter,
    zone: tzinfo,
    language: str | None,
) -> Flow[CompressedForest]:
    """The forest within the budget. Only what has to be shortened needs its words counted."""
    whole = show_whole(forest, counter=counter, config=config, zone=zone)
    if whole is not None:
        return whole
    df = yield from Frequencies(search_text(query))
    df_forest = yield from Frequencies(" ".join(node.message.text for node in forest))
    n_messages = yield from Count()
    return compress_forest(
        forest,
        query.text,
        document_frequencies={**df, **df_forest},
        n_messages=n_messages,
        counter=counter,
        config=config,
        zone=zone,
        language=language,
    )


def _result(
    query: Query,
    compressed: CompressedForest,
    anchors: tuple[Evidence, ...],
    associations: Associations,
    zone: tzinfo,
    log: Recorder,
    unknown_channels: Sequence[str],
) -> Retrieval:
    explanation = compressed.explanation
    if unknown_channels and explanation is None:
        explanation = no_such_channel(unknown_channels)
    if explanation is None and not len(compressed.forest):
        explanation = nothing_kept(len(anchors))
    return Retrieval(
        query=query,
        forest=compressed.forest,
        text=compressed.text,
        tree_texts=split_trees(compressed.text),
        n_tokens=compressed.n_tokens,
        dropped=compressed.dropped,
        degraded=(*log.degraded, *compressed.degraded),
        trace=log.trace(explanation),
        anchors=anchors,
        associated={
            n.message.id: associations.via[n.message.id]
            for n in compressed.forest
            if n.message.id in associations.via
        },
        zone=zone,
    )


def _empty(query: Query, explanation: str, zone: tzinfo, log: Recorder) -> Retrieval:
    degraded, trace = tuple(log.degraded), log.trace(explanation)
    return Retrieval(query, Forest(), "", (), 0, (), degraded, trace, zone=zone)
