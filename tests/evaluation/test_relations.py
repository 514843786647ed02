"""Links against what was read by hand."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.linker.held_out import can_hold_out, held_out_reports
from tmem_integrations.evaluation.model_linker import ModelLinker
from tmem_integrations.evaluation.relations import (
    ConstantLinker,
    PackageLinker,
    measure_relations,
    read_pairs,
)
from tmem_integrations.messages import Message
from tmem_integrations.protocols import Reply

SHARED = Path(__file__).parents[3] / "shared" / "data"


def line(label="UPDATE", hard=False, source="chat", **change):
    return {
        "id": "p",
        "source": source,
        "question": None,
        "earlier": {
            "id": "ops/1", "text": "We ship on Friday.", "timestamp": "2026-03-02T09:00:00",
            "author": "Ann",
        },
        "later": {
            "id": "ops/2", "text": "No, we ship on Monday instead.",
            "timestamp": "2026-03-02T10:00:00", "author": "Bo", "reply_to": "ops/1",
        },
        "label": label,
        "hard": hard,
    } | change  # fmt: skip


@pytest.fixture
def pairs(write):
    lines = [line("UPDATE", hard=True), line("EXPAND"), line("NONE", source="log"), line("EXPAND")]
    return read_pairs(write("relations.jsonl", lines))


def test_a_pair_shares_a_partition_and_no_reply_link(pairs):
    pair, _ = pairs[0]
    assert pair.earlier.channel == pair.later.channel == "ops"
    assert pair.later.reply_to is None


def test_surroundings_are_the_conversation_without_reply_links(write):
    history = [
        Message(id=f"ops/{i}", text="x", sent_at=datetime(2026, 3, 2, i, tzinfo=UTC), channel=c,
                reply_to="ops/1", role="lead")
        for i, c in ((2, "ops"), (1, "ops"), (3, "lunch"))
    ]  # fmt: skip
    ((pair, _),) = read_pairs(write("r.jsonl", [line()]), {"chat": history})
    assert [m.id for m in pair.surroundings] == ["ops/1", "ops/2"]
    assert pair.later.role == "lead"
    assert all(m.reply_to is None for m in (*pair.surroundings, pair.later))


def test_always_the_same_is_right_as_often_as_it_occurs(pairs):
    report = measure_relations(pairs, ConstantLinker("EXPAND"))
    assert report.accuracy() == 2 / 4
    assert report.accuracy(hard=True) == 0 / 1
    assert report.accuracy(hard=False) == 2 / 3
    assert report.accuracy(source="chat") == 2 / 3
    assert report.accuracy(source="log", hard=True) is None


def test_each_kind_has_precision_and_recall(pairs):
    figures = measure_relations(pairs, ConstantLinker("EXPAND")).to_dict()
    assert figures["by_kind"]["EXPAND"] == {
        "precision": 2 / 4,
        "recall": 2 / 2,
        "f1": 2 * (2 / 4) * 1 / (2 / 4 + 1),
    }
    assert figures["confusion"]["NONE"] == {"UPDATE": 0, "EXPAND": 1, "NONE": 0, "unjudged": 0}


def test_the_package_judges_every_pair(pairs):
    assert measure_relations(pairs, PackageLinker()).to_dict()["unjudged"] == 0


class Model:
    """Answers the same to everything."""

    name = "model"

    def __init__(self, answer: str) -> None:
        self.answer, self.prompts = answer, []

    def ask(self, prompts):
        self.prompts += prompts
        return tuple(Reply(self.answer) for _ in prompts)

    async def aask(self, prompts):
        return self.ask(prompts)


def test_a_model_is_asked_about_each_pair_and_read(pairs):
    answer = '{"links": [{"child": "m2", "parent": "m1", "relation": "UPDATE", "confidence": 1}]}'
    model = Model(answer)
    report = measure_relations(pairs, ModelLinker(model))
    assert report.accuracy() == 1 / 4
    assert len(model.prompts) == 4
    assert all("We ship on Friday." in p and "Monday instead" in p for p in model.prompts)


def test_a_reply_that_cannot_be_read_is_no_judgement(pairs):
    figures = measure_relations(pairs, ModelLinker(Model("I cannot say."))).to_dict()
    assert figures["unjudged"] == 4
    assert figures["accuracy"] == 0.0


def test_an_unknown_label_is_told_with_its_line(write):
    with pytest.raises(ImportFormatError, match="line 1: expected label as one of"):
        read_pairs(write("relations.jsonl", [line("REPLACE")]))


def test_a_message_without_time_is_told_with_its_line(write):
    path = write("relations.jsonl", [line(earlier={"id": "a", "text": "b"})])
    with pytest.raises(ImportFormatError, match=r"line 1, earlier: .* has no timestamp"):
        read_pairs(path)


def test_nothing_is_held_out_where_the_conversations_are_not_at_hand(tmp_path):
    assert not can_hold_out(tmp_path)


@pytest.mark.skipif(not can_hold_out(SHARED), reason="the shared data is not here")
def test_the_linker_holds_on_conversations_it_has_not_seen():
    path = SHARED / "gold" / "relations.jsonl"
    conversations, sources = held_out_reports(SHARED, path, read_pairs(path))
    assert (conversations.accuracy() or 0) >= 0.65
    assert (conversations.accuracy(hard=True) or 0) >= 0.55
    # Another source is another way of speaking: harder than another conversation.
    assert (sources.accuracy() or 0) < (conversations.accuracy() or 0)
