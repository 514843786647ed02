"""Anchors: the messages that seed retrieval finds (TEF §4.2).

A message is an anchor because it shares words with the question, the asker or the metadata; what it
means is decided later, by its neighbours and by the gate. Only messages with at least one shared
term count: a small or unlucky history must not turn silence into evidence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from tmem_integrations.config import AnchorConfig
from tmem_integrations.messages import Query
from tmem_integrations.protocols import Matches, Rows, Scores
from tmem_integrations.text import without_function_words

MAX_QUESTION_CHARS = 20_000
"""A longer question, such as one with a whole log in it, is read at its beginning and its end: each
distinct word takes a row of scores over all candidates."""

_NAME = re.compile(r"[^\W\d_]+(?:[\s.'’-]+[^\W\d_]+)*\.?")


@dataclass(frozen=True, slots=True)
class Anchors:
    """The best matches, best first.

    Attributes:
        rows: (k,) handles.
        scores: (k,) lexical scores, falling.
    """

    rows: Rows
    scores: Scores

    def __len__(self) -> int:
        return len(self.rows)


def shorten_question(query: Query) -> Query:
    """The query with the middle of its text left out where that is too long to be read.

    Examples:
        >>> shorten_question(Query(text="a" * 15_000 + "b" * 15_000)).text.count("a")
        10000
    """
    if len(query.text) <= MAX_QUESTION_CHARS:
        return query
    half = MAX_QUESTION_CHARS // 2
    return replace(query, text=f"{query.text[:half]}\n{query.text[-half:]}")


def search_text(query: Query) -> str:
    """What is searched for: the asker and the question (TEF §4.2, metadata expansion).

    An id such as "pm_ann_lin" is left out: split into words it would find every product manager.

    Examples:
        >>> search_text(Query(text="When do we ship?", asking_user="Ann"))
        'Ann ship?'
    """
    question = without_function_words(query.text)
    asker = query.asking_user or ""
    return f"{asker} {question}" if _NAME.fullmatch(asker) else question


def select_anchors(matches: Matches, times: Scores, config: AnchorConfig) -> Anchors:
    """The `top_k` matches with the highest score; the earlier one first among equals.

    Args:
        matches: Scored rows, in no particular order.
        times: (n,) sent_at of the matches, POSIX seconds.
        config: How many to take.
    """
    rows, scores = matches.rows, matches.scores
    if len(rows) > config.top_k:
        # Only what can be among them is put into order.
        best = scores >= np.partition(scores, -config.top_k)[-config.top_k]
        rows, scores, times = rows[best], scores[best], times[best]
    order = np.lexsort((rows, times, -scores))[: config.top_k]
    return Anchors(rows[order], scores[order])
