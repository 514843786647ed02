"""What the linker is fitted to: labelled pairs, human reply links, chains of states.

Never used to link: what a message replies to stays in the messages here, and out of what is
measured.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tmem_integrations.evaluation.records import read_lines, text_of
from tmem_integrations.linking.context import Context, build_context
from tmem_integrations.linking.links import NO_PARENT
from tmem_integrations.linking.utterance import Utterance, to_utterances
from tmem_integrations.messages import Message
from tmem_integrations.protocols import partition_of

SOURCES: Final = ("gatemem", "irc", "qmsum")
"""Folders of the data in which labelled pairs lie."""

UNKNOWN: Final = -2
"""Parent of a message that nobody placed."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Part of a history, read as the linker reads its surroundings.

    Attributes:
        utterances: Message id to utterance.
        context: Statistics of all of them.
    """

    utterances: Mapping[str, Utterance]
    context: Context


@dataclass(frozen=True, slots=True)
class Corpus:
    """Messages of all sources.

    Attributes:
        messages: By id.
        channels: The messages of each channel in order; a channel is what evaluation holds out.
    """

    messages: dict[str, Message] = field(default_factory=dict)
    channels: dict[str, list[Message]] = field(default_factory=lambda: defaultdict(list))
    _read: dict[tuple[str, frozenset[object]], Conversation] = field(default_factory=dict)

    def conversation(self, ids: Iterable[str]) -> Conversation:
        """What surrounds some messages of one channel: the partitions that they are of."""
        messages = [self.messages[i] for i in ids]
        channel = channel_of(messages[0])
        partitions = frozenset(map(partition_of, messages))
        if (channel, partitions) not in self._read:
            around = [m for m in self.channels[channel] if partition_of(m) in partitions]
            utterances = to_utterances(around)
            self._read[channel, partitions] = Conversation(
                {m.id: u for m, u in zip(around, utterances, strict=True)},
                build_context(utterances),
            )
        return self._read[channel, partitions]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One labelled pair.

    Attributes:
        earlier: Id.
        later: Id.
        label: UPDATE, EXPAND or NONE.
        source: Folder of the data it comes from.
        channel: Of the later message.
        hard: Whether a reader had to think.
    """

    earlier: str
    later: str
    label: str
    source: str
    channel: str
    hard: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """Messages of one channel in order, some with a known parent.

    Attributes:
        channel: Where they were said.
        ids: The n messages.
        parents: (n,) index of the parent, NO_PARENT or UNKNOWN.
    """

    channel: str
    ids: tuple[str, ...]
    parents: tuple[int, ...]


def channel_of(message: Message) -> str:
    """Where a message was said; all without a channel are one."""
    return message.channel or ""


def load_corpus(data: Path) -> Corpus:
    """Read the messages of all sources.

    Args:
        data: Folder of `<source>/messages.jsonl`.

    Raises:
        ImportFormatError: If a file is missing or a line is no JSON object.
    """
    corpus = Corpus()
    for source in SOURCES:
        for _, record in read_lines(data / source / "messages.jsonl"):
            message = Message.from_dict(record, timezone="UTC")
            corpus.messages[message.id] = message
            corpus.channels[channel_of(message)].append(message)
    return corpus


def load_pairs(path: Path, corpus: Corpus) -> list[Pair]:
    """Read labelled pairs: earlier.id, later.id, label, source, hard.

    Raises:
        ImportFormatError: If there is no such file or a line lacks one of them.
    """
    pairs = []
    for where, record in read_lines(path):
        later = text_of(record["later"], "id", where)
        pairs.append(
            Pair(
                earlier=text_of(record["earlier"], "id", where),
                later=later,
                label=text_of(record, "label", where),
                source=text_of(record, "source", where),
                channel=channel_of(corpus.messages[later]),
                hard=bool(record.get("hard")),
            )
        )
    return pairs


def reply_listings(
    corpus: Corpus, *, size: int = 36, keep: float = 1.0, seed: int = 0
) -> list[Listing]:
    """Threads of replies of four messages or more, each mixed with messages around it.

    Args:
        corpus: Channels without a reply give none.
        size: Messages per list at most.
        keep: Share of each thread that is in its list. Evidence holds few of the messages of a
            thread, and a linker must learn that a parent may be missing.
        seed: Draws what is kept and the messages around.
    """
    dice = random.Random(seed)
    return [
        _mix(thread, messages, size, keep, dice)
        for messages in corpus.channels.values()
        for thread in _threads(messages)
    ]


def _threads(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages that replies join, by the first of their thread."""
    parent = {m.id: m.reply_to for m in messages}
    linked = {m.id for m in messages if m.reply_to} | set(parent.values())
    threads: dict[str, list[Message]] = defaultdict(list)
    for message in messages:
        root = message.id
        while above := parent.get(root):
            root = above
        if message.id in linked:
            threads[root].append(message)
    return [thread for thread in threads.values() if len(thread) >= 4]


def _mix(
    thread: Sequence[Message],
    messages: Sequence[Message],
    size: int,
    keep: float,
    dice: random.Random,
) -> Listing:
    """A thread among others of its time; parents are known within the thread."""
    place = {m.id: k for k, m in enumerate(messages)}
    begun = thread[: round(size * 2 / 3 / keep)]
    kept = {m.id for m in begun if keep == 1.0 or dice.random() < keep}
    reach = round(size / 2 / keep)
    first, last = place[begun[0].id], max(place[m.id] for m in begun)
    around = messages[max(0, first - reach) : last + reach]
    inside = {m.id for m in thread}
    others = [m.id for m in around if m.id not in inside]
    others = dice.sample(others, min(len(others), size - len(kept)))
    chosen = sorted({*kept, *others}, key=place.__getitem__)
    index = {i: k for k, i in enumerate(chosen)}
    above = {m.id: m.reply_to for m in thread}
    parents = (_nearest(i, above, index) if i in kept else UNKNOWN for i in chosen)
    return Listing(channel_of(thread[0]), tuple(chosen), tuple(parents))


def _nearest(message: str, above: Mapping[str, str | None], index: Mapping[str, int]) -> int:
    """The closest message above that is in the list; NO_PARENT when none is."""
    parent = above.get(message)
    while parent is not None and parent not in index:
        parent = above.get(parent)
    return NO_PARENT if parent is None else index[parent]


def load_chains(path: Path) -> list[dict[str, Any]]:
    """Read questions with their evidence: key, support, stale, and groups with their chains.

    Raises:
        ImportFormatError: If there is no such file or a line is no JSON object.
    """
    return [record for _, record in read_lines(path)]


def chain_listings(
    corpus: Corpus, questions: Sequence[Mapping[str, Any]], *, size: int = 0, seed: int = 0
) -> list[Listing]:
    """Each question's evidence; parents from the chains of states, where they agree.

    Args:
        corpus: Holds the messages.
        questions: What `load_chains` read.
        size: Other messages of the channel, known before the question, fill a list up to this.
        seed: Draws them.
    """
    dice = random.Random(seed)
    return [_chain_listing(corpus, question, size, dice) for question in questions]


def _chain_listing(
    corpus: Corpus, question: Mapping[str, Any], size: int, dice: random.Random
) -> Listing:
    channel = str(question["channel"])
    messages = corpus.channels[channel]
    place = {m.id: k for k, m in enumerate(messages)}
    told = {*question["key"], *question["support"], *question["stale"]}
    others = [m.id for m in messages[: max(place[i] for i in told)] if m.id not in told]
    others = dice.sample(others, max(0, min(len(others), size - len(told))))
    ids = sorted({*told, *others}, key=place.__getitem__)
    above: dict[str, set[str]] = defaultdict(set)
    starts: set[str] = set()
    for group in question["groups"]:
        chain = group.get("chain") or []
        starts |= set(chain[:1])
        for earlier, later in pairwise(chain):
            above[later].add(earlier)
    index = {i: k for k, i in enumerate(ids)}

    def parent(i: str) -> int:
        if len(above[i]) == 1:
            return index.get(min(above[i]), UNKNOWN)
        return NO_PARENT if i in starts and not above[i] else UNKNOWN

    return Listing(channel, tuple(ids), tuple(map(parent, ids)))
