"""Chats whose every message is labelled by hand: what it continues, and what it does to that.

The linker is fitted to them beside human reply links and pairs that were read elsewhere: they are of
many kinds, written for this, and no data set that is measured is among them. The reader's lines:
adopting or carrying out a proposal, granting a request and solving a problem are UPDATEs, and so is a
"no" that names another value; acknowledging, explaining, asking back and repeating what holds are
EXPANDs, and so is a bare "no"; a like matter of another project or person is none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.linker.corpus import (
    Corpus,
    Listing,
    Pair,
    channel_of,
    load_corpus,
    load_pairs,
)
from tmem_integrations.evaluation.records import read_lines
from tmem_integrations.linking.features import pair_features
from tmem_integrations.linking.links import NO_PARENT
from tmem_integrations.messages import Message

_SOURCE: Final = "chats"
_RELATIONS: Final = ("UPDATE", "EXPAND")


@dataclass(frozen=True, slots=True)
class LabelledChat:
    """One chat.

    Attributes:
        messages: The n messages in order of time.
        parents: (n,) position of the message each continues, or NO_PARENT.
        relations: (n,) UPDATE or EXPAND; None for what continues nothing.
    """

    messages: tuple[Message, ...]
    parents: tuple[int, ...]
    relations: tuple[str | None, ...]


def read_chats(folder: Path | None = None) -> list[LabelledChat]:
    """Read `*.jsonl`: a message a line with the keys of `Message.from_dict`, `parent` and `relation`.

    Args:
        folder: Those that come with the package when None.

    Raises:
        ImportFormatError: If a line cannot be read, or its parent is not earlier in its file.
    """
    folder = folder or Path(str(files(__package__))) / "chats"
    return [_read_chat(path) for path in sorted(folder.glob("*.jsonl"))]


def _read_chat(path: Path) -> LabelledChat:
    messages: list[Message] = []
    parents: list[int] = []
    relations: list[str | None] = []
    place: dict[str, int] = {}
    for where, record in read_lines(path):
        parent, relation = _label(record, place, where)
        message = Message.from_dict(
            {key: value for key, value in record.items() if key not in ("parent", "relation")},
            timezone="UTC",
        )
        place[message.id] = len(messages)
        messages.append(message)
        parents.append(parent)
        relations.append(relation)
    return LabelledChat(tuple(messages), tuple(parents), tuple(relations))


def _label(
    record: Mapping[str, Any], place: Mapping[str, int], where: str
) -> tuple[int, str | None]:
    parent, relation = record.get("parent"), record.get("relation")
    if parent is None and relation is None:
        return NO_PARENT, None
    if not isinstance(parent, str) or parent not in place or relation not in _RELATIONS:
        raise ImportFormatError(
            f"{where}: expected the id of an earlier message as parent with UPDATE or EXPAND as "
            f"relation, or neither; found {parent!r} and {relation!r}."
        )
    return place[parent], relation


def add_chats(corpus: Corpus, chats: Sequence[LabelledChat]) -> None:
    """Put their messages into a corpus."""
    for chat in chats:
        for message in chat.messages:
            corpus.messages[message.id] = message
            corpus.channels[channel_of(message)].append(message)


def read_labelled(relations: Path, data: Path) -> tuple[Corpus, list[Pair], list[LabelledChat]]:
    """All that is labelled: the messages of sources and chats, the pairs of sources, and the chats.

    Args:
        relations: Labelled pairs, JSONL.
        data: Folder of `<source>/messages.jsonl`.

    Raises:
        ImportFormatError: If a file is missing or a line cannot be read.
    """
    corpus, chats = load_corpus(data), read_chats()
    pairs = load_pairs(relations, corpus)
    add_chats(corpus, chats)
    return corpus, pairs, chats


def chat_pairs(chat: LabelledChat, corpus: Corpus) -> Iterator[Pair]:
    """Each message with what it continues; one that opens a matter with the earlier one most alike.

    Args:
        chat: Of the corpus.
        corpus: Holds the messages.
    """
    around = corpus.conversation([m.id for m in chat.messages])
    utterances = [around.utterances[m.id] for m in chat.messages]
    alike = pair_features(utterances, around.context)["term_cosine"]
    for later, (parent, relation) in enumerate(zip(chat.parents, chat.relations, strict=True)):
        if relation is not None:
            yield _pair(chat, parent, later, relation)
        elif later:
            yield _pair(chat, max(range(later), key=lambda i: (alike[i, later], i)), later, "NONE")


def _pair(chat: LabelledChat, earlier: int, later: int, label: str) -> Pair:
    first, second = chat.messages[earlier], chat.messages[later]
    return Pair(
        earlier=first.id,
        later=second.id,
        label=label,
        source=_SOURCE,
        channel=channel_of(second),
        hard=False,
    )


def chat_listings(
    chats: Sequence[LabelledChat], *, keep: float = 1.0, seed: int = 0
) -> list[Listing]:
    """Each chat as a list whose parents are known.

    Args:
        chats: In any order.
        keep: Share of each chat that is in its list, as evidence holds few of the messages.
        seed: Draws them.
    """
    dice = random.Random(seed)
    return [_thinned(chat, keep, dice) for chat in chats]


def _thinned(chat: LabelledChat, keep: float, dice: random.Random) -> Listing:
    kept = [i for i in range(len(chat.messages)) if keep == 1.0 or dice.random() < keep]
    index = {i: k for k, i in enumerate(kept)}

    def nearest(i: int) -> int:
        parent = chat.parents[i]
        while parent != NO_PARENT and parent not in index:
            parent = chat.parents[parent]
        return NO_PARENT if parent == NO_PARENT else index[parent]

    first = chat.messages[0]
    ids = tuple(chat.messages[i].id for i in kept)
    return Listing(channel_of(first), ids, tuple(map(nearest, kept)))
