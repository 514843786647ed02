"""Replies of a model as checked records: what cannot be meant is dropped and counted, never guessed.

An empty selection is an answer; a text from which nothing can be read is not. `Reading.usable` tells
them apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from tmem_integrations.messages import clean_text
from tmem_integrations.models.json_text import find_records
from tmem_integrations.models.labels import Labels
from tmem_integrations.models.words import plain, read_kind, read_relation, read_yes_no
from tmem_integrations.prompts.gate import MAX_REASON_CHARS, GateVerdict
from tmem_integrations.prompts.relations import RelationChild, RelationVerdict

Verdict = TypeVar("Verdict")
Problem = Literal["unknown", "duplicated", "malformed", "ineligible"]

# What a verdict without a number gets: neither sure nor unsure.
_NO_NUMBER = 0.5

_LISTS = ("selected", "selection", "evidence", "results", "messages", "items", "verdicts")
_LINK_LISTS = ("links", "relations", "edges", "results", "items", "verdicts")
_ID_KEYS = (
    "id",
    "ids",
    "message_id",
    "messageid",
    "msg_id",
    "message",
    "candidate",
    "candidate_id",
)
_KIND_KEYS = ("label", "kind", "type", "verdict", "category", "decision", "status", "role")
_KEPT_KEYS = ("selected", "keep", "relevant", "include")
_REASON_KEYS = ("reason", "why", "rationale", "explanation", "justification")
_CHILD_KEYS = ("child", "child_id", "later", "id", "message", "message_id")
_PARENT_KEYS = ("parent", "parent_id", "earlier", "reply_to", "target")
_RELATION_KEYS = ("relation", "relation_type", "label", "kind", "type", "verdict")
_CONFIDENCE_KEYS = ("confidence", "score", "probability", "certainty")
_RELEVANCE_KEYS = ("relevance", "question_relevance", "relevance_to_question")


@dataclass(frozen=True, slots=True)
class Reading(Generic[Verdict]):
    """What one reply says.

    Attributes:
        entries: Checked verdicts, in the order in which the labels were given; one a label at most.
        problems: How many entries were dropped, by kind of problem; empty when none were.
        missing: Labels that had to be judged and were not; empty where silence means no.
        usable: Whether the reply is an answer. An empty selection is one; a refusal, a text without
            records, or records of which none survived the checks is not.
    """

    entries: tuple[Verdict, ...]
    problems: Mapping[str, int]
    missing: tuple[str, ...] = ()
    usable: bool = True


def read_gate(text: str | None, labels: Sequence[str]) -> Reading[GateVerdict]:
    """Read the gate's reply.

    Args:
        text: What the model wrote; None and empty are unusable.
        labels: The labels of the candidates of that call.

    Returns:
        At most one verdict for each label. A label named twice counts once, KEY before SUPPORT; an entry
        without KEY or SUPPORT is KEY, since the model picked it.

    Examples:
        >>> reading = read_gate('{"selected": [{"id": "[C2]", "label": "support"}, {"id": "c9"}]}', ["c1", "c2"])
        >>> reading.entries, dict(reading.problems)
        ((GateVerdict(label='c2', kind='SUPPORT', reason=''),), {'unknown': 1})
    """
    records = find_records(text or "", containers=_LISTS, keys=(*_ID_KEYS, *_KIND_KEYS))
    if records is None:
        return Reading((), {}, usable=False)
    known = Labels(labels)
    problems: Counter[str] = Counter()
    verdicts: dict[str, GateVerdict] = {}
    rejected = False
    for record in records:
        for verdict in _gate_verdicts(record, known):
            if verdict == "rejected":
                rejected = True
            elif isinstance(verdict, str):
                problems[verdict] += 1
            elif verdict.label in verdicts:
                problems["duplicated"] += 1
                if verdict.kind == "KEY" != verdicts[verdict.label].kind:
                    verdicts[verdict.label] = verdict
            else:
                verdicts[verdict.label] = verdict
    entries = tuple(verdicts[label] for label in labels if label in verdicts)
    return Reading(entries, dict(problems), usable=bool(entries or rejected or not records))


def _gate_verdicts(
    record: object, known: Labels
) -> list[GateVerdict | Problem | Literal["rejected"]]:
    """The verdicts of one record; a record may name several labels."""
    if isinstance(record, str | int):
        record = {"id": record}
    if not isinstance(record, dict):
        return ["malformed"]
    fields = {plain(str(key)): value for key, value in record.items()}
    ids, kind = _first(fields, _ID_KEYS), _first(fields, _KIND_KEYS)
    if ids is None and known.has(kind):
        ids, kind = kind, None
    if ids is None:
        ids, kind, fields = _by_content(record, known)
    if ids is None:
        return ["malformed"]
    picked = read_kind(kind) if kind is not None else "KEY"
    if picked == "REJECT" or read_yes_no(_first(fields, _KEPT_KEYS)) is False:
        return ["rejected"]
    if picked is None:
        return ["malformed"]
    reason = _short(_first(fields, _REASON_KEYS))
    found = known.find(ids)
    return [GateVerdict(x, picked, reason) if x is not None else "unknown" for x in found] or [
        "malformed"
    ]


def _by_content(record: Mapping[str, Any], known: Labels) -> tuple[object, object, dict[str, Any]]:
    """Id, kind and the other fields of a record whose keys are none of ours.

    `{"c3": "KEY"}`, `{"KEY": ["c3", "c5"]}`, `{"c3": {"label": "KEY"}}`, `{"编号": "c3", "标签": "关键"}`.
    """
    for key, value in record.items():
        if known.has(key):
            fields = value if isinstance(value, dict) else {"label": value}
            fields = {plain(str(name)): item for name, item in fields.items()}
            return key, _first(fields, _KIND_KEYS), fields
        if read_kind(key) is not None and isinstance(value, list):
            return value, key, {}
    words = [value for value in record.values() if isinstance(value, str)]
    ids = next((word for word in words if known.has(word)), None)
    kind = next((word for word in words if read_kind(word) is not None), None)
    return (ids, kind, {}) if kind is not None else (None, None, {})


def read_relations(text: str | None, children: Sequence[RelationChild]) -> Reading[RelationVerdict]:
    """Read the linker's reply.

    Args:
        text: What the model wrote; None and empty are unusable.
        children: The children of that call with their eligible parents.

    Returns:
        At most one verdict for each child; of two the one with a parent and the higher confidence
        (TEF Eq. 5). Children without one are in `missing`.
    """
    records = find_records(text or "", containers=_LINK_LISTS, keys=(*_CHILD_KEYS, *_PARENT_KEYS))
    order = [child.label for child in children]
    if records is None:
        return Reading((), {}, tuple(order), usable=False)
    shown = {label: None for child in children for label in (child.label, *child.parents)}
    known = Labels([*shown])
    eligible = {child.label: frozenset(child.parents) for child in children}
    problems: Counter[str] = Counter()
    best: dict[str, RelationVerdict] = {}
    for record in records:
        verdict = _relation_verdict(record, known, eligible)
        if isinstance(verdict, str):
            problems[verdict] += 1
            continue
        if verdict.child in best:
            problems["duplicated"] += 1
        best[verdict.child] = max(best.get(verdict.child, verdict), verdict, key=_preference)
    entries = tuple(best[label] for label in order if label in best)
    missing = tuple(label for label in order if label not in best)
    return Reading(entries, dict(problems), missing, usable=bool(entries) or not order)


def _relation_verdict(
    record: object, known: Labels, eligible: Mapping[str, frozenset[str]]
) -> RelationVerdict | Problem:
    if not isinstance(record, dict):
        return "malformed"
    fields = {plain(str(key)): value for key, value in record.items()}
    child = known.one(_first(fields, _CHILD_KEYS))
    if child is None:
        return "unknown"
    if child not in eligible:
        return "ineligible"
    relation = read_relation(_first(fields, _RELATION_KEYS))
    named = _first(fields, _PARENT_KEYS)
    if named is None or named == "" or (not known.has(named) and read_relation(named) == "NONE"):
        # An UPDATE of nothing contradicts itself; the rule judges that child.
        if relation not in (None, "NONE"):
            return "malformed"
        named, relation = None, "NONE"
    confidence = _share(_first(fields, _CONFIDENCE_KEYS))
    relevance = _share(_first(fields, _RELEVANCE_KEYS))
    if relation == "NONE":
        return RelationVerdict(child, None, "NONE", confidence, relevance)
    parent = known.one(named)
    if parent is None:
        return "unknown"
    if parent not in eligible[child]:
        return "ineligible"
    if relation is None:
        return "malformed"
    return RelationVerdict(child, parent, relation, confidence, relevance)


def _preference(verdict: RelationVerdict) -> tuple[bool, float]:
    return verdict.relation != "NONE", verdict.confidence


def _first(fields: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _short(value: object) -> str:
    """A reason on one line, no longer than asked for."""
    text = " ".join(clean_text(value).split()) if isinstance(value, str) else ""
    return text if len(text) <= MAX_REASON_CHARS else text[: MAX_REASON_CHARS - 1] + "…"


def _share(value: object) -> float:
    """A number from 0 to 1, also written "0.9", "90%", 90 or "0,9"; 0.5 where it is none.

    Examples:
        >>> [_share(v) for v in (0.9, "0,9", "90 %", 90, "8/10", 8, -1)]
        [0.9, 0.9, 0.9, 0.9, 0.8, 0.5, 0.5]
    """
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(\d{0,9}(?:[.,]\d{1,9})?)\s*(%|/\s*100?|)\s*", value)
        if not found or not found[1]:
            return _NO_NUMBER
        number = float(found[1].replace(",", "."))
        scale = found[2].lstrip("/ ")
        if scale:
            number /= 100 if scale == "%" else float(scale)
        elif 10 < number <= 100:
            number /= 100
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = value / 100 if 10 < value <= 100 else value
    else:
        return _NO_NUMBER
    return float(number) if 0 <= number <= 1 else _NO_NUMBER
