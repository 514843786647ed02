"""The text fits the budget, and what says least goes first."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmem_integrations.config import CompressionConfig
from tmem_integrations.errors import BudgetError
from tmem_integrations.messages import Message
from tmem_integrations.models.tokens import default_counter
from tmem_integrations.stages import draft
from tmem_integrations.stages.compression import CompressedForest, compress_forest
from tmem_integrations.stages.draft import MIN_SPAN_TOKENS
from tmem_integrations.stages.evidence import Evidence, Label
from tmem_integrations.stages.forest import Forest, ParentChoice, Relation, grow_forest
from tmem_integrations.stages.linearization import LEGEND, linearize, parse

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
KEY, SUPPORT, ANCHOR = Label.KEY, Label.SUPPORT, Label.ANCHOR


class Words:
    """Counts words, so that a test can count with it."""

    def count(self, text: str) -> int:
        return len(text.split())


def grow(*rows, relation: Relation = Relation.EXPAND) -> Forest:
    """One message an hour: text, label, position of the parent."""
    evidence = [
        Evidence(Message(id=f"m{i}", text=text, sent_at=START + timedelta(hours=i)), label, 1.0)
        for i, (text, label, _) in enumerate(rows)
    ]
    return grow_forest(evidence, [ParentChoice(parent, relation) for _, _, parent in rows])


def compress(forest: Forest, budget: int, question: str = "", **options) -> CompressedForest:
    counter = options.pop("counter", Words())
    df = options.pop("df", {})
    policy = options.pop("on_infeasible", "prune")
    return compress_forest(
        forest,
        question,
        document_frequencies=df,
        n_messages=10,
        counter=counter,
        config=CompressionConfig(max_tokens=budget, on_infeasible=policy),
        legend=options.pop("legend", False),
        **options,
    )


def size(forest: Forest) -> int:
    return Words().count(linearize(forest, legend=False))


def less(forest: Forest, n_tokens: int, question: str = "", **options) -> CompressedForest:
    """Compress to so many words less than the whole."""
    return compress(forest, size(forest) - n_tokens, question, **options)


def shown(compressed: CompressedForest) -> list[str]:
    return [node.text for node in parse(compressed.text)]


# What goes first


def test_a_text_that_fits_is_left_whole():
    forest = grow(("Alpha. Beta.", KEY, None))
    compressed = compress(forest, size(forest))
    assert compressed.text == linearize(forest, legend=False)
    assert compressed.excerpts == (("Alpha. Beta.",),)
    assert (compressed.omitted, compressed.cut, compressed.dropped) == ((0,), (), ())
    assert compressed.degraded == ()


def test_the_span_with_least_gain_per_token_goes_first():
    # g: 2 of 2 words new, 1 of 3 words new (a repeated one counts once).
    forest = grow(("alpha beta. gamma gamma gamma.", SUPPORT, None))
    assert shown(less(forest, 1)) == ["alpha beta. […]"]


def test_a_span_that_answers_the_question_stays():
    forest = grow(("alpha beta gamma. delta epsilon zeta.", SUPPORT, None))
    assert shown(less(forest, 1, "epsilon")) == ["[…]delta epsilon zeta."]


def test_a_span_that_repeats_its_parent_goes():
    forest = grow(
        ("alpha beta gamma.", SUPPORT, None), ("delta epsilon zeta. alpha beta gamma.", SUPPORT, 0)
    )
    assert shown(less(forest, 1)) == ["alpha beta gamma.", "delta epsilon zeta. […]"]


def test_a_common_span_goes_before_a_rare_one():
    forest = grow(("alpha beta gamma. delta epsilon zeta.", SUPPORT, None))
    df = dict.fromkeys(["alpha", "beta", "gamma"], 9)
    assert shown(less(forest, 1, df=df)) == ["[…]delta epsilon zeta."]


def test_leaves_lose_spans_before_their_parent():
    forest = grow(
        ("alpha alpha alpha. beta.", SUPPORT, None), ("one of them. gamma delta epsilon.", SUPPORT, 0)
    )  # fmt: skip
    assert [bool(n) for n in less(forest, 1).omitted] == [False, True]


def test_a_parent_loses_spans_once_its_children_have_no_more_to_give():
    forest = grow(("alpha alpha alpha alpha. beta.", SUPPORT, None), ("gamma.", SUPPORT, 0))
    assert less(forest, 1).omitted == (1, 0)


def test_a_parent_waits_for_all_of_its_children():
    forest = grow(
        ("alpha alpha alpha alpha. delta epsilon.", SUPPORT, None),
        ("beta.", SUPPORT, 0),
        ("zeta eta theta. iota kappa lambda.", SUPPORT, 0),
    )
    df = {"beta": 9}  # the first child has the least gain of all children and nothing to give
    assert less(forest, 1, df=df).omitted == (0, 0, 1)


def test_all_that_a_root_says_is_new():
    forest = grow(("epsilon zeta eta. alpha beta gamma.", SUPPORT, None))
    df = dict.fromkeys(["epsilon", "zeta", "eta"], 1)
    # w(0) = ln 11 + 1 = 3.40 and w(1) = ln 5.5 + 1 = 2.70, so (1 + 3) · 2.70 > 3 · 3.40
    assert shown(less(forest, 1, "epsilon", df=df)) == ["epsilon zeta eta. […]"]


@pytest.mark.parametrize("protected", ["on friday friday friday.", "at 5 5 5.", "ask ann ann ann."])
def test_times_numbers_and_names_in_the_question_go_last(protected):
    forest = grow((f"{protected} alpha beta gamma delta.", SUPPORT, None))
    assert protected in less(forest, 1, "what did Ann say").text


def test_a_change_of_state_on_an_update_goes_last():
    rows = ("x.", SUPPORT, None), ("it it is cancelled. alpha beta gamma delta.", SUPPORT, 0)
    update = less(grow(*rows, relation=Relation.UPDATE), 1)
    expand = less(grow(*rows, relation=Relation.EXPAND), 1)
    assert ("cancelled" in update.text, "cancelled" in expand.text) == (True, False)


def test_a_key_message_loses_spans_after_all_others():
    forest = grow(
        ("alpha alpha alpha. beta.", KEY, None), ("gamma delta. epsilon zeta.", ANCHOR, 0)
    )
    assert less(forest, 1).omitted == (0, 1)


def test_every_message_keeps_a_span_while_a_cut_can_save_it():
    forest = grow(*[("alpha beta. gamma gamma gamma gamma.", ANCHOR, None)] * 3)
    # Seven words of header, ">", "alpha beta. […]".
    compressed = compress(forest, 3 * (7 + 1 + 3))
    assert compressed.omitted == (1, 1, 1)
    assert compressed.dropped == ()


def test_a_less_useful_message_goes_before_a_number_of_another():
    rows = (
        ("at 5 5 5. at 6 6 6.", KEY, None),
        ("alpha beta gamma. delta epsilon zeta.", ANCHOR, None),
    )
    compressed = compress(grow(*rows), 7 + 1 + 8 + 7)  # A header, ">" and eight words, a header.
    assert shown(compressed) == ["at 5 5 5. at 6 6 6."]
    assert compressed.dropped == ("m1",)
    # "alpha beta gamma. […]" fits, too; the estimate allows for a mark in each.
    kept = compress(grow(*rows), 7 + 1 + 8 + 1 + 7 + 1 + 4)
    assert (kept.dropped, kept.omitted) == ((), (0, 1))


def test_one_message_pushes_others_out_for_an_eighth_of_the_budget_at_most():
    endless = " ".join(f"at {i} {i} {i}." for i in range(200))
    forest = grow((endless, KEY, None), ("beta.", ANCHOR, None))
    compressed = compress(forest, 100)
    assert compressed.dropped == ()
    assert compressed.omitted[0] > 0


def test_all_spans_of_a_message_are_compared_a_few_times_and_not_once_for_each(monkeypatch):
    """A pasted log of 11,000 spans would cost 20 seconds a question else."""
    compared, best = [], draft._best
    monkeypatch.setattr(draft, "_best", lambda spans: compared.append(len(spans)) or best(spans))
    forest = grow((" ".join(f"Line{i} is here." for i in range(200)), KEY, None))
    assert compress(forest, 50).omitted != (0,)
    assert compared == [200] * len(compared)
    assert len(compared) < 10


def test_what_was_left_out_is_said():
    forest = grow(("alpha beta. gamma gamma gamma.", SUPPORT, None))
    assert less(forest, 1).degraded == ("Spans left out to fit the budget: 1 (messages: 1).",)


def test_document_frequencies_are_asked_for_once():
    asked = []
    forest = grow(("alpha beta. gamma delta epsilon.", SUPPORT, None))
    less(forest, 1, "zeta", df=lambda text: asked.append(text) or {})
    assert [set(text.split()) for text in asked] == [
        {"zeta", "alpha", "beta.", "gamma", "delta", "epsilon."}
    ]


# Too little room


def case_30(parent: int | None) -> Forest:
    key = " ".join(f"item{i}" for i in range(250))
    forest = grow(("Bo owns it all, I think, yes.", SUPPORT, None), (key, KEY, parent))
    assert default_counter().count(key) == 500
    return forest


@pytest.mark.parametrize("parent", [None, 0])
def test_a_key_of_500_tokens_in_a_budget_of_50_is_there_and_cut_with_a_mark(parent):
    compressed = compress(case_30(parent), 50, counter=default_counter())
    assert default_counter().count(compressed.text) == compressed.n_tokens <= 50
    assert [node.message.id for node in compressed.forest] == ["m1"]
    assert compressed.text.endswith("[…]")
    assert compressed.cut == ("m1",)
    assert compressed.dropped == ("m0",)
    assert any("m1" in sentence for sentence in compressed.degraded)


def test_the_last_message_is_cut_as_far_as_need_be():
    compressed = compress(case_30(None), 30, counter=default_counter())
    assert compressed.cut == ("m1",)
    (run,) = filter(None, compressed.excerpts[0])
    assert 0 < default_counter().count(run) < MIN_SPAN_TOKENS


def test_where_both_fit_both_are_there():
    compressed = compress(case_30(0), 100, counter=default_counter())
    assert [node.message.id for node in compressed.forest] == ["m0", "m1"]
    assert compressed.cut == ("m1",)


def test_a_cut_falls_between_characters_a_reader_sees():
    forest = grow(("👩‍💻" * 90, KEY, None))
    compressed = compress(forest, 60, counter=default_counter())
    (excerpt,) = compressed.excerpts
    assert compressed.cut == ("m0",)
    assert set(excerpt[0].split("👩‍💻")) == {""}


def test_a_key_is_cut_after_the_others():
    words = " ".join(["alpha"] * 40)
    forest = grow((words, KEY, None), (words, ANCHOR, None))
    assert less(forest, 10).cut == ("m1",)


def test_when_headers_are_too_many_anchors_go_and_keys_stay():
    forest = grow(("x", ANCHOR, None), ("x", KEY, None), ("x", SUPPORT, None))
    compressed = compress(forest, size(forest) - 1)
    assert compressed.dropped == ("m0",)
    assert compressed.explanation == f"Messages dropped to fit {size(forest) - 1} tokens: 1 of 3."


def test_a_budget_too_small_for_any_message_gives_an_empty_explained_text():
    compressed = compress(grow(("x", KEY, None), ("y", KEY, 0)), 3)
    assert (compressed.text, compressed.n_tokens, len(compressed.forest)) == ("", 0, 0)
    assert compressed.dropped == ("m1", "m0")
    assert compressed.explanation == "No message fits 3 tokens; dropped: 2 of 2."


def test_an_author_with_an_endless_name_pushes_nobody_else_out():
    long_name = Message(id="long", text="x", sent_at=START, author="Ann " * 99)
    other = Message(id="other", text="y", sent_at=START + timedelta(hours=1))
    evidence = [Evidence(long_name, KEY, 2.0), Evidence(other, ANCHOR, 1.0)]
    forest = grow_forest(evidence, [ParentChoice(), ParentChoice()])
    assert compress(forest, 50).dropped == ("long",)


def test_the_policy_raise_names_what_is_needed_and_allowed():
    forest = grow(("x", KEY, None), ("y", KEY, None))
    # "[1] KEY root Mon 2026-03-02 08:00Z unknown", "> x"
    needed = 2 * (7 + 2)
    message = rf"need about {needed} tokens \(messages: 2\), but max_tokens is 8"
    with pytest.raises(BudgetError, match=message):
        compress(forest, 8, on_infeasible="raise")


def test_the_policy_raise_does_not_raise_while_omission_is_enough():
    forest = grow(("alpha beta. gamma gamma gamma.", SUPPORT, None))
    assert less(forest, 1, on_infeasible="raise").omitted == (1,)


def test_an_empty_forest_is_an_empty_text_without_explanation():
    compressed = compress(Forest(), 1)
    assert (compressed.text, compressed.explanation) == ("", None)


def test_the_legend_is_there_unless_the_budget_is_small():
    forest = grow(("x", KEY, None))
    n_words = Words().count(LEGEND)
    assert LEGEND in compress(forest, 20 * n_words, legend=True).text
    assert LEGEND not in compress(forest, 20 * n_words - 1, legend=True).text


# Always

words = st.sampled_from(
    ["alpha", "beta.", "gamma!\n", "Friday", "5", "周五。", "👩‍💻", "[…]", "\\x{", "\u2028", "> x", "e\u0301", "no."]
)  # fmt: skip
texts = st.lists(words, max_size=40).map(" ".join) | st.text(max_size=30)


@st.composite
def forests(draw) -> Forest:
    rows = [
        (draw(texts), draw(st.sampled_from(Label)), draw(st.none() | st.integers(0, max(i - 1, 0))))
        for i in range(draw(st.integers(0, 6)))
    ]
    return grow(*rows, relation=draw(st.sampled_from([Relation.UPDATE, Relation.EXPAND])))


@settings(deadline=None)
@given(forests(), st.integers(1, 400), st.sampled_from(["", "When is Friday alpha?"]))
def test_the_whole_text_never_exceeds_the_budget(forest, budget, question):
    compressed = compress(forest, budget, question, counter=default_counter(), legend=True)
    assert compressed.n_tokens == default_counter().count(compressed.text)
    assert compressed.n_tokens <= budget


@settings(deadline=None)
@given(forests(), st.integers(1, 400))
def test_every_message_is_shown_or_reported(forest, budget):
    compressed = compress(forest, budget, counter=default_counter())
    ids = [node.message.id for node in compressed.forest]
    assert sorted([*ids, *compressed.dropped]) == sorted(n.message.id for n in forest)
    assert bool(compressed.dropped) == (compressed.explanation is not None)


@settings(deadline=None)
@given(forests(), st.integers(1, 400))
def test_the_text_reads_back_as_the_record(forest, budget):
    compressed = compress(forest, budget, counter=default_counter())
    nodes = parse(compressed.text).nodes
    assert tuple(node.excerpt for node in nodes) == compressed.excerpts
    assert [n.parent and n.parent - 1 for n in nodes] == [n.parent for n in compressed.forest]
    assert linearize(compressed, legend=False) == compressed.text


@settings(deadline=None)
@given(forests(), st.integers(1, 400))
def test_what_is_kept_of_a_text_stands_in_it_in_this_order(forest, budget):
    compressed = compress(forest, budget, counter=default_counter())
    for node, excerpt, omitted in zip(
        compressed.forest, compressed.excerpts, compressed.omitted, strict=True
    ):
        at = 0
        for run in excerpt:
            at = node.message.text.index(run, at) + len(run)
        is_whole = excerpt == (node.message.text,)
        assert is_whole == (omitted == 0 and node.message.id not in compressed.cut)


@settings(deadline=None)
@given(forests())
def test_the_policy_raise_does_not_raise_while_headers_and_a_sentence_each_fit(forest):
    lines = linearize(forest, legend=False).split("\n")
    headers = [line for line in lines if line and not line.startswith(">")]
    # A sentence of 16 tokens, ">", a mark at both ends, line ends and the border.
    room = sum(default_counter().count(header) + 16 + 1 + 2 * 2 + 3 for header in headers)
    options = {"counter": default_counter(), "on_infeasible": "raise"}
    assert compress(forest, max(room, 1), **options).dropped == ()


def test_a_secret_that_was_left_out_is_nowhere_in_the_result():
    forest = grow(("alpha beta. secret secret secret.", SUPPORT, None), ("secret", ANCHOR, 0))
    compressed = compress(forest, 12)
    assert "secret" not in repr((compressed.text, compressed.excerpts, compressed.degraded))


def test_two_messages_of_one_text_are_two_messages():
    forest = grow(("+1", KEY, None), ("+1", KEY, None))
    assert shown(compress(forest, size(forest))) == ["+1", "+1"]
