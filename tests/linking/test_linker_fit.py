"""Fitting the tables: what the data says is learned, the rest comes from the prior."""

import json
import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tmem_integrations.evaluation.linker import fit
from tmem_integrations.evaluation.linker.chains import ancestors, count_chains, updated_by
from tmem_integrations.evaluation.linker.corpus import (
    UNKNOWN,
    Corpus,
    Listing,
    chain_listings,
    load_corpus,
    load_pairs,
    reply_listings,
)
from tmem_integrations.evaluation.linker.fit import (
    all_listings,
    choices_of,
    fit_parent,
    fit_relation,
    measure_pair,
)
from tmem_integrations.evaluation.linker.labelled_chats import add_chats, read_chats
from tmem_integrations.evaluation.linker.priors import PRIOR
from tmem_integrations.evaluation.linker.validation import (
    measure_chats,
    parent_line,
    predict_held_out,
    previous_or_addressed,
    validate_links,
    validate_relations,
)
from tmem_integrations.linking.links import NO_PARENT, Link, link_utterances
from tmem_integrations.linking.models import Models, load_models, parse_models
from tmem_integrations.stages.relations import relate_pair

SHARED = Path(__file__).parents[3] / "shared" / "data"

TALK = (
    ("1", "kiwi", "which port does the scanner use?", None),
    ("2", "moss", "any recipe for rye bread?", None),
    ("3", "oak", "kiwi: 8443", "1"),
    ("4", "kiwi", "oak: still refused", "3"),
    ("5", "oak", "kiwi: then update the firmware", "4"),
    ("6", "moss", "nobody bakes here", None),
)
STATES = (
    ("a", "Ruth", "Lantern goes live on May 8."),
    ("b", "Noor", "Parking is free after six."),
    ("c", "Ruth", "Lantern moves from May 8 to May 22."),
    ("d", "Ruth", "Lantern moves from May 22 to June 3."),
)
QUESTION = {
    "channel": "office",
    "key": ["d"],
    "support": [],
    "stale": ["a", "c"],
    "groups": [{"key": "d", "stale": ["a", "c"], "chain": ["a", "c", "d"]}],
}
PAIRS = (
    ("a", "c", "UPDATE", "gatemem", False),
    ("c", "d", "UPDATE", "gatemem", True),
    ("a", "b", "NONE", "gatemem", False),
    ("1", "3", "EXPAND", "irc", False),
    ("1", "6", "NONE", "irc", True),
)


def write_lines(path: Path, records: list[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    def at(i: int) -> str:
        return f"2026-03-02T09:{i:02}:00"

    talk = [
        {"id": i, "author": who, "text": text, "reply_to": to, "timestamp": at(k), "channel": "irc"}
        for k, (i, who, text, to) in enumerate(TALK)
    ]
    states = [
        {"id": i, "author": who, "text": text, "timestamp": at(k), "channel": "office"}
        for k, (i, who, text) in enumerate(STATES)
    ]
    pairs = [
        {"earlier": {"id": a}, "later": {"id": b}, "label": label, "source": source, "hard": hard}
        for a, b, label, source, hard in PAIRS
    ]
    write_lines(tmp_path / "irc" / "messages.jsonl", talk)
    write_lines(tmp_path / "gatemem" / "messages.jsonl", states)
    write_lines(tmp_path / "qmsum" / "messages.jsonl", [])
    write_lines(tmp_path / "gold" / "relations.jsonl", pairs)
    write_lines(tmp_path / "gold" / "evidence.jsonl", [QUESTION])
    return tmp_path


@pytest.fixture
def corpus(data: Path) -> Corpus:
    return load_corpus(data)


def test_a_thread_is_listed_with_its_reply_links(corpus):
    (listing,) = reply_listings(corpus)
    assert listing.ids == ("1", "2", "3", "4", "5", "6")
    assert listing.parents == (NO_PARENT, UNKNOWN, 0, 2, 3, UNKNOWN)


def test_a_message_whose_parent_is_left_out_hangs_from_the_next_above(corpus):
    above = dict(zip("13456", [None, "1", "3", "4", None], strict=True))
    for seed in range(20):
        (listing,) = reply_listings(corpus, keep=0.5, seed=seed)
        for child, parent in enumerate(listing.parents):
            if parent == UNKNOWN:
                continue
            expected = above[listing.ids[child]]
            while expected is not None and expected not in listing.ids:
                expected = above[expected]
            assert (None if parent == NO_PARENT else listing.ids[parent]) == expected


def test_chains_give_each_state_its_predecessor(corpus):
    assert chain_listings(corpus, [QUESTION])[0].parents == (NO_PARENT, 0, 1)
    among = chain_listings(corpus, [QUESTION], size=36)[0]
    assert (among.ids, among.parents) == (("a", "b", "c", "d"), (NO_PARENT, UNKNOWN, 0, 2))


def test_chains_count_what_is_reached_by_updates():
    links = [Link(None, False, 1.0), Link(0, False, 1.0), Link(1, True, 1.0)]
    assert (updated_by(links, 2), ancestors(links, 2)) == ({1}, {0, 1})
    hits, totals = count_chains(QUESTION, ["a", "c", "d"], links)
    assert (hits["any stale message, by UPDATEs"], totals["any stale message, by UPDATEs"]) == (
        1,
        2,
    )
    assert hits["stale message of the chain, any relation"] == 2
    assert hits["whole chain, by UPDATEs"] == 0
    assert hits["last step, right parent and UPDATE"] == 1


def test_a_pair_is_measured_as_the_stage_sees_it(data, corpus):
    for pair in load_pairs(data / "gold" / "relations.jsonl", corpus):
        row = measure_pair(pair, corpus)
        measured = {name: np.array(value) for name, value in row.items()}
        expected = load_models().relation.probabilities(measured).tolist()
        earlier, later = corpus.messages[pair.earlier], corpus.messages[pair.later]
        assert list(
            relate_pair(earlier, later, corpus.channels[pair.channel]).values()
        ) == pytest.approx(expected)


def random_rows(n: int) -> list[dict[str, float]]:
    dice = random.Random(0)
    return [{name: dice.gauss(0, 1) for name in PRIOR} for _ in range(n)]


def test_with_a_heavy_ridge_the_table_is_the_prior():
    model = fit_relation(random_rows(9), ["UPDATE", "EXPAND", "NONE"] * 3, ridge=1e9)
    assert model.weights == pytest.approx(np.array(list(PRIOR.values())), abs=1e-6)


def test_without_trust_a_heavy_ridge_leaves_nothing():
    model = fit_relation(random_rows(9), ["UPDATE", "EXPAND", "NONE"] * 3, ridge=1e9, trust=0)
    assert model.weights == pytest.approx(np.zeros((len(PRIOR), 3)), abs=1e-6)


def test_what_the_labels_say_is_learned_against_the_prior():
    rows = random_rows(300)
    labels = ["EXPAND" if row["later_retract"] > 0 else "UPDATE" for row in rows]
    model = fit_relation(rows, labels, ridge=1.0)
    update, expand, _ = model.weights[model.standard.names.index("later_retract")]
    assert PRIOR["later_retract"][0] > PRIOR["later_retract"][1]
    assert update < expand


def test_the_gradient_is_that_of_the_loss(corpus):
    (choices,) = (choices_of(one, corpus) for one in reply_listings(corpus))
    loss = fit._ChoiceLoss(
        choices.candidates, choices.openings, choices.sizes, choices.truths, ridge=1.0
    )
    k = choices.candidates.shape[1] + choices.openings.shape[1] + 1
    at = np.random.default_rng(0).normal(size=k) / 10
    _, slope = loss(at)
    for i in range(k):
        step = np.zeros(k)
        step[i] = 1e-6
        numeric = (loss(at + step)[0] - loss(at - step)[0]) / 2e-6
        assert slope[i] == pytest.approx(numeric, abs=1e-5)


def test_a_fitted_parent_model_finds_the_parents_it_was_shown(corpus):
    (listing,) = reply_listings(corpus)
    parent = fit_parent([choices_of(listing, corpus)], ridge=0.01)
    around = corpus.conversation(listing.ids)
    links = link_utterances(
        [around.utterances[i] for i in listing.ids],
        around.context,
        models=Models(load_models().relation, parent),
    )
    assert [links[i].parent for i in (2, 3, 4)] == [0, 2, 3]


def test_a_pair_is_labelled_by_a_model_that_saw_none_of_its_group(data, corpus):
    pairs = load_pairs(data / "gold" / "relations.jsonl", corpus)
    pairs = [replace(pairs[0], label=label) for label in ("UPDATE",) * 9 + ("NONE",) * 9]
    rows = [dict.fromkeys(PRIOR, 0.0)] * len(pairs)  # Nothing but the frequency of labels speaks.
    assert predict_held_out(rows, pairs, ["x"] * 9 + ["y"] * 9) == ["NONE"] * 9 + ["UPDATE"] * 9


def test_the_baseline_takes_the_addressed_author_or_the_previous_message(corpus):
    (listing,) = reply_listings(corpus)
    assert previous_or_addressed(listing, corpus) == [-1, 0, 0, 2, 3, 4]


def test_only_what_has_a_known_place_is_counted():
    listing = Listing("irc", ("1", "2", "3", "4"), (NO_PARENT, UNKNOWN, 0, NO_PARENT))
    line = parent_line("x", [listing], [[NO_PARENT, 0, 0, 2]])
    assert "parent 1.000 (n=1)" in line
    assert "roots found 0.000 (n=1)" in line  # The first message has nothing to choose from.


def test_the_figures_can_be_computed(data, corpus):
    pairs = load_pairs(data / "gold" / "relations.jsonl", corpus)
    assert len(validate_relations(corpus, pairs)) == 4
    lines = validate_links(corpus, pairs, [QUESTION])
    kinds = {name for name, found in all_listings(corpus, [QUESTION]).items() if found}
    assert len(lines) == 2 * len(kinds) + 2 * 6


def test_the_command_writes_tables_that_can_be_read(data, monkeypatch):
    out = data / "tables.json"
    command = [
        "fit",
        str(data / "gold" / "relations.jsonl"),
        "--data",
        str(data),
        "--out",
        str(out),
    ]
    monkeypatch.setattr(sys, "argv", command)
    fit.main()
    assert set(parse_models(out.read_text(encoding="utf-8")).relation.standard.names) == set(PRIOR)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the shared data")
def test_relations_hold_on_conversations_that_were_held_out():
    corpus = load_corpus(SHARED)
    pairs = load_pairs(SHARED / "gold" / "relations.jsonl", corpus)
    chats = read_chats()
    add_chats(corpus, chats)
    beside = measure_chats(chats, corpus)
    rows = [measure_pair(pair, corpus) for pair in pairs]

    def share_right(groups: list[str]) -> float:
        guesses = predict_held_out(rows, pairs, groups, beside=beside)
        return np.mean([g == p.label for g, p in zip(guesses, pairs, strict=True)])

    assert share_right([pair.channel for pair in pairs]) > 0.75  # .780, one standard error is .03
    assert share_right([pair.source for pair in pairs]) > 0.72  # .758
