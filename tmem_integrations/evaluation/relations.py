"""How well two messages are linked, on pairs that were read by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tmem_integrations.errors import ImportFormatError, MessageError
from tmem_integrations.evaluation.measures import bootstrap_interval
from tmem_integrations.evaluation.records import optional_text, read_lines, text_of
from tmem_integrations.messages import Message
from tmem_integrations.prompts.relations import RelationKind

KINDS: tuple[RelationKind, ...] = ("UPDATE", "EXPAND", "NONE")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two messages of one conversation, without reply link: that would tell.

    Attributes:
        id: Of the pair.
        source: The data set they are from.
        question: For which they were read; None when for none.
        earlier: What may be the parent.
        later: What may be the child.
        surroundings: Their conversation, in order of time; empty when it is not at hand.
    """

    id: str
    source: str
    question: str | None
    earlier: Message
    later: Message
    surroundings: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class PairGold:
    """How a reader linked a pair.

    Attributes:
        kind: UPDATE, EXPAND or NONE.
        hard: Whether cue words alone mislead.
    """

    kind: RelationKind
    hard: bool


class Linker(Protocol):
    """Says how each pair is linked."""

    @property
    def name(self) -> str: ...

    def link(self, pairs: Sequence[Pair]) -> list[RelationKind | None]:
        """One relation per pair, in order; None where there is no judgement."""
        ...


def read_pairs(
    path: Path, histories: Mapping[str, Sequence[Message]] | None = None, timezone: str = "UTC"
) -> list[tuple[Pair, PairGold]]:
    """Read `relations.jsonl`: lines with id, source, question, earlier, later, label and hard.

    Args:
        path: The file.
        histories: By source, the messages the pairs are from; without, a pair stands alone, in a
            channel that is its ids up to the last slash.
        timezone: Zone of times that carry none.

    Raises:
        ImportFormatError: At the first line that cannot be read.
    """
    conversations = {source: _Conversations(own) for source, own in (histories or {}).items()}
    pairs: list[tuple[Pair, PairGold]] = []
    for where, record in read_lines(path):
        kind = next((known for known in KINDS if known == record.get("label")), None)
        if kind is None:
            raise ImportFormatError(
                f"{where}: expected label as one of {KINDS}, found {record.get('label')!r}."
            )
        source = text_of(record, "source", where)
        around = conversations.get(source, _Conversations(()))
        earlier, later = (
            around.known(_read_message(record, part, timezone, where))
            for part in ("earlier", "later")
        )
        pair = Pair(
            text_of(record, "id", where),
            source,
            optional_text(record, "question", where),
            earlier,
            later,
            around.of(earlier),
        )
        pairs.append((pair, PairGold(kind, bool(record.get("hard")))))
    return pairs


class _Conversations:
    """Messages by id and by channel, without their reply links."""

    def __init__(self, messages: Sequence[Message]) -> None:
        blind = [replace(message, reply_to=None) for message in messages]
        self._by_id = {message.id: message for message in blind}
        self._by_channel: dict[str | None, list[Message]] = defaultdict(list)
        for message in sorted(blind, key=lambda m: m.sent_at):
            self._by_channel[message.channel].append(message)

    def known(self, message: Message) -> Message:
        """The whole message where the history has it."""
        return self._by_id.get(message.id, message)

    def of(self, message: Message) -> tuple[Message, ...]:
        """The conversation it is from."""
        return tuple(self._by_channel.get(message.channel, ()))


def _read_message(record: Mapping[str, Any], part: str, timezone: str, where: str) -> Message:
    given = record.get(part)
    if not isinstance(given, dict):
        raise ImportFormatError(f"{where}: expected {part!r} as a message, found {given!r:.80}.")
    try:
        message = Message.from_dict(given, timezone=timezone)
    except MessageError as error:
        raise ImportFormatError(f"{where}, {part}: {error}") from error
    channel = message.channel or message.id.rpartition("/")[0] or None
    return replace(message, channel=channel, reply_to=None)


@dataclass(frozen=True, slots=True)
class PackageLinker:
    """The package's own linker, which needs no model.

    Its coefficients were fitted on labelled pairs: on those same pairs it looks better than it is.
    `linker.validation` holds out conversations and sources.
    """

    name: str = "package"

    def link(self, pairs: Sequence[Pair]) -> list[RelationKind | None]:
        """The likeliest relation of each pair."""
        from tmem_integrations.stages.relations import relate_pair

        found: list[RelationKind | None] = []
        for pair in pairs:
            chances = relate_pair(pair.earlier, pair.later, pair.surroundings)
            best: RelationKind = max(KINDS, key=lambda kind: chances[kind])
            found.append(best)
        return found


@dataclass(frozen=True, slots=True)
class ConstantLinker:
    """The same relation always: what any linker has to beat."""

    kind: RelationKind = "EXPAND"

    @property
    def name(self) -> str:
        """Such as "always EXPAND"."""
        return f"always {self.kind}"

    def link(self, pairs: Sequence[Pair]) -> list[RelationKind | None]:
        """The relation, as often as asked."""
        return [self.kind for _ in pairs]


@dataclass(frozen=True, slots=True)
class RelationsReport:
    """Right and wrong links of one linker.

    Attributes:
        linker: Name.
        judged: Per pair, in order: its source, the gold, and what the linker said.
    """

    linker: str
    judged: tuple[tuple[str, PairGold, RelationKind | None], ...]

    def accuracy(self, *, source: str | None = None, hard: bool | None = None) -> float | None:
        """Share of right links, of one source and of hard pairs or the others where given; None where
        there is no such pair.
        """
        right = [
            said == gold.kind
            for origin, gold, said in self.judged
            if source in (None, origin) and hard in (None, gold.hard)
        ]
        return sum(right) / len(right) if right else None

    def to_dict(self) -> dict[str, Any]:
        """Figures as JSON values."""
        right = [float(said == gold.kind) for _, gold, said in self.judged]
        return {
            "linker": self.linker,
            "pairs": len(self.judged),
            "accuracy": self.accuracy(),
            "interval": list(bootstrap_interval(right)),
            "hard": self.accuracy(hard=True),
            "not_hard": self.accuracy(hard=False),
            "by_source": {
                source: {
                    "all": self.accuracy(source=source),
                    "hard": self.accuracy(source=source, hard=True),
                    "not_hard": self.accuracy(source=source, hard=False),
                }
                for source in sorted({source for source, _, _ in self.judged})
            },
            "by_kind": {kind: _precision_recall(self.judged, kind) for kind in KINDS},
            "confusion": _confusion(self.judged),
            "unjudged": sum(said is None for _, _, said in self.judged),
        }


Judged = Sequence[tuple[str, PairGold, RelationKind | None]]


def _precision_recall(judged: Judged, kind: RelationKind) -> dict[str, float]:
    said = [gold.kind == kind for _, gold, answer in judged if answer == kind]
    wanted = [answer == kind for _, gold, answer in judged if gold.kind == kind]
    precision = sum(said) / len(said) if said else 0.0
    recall = sum(wanted) / len(wanted) if wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _confusion(judged: Judged) -> Mapping[str, Mapping[str, int]]:
    """Gold to what was said to how often."""
    answers: tuple[str, ...] = (*KINDS, "unjudged")
    counts = Counter((str(gold.kind), str(said or "unjudged")) for _, gold, said in judged)
    return {kind: {said: counts[kind, said] for said in answers} for kind in KINDS}


def measure_relations(pairs: Sequence[tuple[Pair, PairGold]], linker: Linker) -> RelationsReport:
    """Let a linker judge all pairs; it sees no gold."""
    answers = linker.link([pair for pair, _ in pairs])
    judged = zip(pairs, answers, strict=True)
    return RelationsReport(
        linker.name, tuple((pair.source, gold, said) for (pair, gold), said in judged)
    )
