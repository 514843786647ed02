r"""Relevance: how much a message and what was said around it answer the question.

People do not repeat the question's words in every message. So each term's energy spreads from where it
was said to the messages nearby, and to those that reply, are addressed, or go on speaking:

$$ r_i = \sum_t \Big(\sum_j K(i, j)\, a_{tj}^2\Big)^{1/2} + \lambda \sum_t a_{ti} \qquad
   K(i, j) = (1 + |i - j|)^{-p} $$

with a_tj the BM25 weight of term t in message j. Squares under a root per term: one term said many times
saturates, different terms add up, so a message ranks high when its surroundings cover much of the
question. This is our gate where no model sits (TEF uses embeddings to rank inside a window); unlike an
exponential, the heavy tail needs no width fitted to the pace of a chat.

Where the question asks what holds now, late messages are favoured; but the answer is a chain, from what
was first said to what holds, so some places go to the best whenever it was said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import correlate1d
from scipy.sparse import csr_matrix

from tmem_integrations.config import RelevanceConfig
from tmem_integrations.messages import Message, Query
from tmem_integrations.protocols import Scores, Vectors
from tmem_integrations.stages.candidates import Candidates

_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\s*@?([^\s,:]{1,40})[,:]|\s*@(\S{1,40})")
# The question wants the present state. Function words of a few languages, matched as whole words.
_CURRENT = re.compile(
    r"\b(?:current|currently|now|latest|still|final|today|newest|aktuell\w*|jetzt|derzeit|heute|"
    r"actual|ahora|hoy|actuel\w*|maintenant|aujourd'hui)\b|现在|目前|最新|今",
    re.IGNORECASE,
)
_REPLY, _ADDRESSED, _SAME_AUTHOR = 2.0, 1.0, 0.5
# What was replaced is found by the words it shares with the question more than by its surroundings.
_PLAIN_WORDS = 3.0


def rate_candidates(
    candidates: Candidates, query: Query, config: RelevanceConfig, similarity: Scores | None = None
) -> Scores:
    """Rate each candidate for a question.

    Args:
        candidates: From the windows around the anchors.
        query: The question.
        config: Weights.
        similarity: (n,) what vectors say beyond words, from `rate_similarity`; not negative.

    Returns:
        (n,) relevance, not negative, comparable within one question; 0 where nothing speaks for it.
    """
    terms = _balance(candidates.term_scores, candidates.is_asked, config.asker_words)
    if similarity is not None:
        terms = np.vstack([terms, similarity])
    groups = list(_conversations(candidates))
    energy = terms**2
    energy = energy + config.link * (_links(candidates.messages, groups, config.reach) @ energy.T).T
    spread = np.zeros_like(energy)
    # Where relevance comes from, relative to the message: answers follow questions.
    offsets = np.arange(-config.reach, config.reach + 1)
    direction = np.where(offsets < 0, config.onward, 2 - config.onward)
    kernel = np.where(offsets == 0, 1.0, direction) * (1.0 + np.abs(offsets)) ** -config.decay
    for group in groups:
        spread[:, group] = correlate1d(energy[:, group], kernel, axis=1, mode="constant")
    own: Scores = terms[: len(candidates.is_asked)].sum(axis=0)
    around: Scores = np.sqrt(spread).sum(axis=0)
    rated: Scores = around + config.own * own
    rated = rated * _favour(candidates, rated, query, config)
    if not _CURRENT.search(query.text):
        return rated
    said: Scores = around + _PLAIN_WORDS * own
    said = said * _favour(candidates, said, query, config)
    return _share_places(rated * _lateness(candidates.messages, config.late), said, config.past)


def _balance(term_scores: Scores, is_asked: NDArray[np.bool_], share: float) -> Scores:
    """Keep the asker's name from outweighing a short question: everything the asker ever wrote holds it."""
    best = term_scores.max(axis=1, initial=0.0)
    asked, asker = float(best[is_asked].sum()), float(best[~is_asked].sum())
    if asker <= share * asked:
        return term_scores
    return np.where(is_asked, 1.0, share * asked / asker)[:, None] * term_scores


def unexplained(term_scores: Scores, idf: Scores) -> float:
    """Which share of the question no message puts into its words.

    Args:
        term_scores: (t, n) of the terms of the question, 0 where a term does not occur.
        idf: (t,) their weight; of a term that occurs nowhere, what it would weigh.

    Returns:
        0 when one message holds every term, 1 when none holds any.
    """
    total = float(idf.sum())
    if total <= 0 or term_scores.size == 0:
        return 1.0
    said = np.minimum(term_scores, idf[:, None]).sum(axis=0).max()
    return float(np.clip(1 - said / total, 0, 1))


def rate_similarity(
    vectors: Vectors, question: Vectors, term_scores: Scores, share: float, config: RelevanceConfig
) -> Scores:
    """What vectors say beyond words: one more term, as large as the words leave the question open.

    Args:
        vectors: (n, d) of the candidates.
        question: (d,) of the question.
        term_scores: (t, n) to take its size from.
        share: Share of the question that words leave open, from `unexplained`.

    Returns:
        (n,) not negative; 0 for candidates about as similar as the average one.
    """
    # Static vectors share a common direction, which says nothing: it is taken out first.
    mean = vectors.mean(axis=0)
    centred, target = vectors - mean, question - mean
    norms = np.linalg.norm(centred, axis=1) * np.linalg.norm(target)
    cosine = centred @ target / np.maximum(norms, 1e-9)
    standing = (cosine - cosine.mean()) / (cosine.std() + 1e-9) - config.similarity_floor
    lexical = np.sort(term_scores.sum(axis=0))[-10:].mean() if term_scores.size else 1.0
    rated: Scores = config.similarity * lexical * share**2 * np.maximum(standing, 0)
    return rated


def _conversations(candidates: Candidates) -> Iterator[NDArray[np.int64]]:
    """Positions of consecutive messages of one channel."""
    members: dict[tuple[int, str | None], list[int]] = defaultdict(list)
    for i, (run, message) in enumerate(
        zip(candidates.runs.tolist(), candidates.messages, strict=True)
    ):
        members[run, message.channel].append(i)
    for positions in members.values():
        yield np.array(positions, dtype=np.int64)


def _links(
    messages: Sequence[Message], groups: Sequence[NDArray[np.int64]], reach: int
) -> csr_matrix:
    """(n, n) symmetric weights of replies, addresses ("nick: …") and what the author said before."""
    at = {message.id: i for i, message in enumerate(messages)}
    pairs: list[tuple[int, int, float]] = [
        (i, at[m.reply_to], _REPLY) for i, m in enumerate(messages) if m.reply_to in at
    ]
    folded = {author: (author or "").casefold() for author in {m.author for m in messages}}
    for group in groups:
        latest: dict[str, int] = {}
        members = group.tolist()
        for place, i in enumerate(members):
            author = folded[messages[i].author]
            nick = _addressed(messages[i].text)
            to_nick = latest.get(nick) if nick and nick != author else None
            to_self = latest.get(author) if author else None
            if to_nick is not None and place - to_nick <= 2 * reach:
                pairs.append((i, members[to_nick], _ADDRESSED))
            # Direct neighbours reach each other anyway.
            if to_self is not None and 1 < place - to_self <= 2 * reach:
                pairs.append((i, members[to_self], _SAME_AUTHOR))
            latest[author] = place
    rows, columns, weights = zip(*pairs, strict=True) if pairs else ((), (), ())
    one_way = csr_matrix((weights, (rows, columns)), shape=(len(messages),) * 2)
    return one_way + one_way.T


def _addressed(text: str) -> str:
    """Who is addressed at the head of a text, "" for nobody."""
    head = text[:100]
    # Most texts hold none of the marks, and a look for them costs less than the pattern.
    hit = _ADDRESS.match(head.casefold()) if "," in head or ":" in head or "@" in head else None
    return (hit[1] or hit[2]) if hit else ""


def _favour(candidates: Candidates, rated: Scores, query: Query, config: RelevanceConfig) -> Scores:
    """(n,) factors for who wrote a message and where."""
    messages = candidates.messages
    factor = np.ones(len(messages))
    asked = set(_WORD.findall(query.text.casefold()))
    authors = {m.author for m in messages}
    named = {a for a in authors if asked.intersection(_WORD.findall((a or "").casefold()))}
    is_named = [m.author in named for m in messages]
    factor[np.array(is_named, dtype=np.bool_)] *= 1 + config.named_author
    if query.asking_user is not None:
        mine = [query.asking_user in (m.author, m.author_id) for m in messages]
        factor[np.array(mine, dtype=np.bool_)] *= 1 + config.asker
    channels, codes = np.unique([m.channel or "" for m in messages], return_inverse=True)
    best = np.zeros(len(channels))
    np.maximum.at(best, codes, rated)
    if best.max(initial=0.0) > 0:
        factor *= (best[codes] / best.max()) ** config.channel
    return factor


def _lateness(messages: Sequence[Message], late: float) -> Scores:
    """(n,) factors from 1 for the earliest message to almost 1 + `late` for the latest."""
    times = np.array([m.sent_at.timestamp() for m in messages])
    factors: Scores = 1 + late * np.searchsorted(np.sort(times), times) / max(1, len(times))
    return factors


def _share_places(first: Scores, second: Scores, every: int) -> Scores:
    """One ranking of two: each `every`-th place goes to the best of `second` that has none yet.

    Args:
        first: (n,) not negative.
        second: (n,) not negative.
        every: 0 for no place.

    Returns:
        (n,) the scores of `first`, dealt out anew: each candidate has that of the place it takes.
    """
    if not every:
        return first
    queues = [iter(np.argsort(-scores, kind="stable").tolist()) for scores in (first, second)]
    order: dict[int, None] = {}
    while len(order) < len(first):
        queue = queues[(len(order) + 1) % every == 0]
        order.setdefault(next(i for i in queue if i not in order))
    shared = np.empty_like(first)
    shared[list(order)] = np.sort(first)[::-1]
    return shared
