"""What the pipeline asks of the outside, one frozen record per kind of request.

A flow that needs something yields a request and is sent the answer, so the algorithm is written
once, runs under a sync and an async driver, and is tested by sending answers by hand.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tmem_integrations.messages import Message
from tmem_integrations.prompts.gate import GateVerdict
from tmem_integrations.prompts.relations import RelationVerdict
from tmem_integrations.protocols import (
    Matches,
    Neighbours,
    Partition,
    Ranking,
    Reply,
    Rows,
    Scores,
    Vectors,
    Window,
)

T = TypeVar("T")
Answer = TypeVar("Answer")
Verdict = TypeVar("Verdict", GateVerdict, RelationVerdict)


class Request(Generic[Answer]):
    """What a flow needs from outside, with the type of the answer: `n = yield from Count()`."""

    __slots__ = ()

    def __iter__(self) -> Flow[Answer]:
        answer: Answer = yield self
        return answer


Flow = Generator[Request[Any], Any, T]


@dataclass(frozen=True, slots=True)
class Count(Request[int]):
    """How many messages the scope admits."""


@dataclass(frozen=True, slots=True)
class Pace(Request[float | None]):
    """Median seconds between consecutive messages of a partition; None when there are no two."""


@dataclass(frozen=True, slots=True)
class Search(Request[Matches]):
    """Lexical scores of all messages that share a term with `text`.

    Attributes:
        text: What is searched for.
        containing: Only messages that share a term with this text too; None asks for no more.
    """

    text: str
    containing: str | None = None


@dataclass(frozen=True, slots=True)
class TermScores(Request[Scores]):
    """What each distinct term of `text` adds to the score of rows; answered with (t, n)."""

    text: str
    rows: Rows


@dataclass(frozen=True, slots=True)
class Frequencies(Request[dict[str, int]]):
    """Document frequency of each term of `text`."""

    text: str


@dataclass(frozen=True, slots=True)
class Gather(Request[tuple[Rows, ...]]):
    """Several windows and neighbourhoods at once; answered with an array for each."""

    parts: Sequence[Window | Neighbours]


@dataclass(frozen=True, slots=True)
class Within(Request[Rows]):
    """Rows of all partitions with start <= sent_at < end, POSIX seconds; answered in order of time."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Traffic(Request[tuple[Scores, ...]]):
    """When was written in partitions; answered with (n,) POSIX seconds for each."""

    partitions: Sequence[Partition]


@dataclass(frozen=True, slots=True)
class Associate(Request[tuple[Rows, dict[str, str]]]):
    """Messages that share no word with the question; answered with rows, best first, and via what.

    Attributes:
        question: In words; what is reached may be ranked by them, too.
        vector: (d,) of the question; None without an embedder.
        most: At most this many.
    """

    question: str
    vector: Vectors | None
    most: int


@dataclass(frozen=True, slots=True)
class Times(Request[Scores]):
    """sent_at of rows; answered with (n,) POSIX seconds."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Load(Request[tuple[Message | None, ...]]):
    """The messages of rows; answered with a tuple that has None for what was deleted meanwhile."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class LoadVectors(Request[Vectors | None]):
    """Unit vectors of rows; answered with (n, d), or None when the store keeps none."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Embed(Request[Vectors | None]):
    """Unit vectors of texts; answered with (n, d), or None when there is no embedder."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ask(Request[tuple[Reply, ...]]):
    """Prompts for the language model; answered with one `Reply` for each.

    Attributes:
        prompts: To be asked at once.
        wait: Seconds to wait before.
        timeout: Seconds after which a reply is of no use; None without a deadline.
        schema: JSON schema of the answers.
    """

    prompts: Sequence[str]
    wait: float = 0.0
    timeout: float | None = None
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Rerank(Request[Ranking | None]):
    """Messages for the reranker; answered with a `Ranking`, or None when there is no reranker."""

    question: str
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class Recall(Request[tuple[tuple[Verdict, ...] | None, ...]]):
    """Verdicts known from earlier calls; answered with a tuple of verdicts, or None, for each key."""

    keys: Sequence[str]
    kind: type[Verdict]


@dataclass(frozen=True, slots=True)
class Remember(Request[None]):
    """Verdicts to be known the next time.

    Attributes:
        key: From `verdict_key`.
        verdicts: What the model said.
        shown: The messages it was shown; when one of them has changed meanwhile nothing is kept.
    """

    key: str
    verdicts: Sequence[GateVerdict | RelationVerdict]
    shown: Sequence[Message]
