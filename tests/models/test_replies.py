"""Replies: what models write, as checked records."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tmem_integrations.models.replies import read_gate, read_relations
from tmem_integrations.models.words import read_yes_no
from tmem_integrations.prompts.gate import GateVerdict, gate_schema
from tmem_integrations.prompts.relations import RelationChild, RelationVerdict, relations_schema

LABELS = ("c1", "c2", "c3", "c4")
CHILDREN = (RelationChild("m3", ("m1", "m2")), RelationChild("m4", ("m1", "m2", "m3")))
KEY_2 = GateVerdict("c2", "KEY", "date")
ENTRY = '{"id":"c2","label":"KEY","reason":"date"}'
ANSWER = f'{{"selected":[{ENTRY}]}}'


def kept(text, labels=LABELS):
    return [verdict.label for verdict in read_gate(text, labels).entries]


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        f"Looking at {{the chat}}: {ANSWER}",
        f"{ANSWER} Hope {{this}} helps [1].",
        f"```json\n{ANSWER}\n```",
        f"Sure!\n```\n{ANSWER}\n```\nBye.",
        f"<think>{{maybe}} c3?</think>{ANSWER}",
        f"<think>{{maybe}} c3? {ANSWER}",
        f'<think>{{"selected":[{{"id":"c3","label":"KEY"}}]}} no.</think>\n{ANSWER}',
        f'so c3? {{"selected":["c3"]}}</think>{ANSWER}',
        f'First {{"selected":[]}}, but better {ANSWER}',
        '{"selected":[{"id":"c2","label":"KEY","reason":"date",},],}',
        "{'selected': [{'id': 'c2', 'label': 'KEY', 'reason': 'date'}]}",
        "{'selected': [{'id': 'c2', 'label': 'KEY', 'reason': 'date', 'sure': True, 'note': None}]}",
        '{"selected":[ // the date\n{"id":"c2", /* yes */ "label":"KEY","reason":"date"}]}',
        '{selected: [{id: "c2", label: KEY, reason: "date"}]}',
        '{“selected”:[{“id”:“c2”,“label”:“KEY”,“reason”:“date”}]}',
        f"[{ENTRY}]",
        ENTRY,
        f"Here you are: {ENTRY}",
        json.dumps(ANSWER),
        f"[{ANSWER}]",
        f'{{"properties":{ANSWER}}}',
        f'{{"name":"pick","arguments":{ANSWER}}}',
        json.dumps(gate_schema(4)) + ANSWER,
        '{"selected":{"c2":{"label":"KEY","reason":"date"}}}',
        '{"Selected":[{"ID":"c2","Label":"KEY","Reason":"date"}]}',
        '{"selected":[{"label":"c2","kind":"KEY","reason":"date"}]}',
    ],
)  # fmt: skip
def test_an_answer_is_read_however_it_is_dressed(text):
    reading = read_gate(text, LABELS)
    assert (reading.entries, reading.problems, reading.usable) == ((KEY_2,), {}, True)


def test_prose_with_braces_before_a_message_id_without_label_is_read():
    text = 'Looking at {the chat}: {"selected":[{"message_id":"m1","reason":"x"}]}'
    assert read_gate(text, ["m1"]).entries == (GateVerdict("m1", "KEY", "x"),)


def test_a_tag_of_thinking_quoted_in_a_reason_does_not_hide_the_answer():
    text = '{"selected":[{"id":"c2","label":"KEY","reason":"quotes </think> here"}]}'
    assert read_gate(text, LABELS).entries == (GateVerdict("c2", "KEY", "quotes </think> here"),)


@pytest.mark.parametrize(
    "text",
    ['{"selected":[]}', "[]", '{"selected":null}', "```json\n{\"selected\": []}\n```",
     "<think>{maybe}</think>{\"selected\":[]}", "<think>{maybe}{\"selected\":[]}", "{'selected': [],}"],
)  # fmt: skip
def test_an_empty_selection_is_an_answer(text):
    reading = read_gate(text, LABELS)
    assert (reading.entries, reading.usable) == ((), True)


@pytest.mark.parametrize(
    "text",
    [
        None, "", "  \n", "null", "{}", "true", "I'm sorry, but I can't help with that.",
        '{"refusal":"no"}', '{"answer":"July 10"}', json.dumps(gate_schema(4)),
        json.dumps(relations_schema(4)), '{"selected":[{"id":"c99","label":"KEY"}]}',
        '{"selected":[{"id":"c2', "See [1] and {c2}.", '{"selected":[{"foo":1}]}', "<think>hm",
    ],
)  # fmt: skip
def test_what_is_no_answer_is_not_an_empty_selection(text):
    reading = read_gate(text, LABELS)
    assert (reading.entries, reading.usable) == ((), False)


@pytest.mark.parametrize(
    "written",
    ["c2", "C2", "[c2]", "(c2)", '"c2"', "c2:", "c2.", " c 2 ", "c02", "id: c2", "#2", "2", 2, 2.0,
     "2?", "c2 (Ann)", "message 2", "ｃ２", ["c2"], "**c2**"],
)  # fmt: skip
def test_a_label_is_known_in_any_dress(written):
    assert kept(json.dumps({"selected": [{"id": written, "label": "KEY"}]})) == ["c2"]


@pytest.mark.parametrize(
    "written",
    ["c9", "m2", "c22", 0, -2, 2.5, True, "", "2026-03-02", "c2c3", "２月", 10**30, {"c": 2}, "\ud800"],
)  # fmt: skip
def test_a_label_of_no_candidate_names_none(written):
    assert kept(json.dumps({"selected": [{"id": written, "label": "KEY"}]})) == []


def test_unknown_and_duplicated_labels_are_dropped_and_counted():
    text = '{"selected":[{"id":"c9"},{"id":"c1"},{"id":"c1"},{"id":"c0"},7,null,{"label":"KEY"}]}'
    reading = read_gate(text, LABELS)
    assert [verdict.label for verdict in reading.entries] == ["c1"]
    assert reading.problems == {"unknown": 3, "duplicated": 1, "malformed": 2}


def test_a_bad_entry_never_shifts_the_others():
    bad = '{"id":"c2","label":"KEY","reason":"he said "no" {and} left,'
    good = ['{"id":"c1","label":"KEY","reason":"a"}', '{"id":"c3","label":"SUPPORT","reason":"b"}']
    reading = read_gate(f'{{"selected":[{good[0]},{bad},{good[1]}]}}', LABELS)
    assert reading.entries[0] == GateVerdict("c1", "KEY", "a")
    assert reading.entries[-1] == GateVerdict("c3", "SUPPORT", "b")


def test_of_a_cut_answer_the_complete_entries_are_kept():
    whole = '{"selected":[{"id":"c1","label":"KEY","reason":"x"},{"id":"c2","label":"SUPPORT","reason":"y"}]}'
    second_ends = whole.index("]}") - 1
    for end in range(whole.index('{"id":"c2"'), second_ends):
        assert kept(whole[:end]) == ["c1"], whole[:end]
    assert kept(whole[: second_ends + 1]) == ["c1", "c2"]


def test_a_cut_label_is_never_taken_for_a_shorter_one():
    whole = '{"selected":[{"reason":"x","label":"KEY","id":"c12"}]}'
    cut = whole[: whole.index("2")]
    assert cut.endswith('"c1')
    assert kept(cut, [f"c{i}" for i in range(1, 20)]) == []


def test_of_two_verdicts_on_one_candidate_key_counts():
    text = '{"selected":[{"id":"c1","label":"SUPPORT","reason":"s"},{"id":"c1","label":"KEY","reason":"k"}]}'
    assert read_gate(text, LABELS).entries == (GateVerdict("c1", "KEY", "k"),)


@pytest.mark.parametrize(
    ("word", "kind"),
    [("key", "KEY"), ("Schlüssel", "KEY"), ("CLAVE", "KEY"), ("关键", "KEY"), ("핵심", "KEY"),
     ("support", "SUPPORT"), ("Unterstützung", "SUPPORT"), ("apoyo", "SUPPORT"), ("支持", "SUPPORT")],
)  # fmt: skip
def test_a_kind_is_read_in_other_languages(word, kind):
    assert read_gate(json.dumps([{"id": "c1", "label": word}]), LABELS).entries[0].kind == kind


@pytest.mark.parametrize(
    "entry",
    [{"id": "c1", "label": "NONE"}, {"id": "c1", "label": "nein"}, {"id": "c1", "selected": "no"},
     {"id": "c1", "label": "KEY", "relevant": False}],
)  # fmt: skip
def test_a_candidate_that_is_listed_as_rejected_is_not_kept(entry):
    reading = read_gate(json.dumps({"selected": [entry]}), LABELS)
    assert (reading.entries, reading.problems, reading.usable) == ((), {}, True)


@pytest.mark.parametrize(
    "answer",
    [
        {"selected": ["c1", "c3"]}, {"selected": "c1, c3"}, ["c1", "c3"], [1, 3],
        {"c1": "KEY", "c3": "KEY"}, {"selected": {"c1": "KEY", "c3": "KEY", "c2": "no"}},
        {"selected": [{"ids": ["c1", "c3"], "label": "KEY"}]}, {"selected": [{"id": "c1 and c3"}]},
        {"KEY": ["c1", "c3"]}, [{"编号": "c1", "标签": "关键"}, {"编号": "c3", "标签": "关键"}],
    ],
)  # fmt: skip
def test_other_forms_of_the_same_selection_are_read(answer):
    assert read_gate(json.dumps(answer), LABELS).entries == (
        GateVerdict("c1", "KEY"),
        GateVerdict("c3", "KEY"),
    )


def test_verdicts_come_in_the_order_of_the_candidates():
    assert kept('{"selected":["c4","c1","c3"]}') == ["c1", "c3", "c4"]


def test_a_reason_is_one_short_line_without_lone_surrogates():
    reason = "a\n\ud800" + "b" * 500
    (verdict,) = read_gate(json.dumps([{"id": "c1", "reason": reason}]), LABELS).entries
    assert verdict.reason == "a \ufffd" + "b" * (80 - 3 - 1) + "…"


def link(**fields):
    return {"child": "m3", "parent": "m1", "relation": "UPDATE", "confidence": 0.9, "relevance": 0.7} | fields  # fmt: skip


def read_links(*links):
    return read_relations(json.dumps({"links": links}), CHILDREN)


def test_a_link_is_read_and_a_child_without_one_is_missing():
    reading = read_links(link())
    assert reading.entries == (RelationVerdict("m3", "m1", "UPDATE", 0.9, 0.7),)
    assert (reading.missing, reading.usable, reading.problems) == (("m4",), True, {})


@pytest.mark.parametrize("parent", [None, "", "none", "NONE", "null", "-", "keine", "无"])
def test_a_child_without_parent_starts_a_tree(parent):
    (verdict,) = read_links(link(parent=parent, relation="NONE")).entries
    assert (verdict.parent, verdict.relation) == (None, "NONE")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (link(parent="m9"), "unknown"),
        (link(parent="m4"), "ineligible"),
        (link(parent="m3"), "ineligible"),
        (link(child="m9"), "unknown"),
        (link(child="m1"), "ineligible"),
        (link(parent=None), "malformed"),
        (link(relation="RELATED"), "malformed"),
        ("m3", "malformed"),
    ],
)
def test_a_link_that_cannot_be_is_dropped_and_counted(entry, problem):
    reading = read_links(entry, link(child="m4", parent="m3", relation="EXPAND"))
    assert [(v.child, v.parent) for v in reading.entries] == [("m4", "m3")]
    assert (reading.problems, reading.missing) == ({problem: 1}, ("m3",))


def test_of_two_parents_of_one_child_the_surer_one_counts_and_any_before_none():
    none = link(parent=None, relation="NONE", confidence=1.0)
    reading = read_links(none, link(confidence=0.4), link(parent="m2", confidence=0.6))
    assert [(v.parent, v.confidence) for v in reading.entries] == [("m2", 0.6)]
    assert reading.problems == {"duplicated": 2}


@pytest.mark.parametrize(
    ("written", "confidence"),
    [("0.8", 0.8), ("80%", 80 / 100), (80, 80 / 100), ("0,8", 0.8), ("8/10", 8 / 10), (1, 1.0),
     ("high", 0.5), (None, 0.5), (-3, 0.5), (1e300, 0.5), (True, 0.5), ("9" * 400, 0.5)],
)  # fmt: skip
def test_a_confidence_is_read_as_a_share_or_is_neither_sure_nor_unsure(written, confidence):
    assert read_links(link(confidence=written)).entries[0].confidence == confidence


def test_a_confidence_that_is_no_number_at_all_is_neither_sure_nor_unsure():
    text = json.dumps({"links": [link(confidence=float("nan"))]})
    assert "NaN" in text
    assert read_relations(text, CHILDREN).entries[0].confidence == 0.5


@pytest.mark.parametrize(
    ("word", "relation"),
    [("update", "UPDATE"), ("Aktualisierung", "UPDATE"), ("更新", "UPDATE"), ("mise à jour", "UPDATE"),
     ("EXPANDS", "EXPAND"), ("Ergänzung", "EXPAND"), ("확장", "EXPAND")],
)  # fmt: skip
def test_a_relation_is_read_in_other_languages(word, relation):
    assert read_links(link(relation=word)).entries[0].relation == relation


@pytest.mark.parametrize(
    ("text", "answer"),
    [("yes", True), ("**Yes**, it does.", True), ("ja", True), ("Sí.", True), ("是的。", True), ("네", True),
     ('{"same": true}', True), ('{"answer":"nein","reason":"yes"}', False), ("No.", False), ("нет", False),
     ("<think>yes?</think>no", False), ("いいえ", False), ("maybe", None), ("", None), (None, None), ("nobody knows", None)],
)  # fmt: skip
def test_yes_and_no_are_read_in_many_languages(text, answer):
    assert read_yes_no(text) is answer


selections = st.lists(
    st.builds(
        lambda label, kind, reason: {"id": label, "label": kind, "reason": reason},
        st.sampled_from(LABELS),
        st.sampled_from(["KEY", "SUPPORT"]),
        st.text(max_size=30),
    ),
    max_size=4,
    unique_by=lambda entry: entry["id"],
)
prose = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ["Looking at {the chat}: ", "[c1] said {x: 1}; ", "```json\n", "{[(", "}]) "]
)


@given(selections, prose, prose)
def test_prose_around_an_answer_changes_nothing(selection, before, after):
    answer = json.dumps({"selected": selection})
    assert read_gate(before + answer + after, LABELS) == read_gate(answer, LABELS)


@given(selections, st.integers(0, 400))
@example([{"id": "c1", "label": "KEY", "reason": "]0"}], 55)
def test_a_cut_answer_yields_a_part_of_the_whole(selection, end):
    answer = json.dumps({"selected": selection})
    whole = read_gate(answer, LABELS).entries
    cut = read_gate(answer[:end], LABELS)
    assert set(cut.entries) <= set(whole)


@given(st.text() | st.text("{}[]\"':,c12selctdidKEY<>/think \n\\"))
def test_no_text_makes_the_readers_raise(text):
    for reading in (read_gate(text, LABELS), read_relations(text, CHILDREN)):
        assert reading.usable or not reading.entries


KEYS = ("id", "label", "selected", "child", "parent", "relation", "confidence", "links", "c1", "m3")
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.sampled_from((*LABELS, *KEYS)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values)
def test_whatever_json_comes_only_labels_of_the_call_come_out_each_once(value):
    text = json.dumps(value)
    gate = [LABELS.index(verdict.label) for verdict in read_gate(text, LABELS).entries]
    assert all(a < b for a, b in pairwise(gate))
    links = read_relations(text, CHILDREN).entries
    parents = {child.label: child.parents for child in CHILDREN}
    assert all(v.parent is None or v.parent in parents[v.child] for v in links)
    assert all((v.parent is None) == (v.relation == "NONE") and 0 <= v.confidence <= 1 for v in links)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{" * 100_000, '{"a":' * 20_000, '{"selected":[' + '"a' * 20_000,
     '{"selected":[' * 20_000, '{"id":"c1",' * 20_000, "{'selected':[" + "\\" * 50_000],
)  # fmt: skip
def test_a_reply_that_went_into_a_loop_picks_what_it_named_before_it(text):
    named = ["c1"] if '"c1"' in text else []
    assert [verdict.label for verdict in read_gate(text, LABELS).entries] == named


def test_a_reply_of_open_brackets_is_tried_a_few_times_only(monkeypatch):
    depths = []

    def raw_decode(decoder, text, idx=0):
        depths.append(idx)
        raise RecursionError

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", raw_decode)
    read_gate("see " + "[" * 1_000, LABELS)
    assert len(depths) < 10
