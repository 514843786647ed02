"""What the pipeline asks of the outside, one frozen record per kind of request.

A stage that needs something yields a request and is sent the answer, so the algorithm is written
once, runs under a sync and an async driver, and is tested by sending answers by hand.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tmem_integrations.messages import Message
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.prompts.relations import RelationVerdict
from tmem_integrations.protocols import (
    Matches,
    Partition,
    Ranking,
    Reply,
    Rows,
    Scores,
    Vectors,
)

T = TypeVar("T")
Verdict = TypeVar("Verdict", GateVerdict, RelationVerdict)


@dataclass(frozen=True, slots=True)
class Count:
    """How many messages the scope admits; answered with an int."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Median seconds between consecutive messages of a partition; answered with a float or None."""


@dataclass(frozen=True, slots=True)
class Search:
    """Lexical scores of all messages that share a term with `text`; answered with `Matches`."""

    text: str


@dataclass(frozen=True, slots=True)
class TermScores:
    """What each distinct term of `text` adds to the score of rows; answered with (t, n)."""

    text: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Document frequency of each term of `text`; answered with a dict."""

    text: str


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a partition in a closed interval of POSIX seconds."""

    partition: Partition
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Rows around one row in its partition."""

    row: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Gather:
    """Several windows and neighbourhoods at once; answered with one array of rows for each."""

    parts: tuple[Window | Neighbours, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """Rows of all partitions with start <= sent_at < end, POSIX seconds; answered in order of time."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """When was written in partitions; answered with (n,) POSIX seconds for each."""

    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Associate:
    """Messages that share no word with the question; answered with rows, best first, and via what.

    Attributes:
        question: The question.
        vector: (d,) of the question; None without an embedder.
        most: At most this many.
    """

    question: str
    vector: Vectors | None
    most: int


@dataclass(frozen=True, slots=True)
class Times:
    """sent_at of rows; answered with (n,) POSIX seconds."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Load:
    """The messages of rows; answered with a tuple that has None for what was deleted meanwhile."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class LoadVectors:
    """Unit vectors of rows; answered with (n, d), or None when the store keeps none."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Embed:
    """Unit vectors of texts; answered with (n, d), or None when there is no embedder."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Prompts for the language model; answered with one `Reply` for each.

    Attributes:
        prompts: To be asked at once.
        wait: Seconds to wait before.
        timeout: Seconds after which a reply is of no use; None without a deadline.
        schema: JSON schema of the answers.
    """

    prompts: tuple[str, ...]
    wait: float = 0.0
    timeout: float | None = None
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Rerank:
    """Messages for the reranker; answered with a `Ranking`, or None when there is no reranker."""

    question: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Recall:
    """Verdicts known from earlier calls; answered with a tuple of verdicts, or None, for each key."""

    keys: tuple[str, ...]
    kind: type[GateVerdict] | type[RelationVerdict]


@dataclass(frozen=True, slots=True)
class Remember:
    """Verdicts to be known the next time.

    Attributes:
        key: From `verdict_key`.
        verdicts: What the model said.
        shown: The messages it was shown; when one of them has changed meanwhile nothing is kept.
    """

    key: str
    verdicts: tuple[GateVerdict | RelationVerdict, ...]
    shown: tuple[Message, ...]


Request = (
    Count
    | Pace
    | Search
    | TermScores
    | Frequencies
    | Gather
    | Within
    | Traffic
    | Associate
    | Times
    | Load
    | LoadVectors
    | Embed
    | Ask
    | Rerank
    | Recall
    | Remember
)
Flow = Generator[Request, Any, T]


def count() -> Flow[int]:
    """Yield `Count`."""
    answer: int = yield Count()
    return answer


def pace() -> Flow[float | None]:
    """Yield `Pace`."""
    answer: float | None = yield Pace()
    return answer


def search(text: str) -> Flow[Matches]:
    """Yield `Search`."""
    answer: Matches = yield Search(text)
    return answer


def term_scores(text: str, rows: Rows) -> Flow[Scores]:
    """Yield `TermScores`."""
    answer: Scores = yield TermScores(text, rows)
    return answer


def frequencies(text: str) -> Flow[dict[str, int]]:
    """Yield `Frequencies`."""
    answer: dict[str, int] = yield Frequencies(text)
    return answer


def gather(parts: Sequence[Window | Neighbours]) -> Flow[tuple[Rows, ...]]:
    """Yield `Gather`."""
    answer: tuple[Rows, ...] = yield Gather(tuple(parts))
    return answer


def rows_within(start: float, end: float) -> Flow[Rows]:
    """Yield `Within`."""
    answer: Rows = yield Within(start, end)
    return answer


def traffic(partitions: Sequence[Partition]) -> Flow[tuple[Scores, ...]]:
    """Yield `Traffic`."""
    answer: tuple[Scores, ...] = yield Traffic(tuple(partitions))
    return answer


def associate(
    question: str, vector: Vectors | None, most: int
) -> Flow[tuple[Rows, dict[str, str]]]:
    """Yield `Associate`."""
    answer: tuple[Rows, dict[str, str]] = yield Associate(question, vector, most)
    return answer


def times(rows: Rows) -> Flow[Scores]:
    """Yield `Times`."""
    answer: Scores = yield Times(rows)
    return answer


def load(rows: Rows) -> Flow[tuple[Message | None, ...]]:
    """Yield `Load`."""
    answer: tuple[Message | None, ...] = yield Load(rows)
    return answer


def load_vectors(rows: Rows) -> Flow[Vectors | None]:
    """Yield `LoadVectors`."""
    answer: Vectors | None = yield LoadVectors(rows)
    return answer


def embed(texts: Sequence[str]) -> Flow[Vectors | None]:
    """Yield `Embed`."""
    answer: Vectors | None = yield Embed(tuple(texts))
    return answer


def ask(
    prompts: Sequence[str],
    *,
    wait: float = 0.0,
    timeout: float | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Flow[tuple[Reply, ...]]:
    """Yield `Ask`."""
    answer: tuple[Reply, ...] = yield Ask(tuple(prompts), wait, timeout, schema)
    return answer


def rerank(question: str, messages: Sequence[Message]) -> Flow[Ranking | None]:
    """Yield `Rerank`."""
    answer: Ranking | None = yield Rerank(question, tuple(messages))
    return answer


def recall(
    keys: Sequence[str], kind: type[Verdict]
) -> Flow[tuple[tuple[Verdict, ...] | None, ...]]:
    """Yield `Recall`."""
    answer: tuple[tuple[Verdict, ...] | None, ...] = yield Recall(tuple(keys), kind)
    return answer


def remember(
    key: str, verdicts: Sequence[GateVerdict | RelationVerdict], shown: Sequence[Message]
) -> Flow[None]:
    """Yield `Remember`."""
    yield Remember(key, tuple(verdicts), tuple(shown))
