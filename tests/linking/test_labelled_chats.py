"""Labelled chats: what is read, and what the linker learns from them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.linker.corpus import Corpus
from tmem_integrations.evaluation.linker.labelled_chats import (
    add_chats,
    chat_listings,
    chat_pairs,
    read_chats,
)
from tmem_integrations.linking.links import NO_PARENT

TALK = [
    ("1", "Shall we meet on Friday?", None, None),
    ("2", "The printer is out of toner.", None, None),
    ("3", "Friday works", "1", "UPDATE"),
    ("4", "where do we meet?", "3", "EXPAND"),
    ("5", "Is there any toner for the other printer?", None, None),
]


def write(folder: Path, talk: list[tuple[str, str, str | None, str | None]]) -> None:
    lines = [
        {
            "id": f"t/{i}",
            "text": text,
            "timestamp": f"2026-03-02T09:0{n}:00",
            "author": "ann",
            "channel": "t",
            "parent": parent and f"t/{parent}",
            "relation": relation,
        }
        for n, (i, text, parent, relation) in enumerate(talk)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "t.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture
def talk(tmp_path):
    write(tmp_path, TALK)
    chats = read_chats(tmp_path)
    corpus = Corpus()
    add_chats(corpus, chats)
    return chats, corpus


def test_an_opener_is_paired_with_the_message_most_like_it(talk):
    (chat,), corpus = talk
    found = {(p.earlier, p.later): p.label for p in chat_pairs(chat, corpus)}
    assert found == {
        ("t/1", "t/2"): "NONE",
        ("t/1", "t/3"): "UPDATE",
        ("t/3", "t/4"): "EXPAND",
        ("t/2", "t/5"): "NONE",
    }


def test_a_list_knows_the_parent_of_each_message(talk):
    chats, _ = talk
    assert chat_listings(chats)[0].parents == (NO_PARENT, NO_PARENT, 0, 2, NO_PARENT)


def test_where_the_parent_is_left_out_its_own_parent_counts(talk):
    chats, _ = talk
    thinned = [chat_listings(chats, keep=0.6, seed=seed)[0] for seed in range(50)]
    without_answer = [
        one for one in thinned if {"t/1", "t/4"} <= {*one.ids} and "t/3" not in one.ids
    ]
    assert without_answer
    for one in without_answer:
        assert one.parents[one.ids.index("t/4")] == one.ids.index("t/1")


@pytest.mark.parametrize("label", [("9", "UPDATE"), ("1", None), (None, "EXPAND"), ("1", "NONE")])
def test_a_label_that_cannot_be_names_its_line(tmp_path, label):
    write(tmp_path, [*TALK[:2], ("3", "Friday works", *label)])
    with pytest.raises(ImportFormatError, match=r"line 3.*earlier message"):
        read_chats(tmp_path)


def test_the_chats_of_the_package_are_whole():
    chats = read_chats()
    assert len(chats) == 32
    for chat in chats:
        times = [message.sent_at for message in chat.messages]
        assert times == sorted(times)
    ids = [message.id for chat in chats for message in chat.messages]
    assert len(set(ids)) == len(ids)
    labels = Counter(relation for chat in chats for relation in chat.relations)
    assert min(labels["UPDATE"], labels["EXPAND"], labels[None]) > 400
