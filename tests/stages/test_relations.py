"""Which earlier message a message hangs from, rule by rule, on chats of our own."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.messages import Message
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import ParentChoice, Relation, may_precede
from tmem_integrations.stages.relations import choose_parents, relate_pair

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

LINES = (
    ("Ruth", "Kickoff of Lantern: the pilot of Lantern goes live on May 8 for the bakery."),
    ("Noor", "Catering for the offsite is ordered, vegetarian and not."),
    ("Theo", "The printers on floor two are out of toner again."),
    ("Ruth", "Lantern budget is $40,000 for the pilot."),
    ("Noor", "Parking at the offsite is free after six."),
    ("Theo", "New badges are at the front desk from Thursday."),
    ("Ruth", "Lantern: the pilot moves from May 8 to May 22, the bakery needs more time."),
    ("Theo", "Understood, thanks."),
)  # fmt: skip


def chat(*lines: tuple[str, str], **known: object) -> list[Message]:
    """Messages of one channel, three minutes apart, with ids "0", "1", …"""
    return [
        Message(
            id=str(i),
            text=text,
            author=author,
            sent_at=START + timedelta(minutes=3 * i),
            channel="general",
            **known,
        )
        for i, (author, text) in enumerate(lines)
    ]


def link(
    messages: Sequence[Message], surroundings: Sequence[Message] | None = None
) -> tuple[ParentChoice, ...]:
    evidence = [Evidence(message, Label.KEY, 1.0) for message in messages]
    return choose_parents(evidence, messages if surroundings is None else surroundings)


def likeliest(*lines: tuple[str, str]) -> str:
    """Relation of the last line to the first."""
    messages = chat(*lines)
    chances = relate_pair(messages[0], messages[-1], messages)
    return max(chances, key=chances.__getitem__)


def test_a_revised_date_is_an_update_of_the_date():
    choice = link(chat(*LINES))[6]
    assert (choice.parent, choice.relation) == (0, Relation.UPDATE)


def test_an_acknowledgement_expands_what_it_acknowledges():
    choice = link(chat(*LINES))[7]
    assert (choice.parent, choice.relation) == (6, Relation.EXPAND)


def test_a_message_about_something_else_starts_a_tree():
    choices = link(chat(*LINES))
    assert [choices[i].parent for i in (0, 1, 2, 5)] == [None] * 4


def test_a_sibling_project_is_no_parent():
    messages = chat(
        ("Ruth", "So Lantern, for the bakery, has its pilot on May 8."),
        ("Ruth", "And Lanternfish, for the harbour, has a budget of $9,000."),
        ("Noor", "We keep Lantern apart from Lanternfish, since Lanternfish is secret."),
        ("Theo", "For Lantern, and only Lantern, the runbook is in the wiki."),
        ("Ruth", "As to Lanternfish, the budget moves from $9,000 to $12,000."),
    )
    assert link(messages)[4].parent == 1
    of_sibling = relate_pair(messages[0], messages[4], messages)
    of_own = relate_pair(messages[1], messages[4], messages)
    assert of_sibling["NONE"] > of_own["NONE"]


def test_an_addressed_nick_beats_the_previous_message():
    messages = chat(
        ("kiwi", "my wifi drops after suspend, any idea?"),
        ("moss", "does anyone have a recipe for rye bread?"),
        ("oak", "kiwi: reload the driver module after resume"),
    )
    assert link(messages)[2].parent == 0


def test_an_answer_expands_its_question():
    messages = chat(
        ("kiwi", "which port does the scanner listen on?"),
        ("oak", "kiwi: 8443, since the move to tls"),
    )
    choice = link(messages)[1]
    assert (choice.parent, choice.relation) == (0, Relation.EXPAND)


def test_a_cancellation_updates_what_it_cancels():
    messages = chat(
        ("Noor", "Offsite dinner is at the Old Mill on Thursday at 19:00."),
        ("Theo", "The printers on floor two are out of toner again."),
        ("Noor", "Offsite dinner at the Old Mill on Thursday is cancelled."),
    )
    choice = link(messages)[2]
    assert (choice.parent, choice.relation) == (0, Relation.UPDATE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The review is on May 8 at 10:00.", "The review moves from May 8 to May 12 at 10:00."),
        ("Die Abnahme ist am 8. Mai im Lager.", "Die Abnahme im Lager wird vom 8. Mai auf den 12. Mai verschoben."),
        ("La entrega es el 8 de mayo en Lugo.", "La entrega en Lugo se aplaza del 8 de mayo al 12 de mayo."),
        ("La livraison est le 8 mai à Lyon.", "La livraison à Lyon est reportée du 8 mai au 12 mai."),
        ("验收会定在5月8日。", "验收会从5月8日改到5月12日。"),
    ],
    ids=["English", "German", "Spanish", "French", "Chinese"],
)  # fmt: skip
def test_a_revision_is_an_update_in_other_languages(before, after):
    messages = chat(("Ruth", before), ("Theo", "👍"), ("Ruth", after))
    assert likeliest(*[(str(m.author), m.text) for m in messages]) == "UPDATE"
    choice = link(messages)[2]
    assert (choice.parent, choice.relation) == (0, Relation.UPDATE)


def test_a_reply_wins_over_what_looks_likelier():
    messages = chat(*LINES)
    assert link(messages)[6].parent == 0
    messages[6] = replace(messages[6], reply_to="2")
    assert link(messages)[6].parent == 2
    assert link(messages)[6].confidence == 1


def test_the_relation_of_a_reply_is_judged_from_its_words():
    messages = chat(LINES[0], LINES[6], LINES[7])
    messages[1] = replace(messages[1], reply_to="0")
    messages[2] = replace(messages[2], reply_to="1")
    choices = link(messages)
    assert [c.relation for c in choices[1:]] == [Relation.UPDATE, Relation.EXPAND]


def test_a_reply_reaches_over_replies_that_are_no_evidence():
    messages = chat(*LINES)
    messages[4] = replace(messages[4], reply_to="2")
    messages[5] = replace(messages[5], reply_to="4")
    choices = link([messages[i] for i in (0, 2, 5)], messages)
    assert choices[2].parent == 1


def test_a_reply_to_what_nobody_loaded_is_judged_like_any_other():
    messages = chat(*LINES)
    messages[6] = replace(messages[6], reply_to="gone")
    assert link(messages) == link(chat(*LINES))


def test_a_reply_to_itself_or_in_a_circle_is_judged_like_any_other():
    messages = chat(*LINES)
    messages[4] = replace(messages[4], reply_to="5")
    messages[5] = replace(messages[5], reply_to="4")
    messages[6] = replace(messages[6], reply_to="4")
    messages[7] = replace(messages[7], reply_to="7")
    few = [messages[i] for i in (0, 6, 7)]
    assert [c.parent for c in link(few, messages)] == [None, 0, 1]


def test_a_reply_to_a_later_message_is_judged_like_any_other():
    messages = chat(*LINES)
    messages[0] = replace(messages[0], reply_to="6")
    assert link(messages)[0].parent is None


def test_a_state_that_runs_backwards_is_no_parent():
    messages = chat(*LINES)
    assert link(messages)[6].parent == 0
    messages[0] = replace(messages[0], phase_order=2)
    messages[6] = replace(messages[6], phase_order=1, reply_to="0")
    assert link(messages)[6].parent != 0


def test_another_partition_is_no_parent_whatever_replies_say():
    messages = chat(*LINES)
    messages[0] = replace(messages[0], channel="leads")
    messages[6] = replace(messages[6], reply_to="0")
    assert link(messages)[6].parent != 0


def test_partitions_are_linked_side_by_side():
    one, two = chat(*LINES), chat(*LINES)
    two = [
        replace(m, id=f"x{m.id}", channel="leads", sent_at=m.sent_at + timedelta(seconds=1))
        for m in two
    ]
    mixed = [m for pair in zip(one, two, strict=True) for m in pair]
    alone, together = link(one), link(mixed)
    for i, choice in enumerate(alone):
        expected = None if choice.parent is None else 2 * choice.parent
        assert together[2 * i].parent == expected
        assert together[2 * i].relation == choice.relation


def test_evidence_that_the_surroundings_lack_is_still_placed():
    messages = chat(*LINES)
    assert link(messages, []) == link(messages)
    assert link(messages, messages[2:5]) == link(messages)


def test_no_evidence_gives_no_choices():
    assert choose_parents([], chat(*LINES)) == ()


def test_the_chances_of_a_pair_sum_to_one():
    messages = chat(*LINES)
    chances = relate_pair(messages[0], messages[6], messages)
    assert list(chances) == ["UPDATE", "EXPAND", "NONE"]
    assert sum(chances.values()) == pytest.approx(1)


def test_other_partitions_do_not_change_what_a_pair_is():
    messages = chat(*LINES)
    elsewhere = [replace(m, id=f"x{m.id}", channel="leads") for m in messages]
    own = relate_pair(messages[0], messages[6], messages)
    assert relate_pair(messages[0], messages[6], [*elsewhere, *messages]) == own


texts = st.one_of(
    st.sampled_from([text for _, text in LINES]),
    st.sampled_from(["", "👍", "ok", "Ruth: why?", "5月8日", "moved to May 9", "@Theo @Noor"]),
    st.text(max_size=20),
)
numbers = st.one_of(st.none(), st.sampled_from([1, 2]))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Message], list[Message]]:
    """Surroundings, and the evidence among them, of several partitions, states and reply links."""
    n = draw(st.integers(1, 10))
    ids = [str(i) for i in range(n)]
    around = [
        Message(
            id=i,
            text=draw(texts),
            sent_at=START + timedelta(minutes=draw(st.integers(0, 3))),
            author=draw(st.sampled_from(["Ruth", "Theo", "Noor Ali", "", None])),
            channel=draw(st.sampled_from(["general", "leads", None])),
            topic=draw(st.sampled_from(["general", None])),
            phase_order=draw(numbers),
            phase_progress=draw(numbers),
            reply_to=draw(st.sampled_from([*ids, "gone", None])),
        )
        for i in ids
    ]
    around.sort(key=lambda message: message.sent_at)
    kept = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return around, [message for message, keep in zip(around, kept, strict=True) if keep]


@given(histories())
def test_a_parent_is_earlier_eligible_and_of_the_same_partition(history):
    around, messages = history
    choices = link(messages, around)
    assert len(choices) == len(messages)
    for child, choice in enumerate(choices):
        assert 0 <= choice.confidence <= 1
        if choice.parent is not None:
            assert choice.parent < child
            assert may_precede(messages[choice.parent], messages[child])


@given(histories())
def test_an_eligible_reply_among_the_evidence_is_always_followed(history):
    around, messages = history
    at = {message.id: i for i, message in enumerate(messages)}
    for child, choice in enumerate(link(messages, around)):
        target = at.get(messages[child].reply_to or "")
        if target is not None and target < child and may_precede(messages[target], messages[child]):
            assert choice.parent == target
