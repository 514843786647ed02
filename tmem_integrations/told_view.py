"""What a question about a period may read: what was said in it, and what tells of it by a date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.dates import Period, tells_of
from tmem_integrations.messages import Message
from tmem_integrations.protocols import (
    HistoryView,
    Matches,
    Neighbours,
    Partition,
    Rows,
    Scores,
    Vectors,
    Window,
)

# Of the messages outside the period that share a word with the question, so many best are read for dates.
_READ_FOR_DATES = 300


class ToldView:
    """A `HistoryView` of what was said in a period and of what tells of it.

    Counts and frequencies stay those of the whole view, so scores do not depend on the period.

    Args:
        view: What the question may read.
        period: That it names.
        zone: Whose days are meant.
    """

    def __init__(self, view: HistoryView, period: Period, zone: tzinfo) -> None:
        self._view = view
        self._period = period
        self._zone = zone
        self._tells: dict[int, bool] = {}

    @property
    def n_messages(self) -> int:
        """How many messages the scope admits."""
        return self._view.n_messages

    def pace(self) -> float | None:
        """As of the whole view."""
        return self._view.pace()

    def search(
        self,
        text: str,
        *,
        containing: str | None = None,
        between: tuple[float, float] | None = None,
    ) -> Matches:
        """Matches that were said in the period or tell of it by a date."""
        matches = self._view.search(text, containing=containing, between=between)
        said = self._said(matches.rows)
        outside = np.flatnonzero(~said)
        best = outside[np.argsort(-matches.scores[outside], kind="stable")[:_READ_FOR_DATES]]
        tells = best[self._tell(matches.rows[best])]
        inside = Matches(matches.rows[said], matches.scores[said])
        if matches.is_cut:
            # The best of all times may leave out what was said in the period.
            inside = self._view.search(
                text, containing=containing, between=_overlap(between, self._period.seconds)
            )
        return Matches(
            np.concatenate([inside.rows, matches.rows[tells]]),
            np.concatenate([inside.scores, matches.scores[tells]]),
            matches.is_cut,
        )

    def term_scores(self, text: str, rows: Rows) -> Scores:
        """As of the whole view."""
        return self._view.term_scores(text, rows)

    def document_frequencies(self, text: str) -> dict[str, int]:
        """As of the whole view."""
        return self._view.document_frequencies(text)

    def window(self, partition: Partition, start: float, end: float) -> Rows:
        """Messages of a window of the period, or of days on which somebody told of it."""
        return self._kept(self._view.window(partition, start, end))

    def gather(self, parts: Sequence[Window | Neighbours]) -> tuple[Rows, ...]:
        """`window` and `neighbours` for many at once."""
        return tuple(self._kept(rows) for rows in self._view.gather(parts))

    def traffic(self, partitions: Sequence[Partition]) -> tuple[Scores, ...]:
        """As of the whole view."""
        return self._view.traffic(partitions)

    def within(self, start: float, end: float) -> Rows:
        """Messages between two times that were said in the period."""
        rows = self._view.within(start, end)
        return rows[self._said(rows)]

    def latest(self) -> float | None:
        """As of the whole view."""
        return self._view.latest()

    def neighbours(self, row: int, before: int, after: int) -> Rows:
        """Neighbours of the period, or of days on which somebody told of it."""
        return self._kept(self._view.neighbours(row, before, after))

    def rows_of(self, ids: Sequence[str]) -> Rows:
        """Rows that were said in the period or tell of it."""
        rows = self._view.rows_of(ids)
        return rows[self._said(rows) | self._tell(rows)]

    def times(self, rows: Rows) -> Scores:
        """(n,) sent_at in POSIX seconds."""
        return self._view.times(rows)

    def load(self, rows: Rows) -> tuple[Message | None, ...]:
        """The messages; None where one was deleted since the view was made."""
        return self._view.load(rows)

    def vectors(self, rows: Rows) -> Vectors | None:
        """(n, d) unit vectors; None when the store keeps none."""
        return self._view.vectors(rows)

    def _said(self, rows: Rows) -> NDArray[np.bool_]:
        at = self._view.times(rows)
        start, end = self._period.seconds
        return (start <= at) & (at < end)

    def _tell(self, rows: Rows) -> NDArray[np.bool_]:
        new = np.array([row for row in rows.tolist() if row not in self._tells], dtype=np.int64)
        for row, message in zip(new.tolist(), self._view.load(new), strict=True):
            self._tells[row] = message is not None and tells_of(
                message.text, message.sent_at, self._period, self._zone
            )
        return np.array([self._tells[row] for row in rows.tolist()], dtype=np.bool_)

    def _kept(self, rows: Rows) -> Rows:
        """Rows of one partition that belong to the period: said in it, or on a day that tells of it."""
        said = self._said(rows)
        if said.all():
            return rows
        days = np.array(
            [datetime.fromtimestamp(at, self._zone).toordinal() for at in self._view.times(rows)]
        )
        return rows[said | np.isin(days, days[self._tell(rows)])]


def _overlap(one: tuple[float, float] | None, other: tuple[float, float]) -> tuple[float, float]:
    return other if one is None else (max(one[0], other[0]), min(one[1], other[1]))
