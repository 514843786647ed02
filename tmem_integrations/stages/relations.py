"""Relations: which earlier message each piece of evidence hangs from, without a model (TEF §4.3).

Where the paper asks a language model per pair, two small tables of coefficients choose here: one
the parent among the eligible earlier messages and none of them, one whether the message is an
UPDATE or an EXPAND of it. What people linked themselves, by replying, stands above both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.linking.context import build_context
from tmem_integrations.linking.links import Link, link_utterances, relate_utterances
from tmem_integrations.linking.utterance import to_utterances
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Partition, partition_of
from tmem_integrations.stages.evidence import Evidence
from tmem_integrations.stages.forest import ParentChoice, Relation, may_precede


def choose_parents(
    evidence: Sequence[Evidence], surroundings: Sequence[Message]
) -> tuple[ParentChoice, ...]:
    """One choice for each message.

    A reply hangs from what it replies to; where that is no evidence, from what that replies to in
    turn, as far as the surroundings tell. All others go to the likeliest eligible message, or start
    a tree.

    Args:
        evidence: In order of (time, arrival), of any partitions.
        surroundings: What was loaded around it, those of one partition in order of time. It tells
            how rare a word is, which words are names, and how many messages lie between two.

    Returns:
        Choices whose parent is earlier, of the same partition and eligible (TEF Eq. 4). The
        confidence is 1 where people linked.
    """
    messages = [e.message for e in evidence]
    replies = _replies(messages, surroundings)
    around = _by_partition(surroundings)
    choices = [ParentChoice()] * len(messages)
    for partition, members in _members(messages).items():
        own = [messages[i] for i in members]
        known = _within(replies, members)
        links = _link(own, around.get(partition, []), known)
        for child, link in enumerate(links):
            choices[members[child]] = _choice(link, members, is_reply=child in known)
    return tuple(choices)


def relate_pair(
    earlier: Message, later: Message, surroundings: Sequence[Message]
) -> dict[str, float]:
    """Probabilities that the later message is an UPDATE, an EXPAND or NONE of the earlier one.

    Args:
        earlier: Sent first.
        later: Sent after it.
        surroundings: The conversation, in order of time; other partitions are passed over.
    """
    partitions = {partition_of(earlier), partition_of(later)}
    around = [m for m in surroundings if partition_of(m) in partitions]
    around = _with(around, [earlier, later])
    utterances = to_utterances(around)
    at = {message.id: i for i, message in enumerate(around)}
    first, second = utterances[at[earlier.id]], utterances[at[later.id]]
    return relate_utterances(first, second, build_context(utterances))


def _link(
    messages: Sequence[Message], surroundings: Sequence[Message], known: Mapping[int, int]
) -> tuple[Link, ...]:
    """Links of messages of one partition."""
    around = _with(surroundings, messages)
    utterances = to_utterances(around)
    at = {message.id: i for i, message in enumerate(around)}
    return link_utterances(
        [utterances[at[message.id]] for message in messages],
        build_context(utterances),
        allowed=_eligible(messages),
        known=known,
    )


def _choice(link: Link, members: Sequence[int], *, is_reply: bool) -> ParentChoice:
    if link.parent is None:
        return ParentChoice(None, confidence=link.confidence)
    relation = Relation.UPDATE if link.updates else Relation.EXPAND
    return ParentChoice(members[link.parent], relation, 1.0 if is_reply else link.confidence)


def _replies(messages: Sequence[Message], surroundings: Sequence[Message]) -> dict[int, int]:
    """Child to parent where a reply says it, over replies that are no evidence themselves."""
    position = {message.id: i for i, message in enumerate(messages)}
    target = {m.id: m.reply_to for m in (*surroundings, *messages)}
    found: dict[int, int] = {}
    for child, message in enumerate(messages):
        passed = {message.id}
        above = message.reply_to
        while above is not None and above not in position and above not in passed:
            passed.add(above)
            above = target.get(above)
        parent = None if above is None else position.get(above)
        if parent is not None and parent < child and may_precede(messages[parent], message):
            found[child] = parent
    return found


def _eligible(messages: Sequence[Message]) -> NDArray[np.bool_]:
    """(n, n) whether i may precede j; messages in the same state of the project are asked once."""
    states: dict[tuple[object, ...], int] = {}
    own = [
        states.setdefault((m.stage, m.phase_order, m.phase_progress), len(states)) for m in messages
    ]
    examples = [messages[own.index(state)] for state in range(len(states))]
    table = np.array([[may_precede(a, b) for b in examples] for a in examples], dtype=np.bool_)
    return table[np.ix_(own, own)]


def _with(surroundings: Sequence[Message], messages: Sequence[Message]) -> list[Message]:
    """Surroundings that hold all the messages, those that were missing in their place."""
    known = {message.id for message in surroundings}
    missing = [message for message in messages if message.id not in known]
    if not missing:
        return list(surroundings)
    return sorted([*surroundings, *missing], key=lambda message: message.sent_at)


def _members(messages: Sequence[Message]) -> dict[Partition, list[int]]:
    found: dict[Partition, list[int]] = defaultdict(list)
    for i, message in enumerate(messages):
        found[partition_of(message)].append(i)
    return found


def _by_partition(messages: Sequence[Message]) -> dict[Partition, list[Message]]:
    found: dict[Partition, list[Message]] = defaultdict(list)
    for message in messages:
        found[partition_of(message)].append(message)
    return found


def _within(replies: Mapping[int, int], members: Sequence[int]) -> dict[int, int]:
    """Replies by position among the members of one partition; both ends are members."""
    local = {i: k for k, i in enumerate(members)}
    return {local[child]: local[parent] for child, parent in replies.items() if child in local}
