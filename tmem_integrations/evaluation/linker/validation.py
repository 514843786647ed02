"""Figures of the linker on conversations that its tables have not seen.

    python -m tmem_integrations.evaluation.linker.validation RELATIONS.jsonl --data DIR

Relations: accuracy on labelled pairs, held out by conversation and by source; the labelled chats of
the package are always seen, and are held out one by one in a line of their own. Parents: of human
replies, in chains of states and in labelled chats, both tables fitted without the conversation at
hand. What a message replies to is never seen.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmem_integrations.evaluation.linker.chains import count_chains
from tmem_integrations.evaluation.linker.corpus import (
    Corpus,
    Listing,
    Pair,
    load_chains,
)
from tmem_integrations.evaluation.linker.fit import (
    COPIES,
    Choices,
    all_listings,
    choices_of,
    fit_parent,
    fit_relation,
    measure_pair,
)
from tmem_integrations.evaluation.linker.labelled_chats import (
    LabelledChat,
    chat_pairs,
    read_labelled,
)
from tmem_integrations.linking.links import NO_PARENT, Link, link_utterances
from tmem_integrations.linking.models import RELATIONS, Models

Row = dict[str, float]


def predict_held_out(
    rows: Sequence[Row],
    pairs: Sequence[Pair],
    groups: Sequence[str],
    *,
    beside: tuple[Sequence[Row], Sequence[Pair]] = ((), ()),
    trust: float = 1.0,
) -> list[str]:
    """Label each pair by a model that saw none of its group.

    Args:
        rows: Features of each pair.
        pairs: Labelled.
        groups: What is held out together, such as the conversation of each pair.
        beside: Features and pairs that every model sees.
        trust: In the prior.
    """
    more, others = beside
    guesses = [""] * len(pairs)
    for group in sorted(set(groups)):
        kept = [i for i, name in enumerate(groups) if name != group]
        labels = [pairs[i].label for i in kept] + [pair.label for pair in others]
        model = fit_relation([*(rows[i] for i in kept), *more], labels, trust=trust)
        for i, name in enumerate(groups):
            if name == group:
                chances = model.probabilities({k: np.array(v) for k, v in rows[i].items()})
                guesses[i] = RELATIONS[int(chances.argmax())]
    return guesses


def _relation_line(title: str, guesses: Sequence[str], pairs: Sequence[Pair]) -> str:
    """Accuracy over all, hard and others; all / hard per source; recall per relation."""
    labels = np.array([p.label for p in pairs])
    sources = np.array([p.source for p in pairs])
    hard = np.array([p.hard for p in pairs])
    right = np.array(guesses) == labels
    by_source = [
        f"{source} {_share(right[own], 2)}/{_share(right[own & hard], 2)}"
        for source in sorted(set(sources.tolist()))
        for own in [sources == source]
    ]
    recalls = "/".join(_share(right[labels == relation], 2) for relation in RELATIONS)
    return (
        f"{title:50s} all {_share(right, 3)} hard {_share(right[hard], 3)}"
        f" other {_share(right[~hard], 3)} | {' '.join(by_source)} | recall U/E/N {recalls}"
    )


def parent_line(title: str, listings: Sequence[Listing], guesses: Sequence[Sequence[int]]) -> str:
    """Right parents among children, roots found among roots, children made roots."""
    truth = np.array([p for one in listings for p in one.parents])
    guess = np.array([g for one in guesses for g in one])
    first = np.array([i == 0 for one in listings for i in range(len(one.ids))])
    child, root = truth >= 0, (truth == NO_PARENT) & ~first
    return (
        f"{title:50s} parent {_share(guess[child] == truth[child], 3)} (n={child.sum()})"
        f" roots found {_share(guess[root] == NO_PARENT, 3)} (n={root.sum()})"
        f" children made roots {_share(guess[child] == NO_PARENT, 3)}"
    )


def _share(right: NDArray[np.bool_], digits: int) -> str:
    """How many of them are true; a dash where there are none."""
    return f"{right.mean():.{digits}f}" if right.size else "–"


def previous_or_addressed(listing: Listing, corpus: Corpus) -> list[int]:
    """Baseline: the last message by the nick that the text begins with, else the previous one."""
    authors = [(corpus.messages[i].author or "").lower() for i in listing.ids]
    chosen: list[int] = []
    for child, message in enumerate(listing.ids):
        text = corpus.messages[message].text
        heads = {text.split(mark)[0].strip().lower() for mark in ":, "} - {""}
        by = [i for i in range(child) if authors[i] in heads]
        chosen.append(by[-1] if by else child - 1)
    return chosen


def _link_listing(listing: Listing, corpus: Corpus, models: Models) -> tuple[Link, ...]:
    """Links of one list."""
    around = corpus.conversation(listing.ids)
    utterances = [around.utterances[i] for i in listing.ids]
    return link_utterances(utterances, around.context, models=models)


def _link_held_out(
    corpus: Corpus,
    pairs: Sequence[Pair],
    rows: Sequence[Row],
    groups: Mapping[str, Sequence[Listing]],
) -> dict[str, list[tuple[Link, ...]]]:
    """Links of each list by tables that saw nothing of its channel.

    Args:
        corpus: Messages.
        pairs: Labelled.
        rows: Features of each.
        groups: What `all_listings` gives, or some of it.
    """
    fitting: list[tuple[str, Choices]] = [
        (one.channel, choices)
        for name, listings in groups.items()
        for one in listings
        for choices in [choices_of(one, corpus)] * COPIES[name]
    ]
    channels = {one.channel for listings in groups.values() for one in listings}
    models = {channel: _fit_without(channel, pairs, rows, fitting) for channel in sorted(channels)}
    return {
        name: [_link_listing(one, corpus, models[one.channel]) for one in listings]
        for name, listings in groups.items()
    }


def _fit_without(
    channel: str, pairs: Sequence[Pair], rows: Sequence[Row], fitting: Sequence[tuple[str, Choices]]
) -> Models:
    seen = [i for i, pair in enumerate(pairs) if pair.channel != channel]
    relation = fit_relation([rows[i] for i in seen], [pairs[i].label for i in seen])
    return Models(relation, fit_parent([c for where, c in fitting if where != channel]))


def measure_chats(chats: Sequence[LabelledChat], corpus: Corpus) -> tuple[list[Row], list[Pair]]:
    """Features and labels of the pairs in labelled chats, for `predict_held_out`.

    Args:
        chats: Of the corpus.
        corpus: Holds the messages.
    """
    pairs = [pair for chat in chats for pair in chat_pairs(chat, corpus)]
    return [measure_pair(pair, corpus) for pair in pairs], pairs


def validate_relations(
    corpus: Corpus, pairs: Sequence[Pair], chats: Sequence[LabelledChat] = ()
) -> list[str]:
    """Lines on the labelled pairs, as shipped and without the prior, and on the labelled chats."""
    rows = [measure_pair(pair, corpus) for pair in pairs]
    chat_rows, told = measure_chats(chats, corpus)
    channels, sources = [p.channel for p in pairs], [p.source for p in pairs]
    lines = []
    for name, trust in (("relations", 1.0), ("relations without prior", 0.0)):
        for groups, by in ((channels, "conversation"), (sources, "source")):
            said = predict_held_out(rows, pairs, groups, beside=(chat_rows, told), trust=trust)
            lines.append(_relation_line(f"{name}, held out by {by}", said, pairs))
    if told:
        groups = [pair.channel for pair in told]
        said = predict_held_out(chat_rows, told, groups, beside=(rows, pairs))
        lines.append(_relation_line("relations of labelled chats, held out by chat", said, told))
    return lines


def validate_links(
    corpus: Corpus,
    pairs: Sequence[Pair],
    questions: Sequence[Mapping[str, Any]],
    chats: Sequence[LabelledChat] = (),
) -> list[str]:
    """Lines on parents and chains."""
    groups = {
        name: listings
        for name, listings in all_listings(corpus, questions, chats).items()
        if listings
    }
    pairs = [*pairs, *(pair for chat in chats for pair in chat_pairs(chat, corpus))]
    rows = [measure_pair(pair, corpus) for pair in pairs]
    links = _link_held_out(corpus, pairs, rows, groups)
    lines: list[str] = []
    for name, listings in groups.items():
        guesses = [
            [NO_PARENT if x.parent is None else x.parent for x in one] for one in links[name]
        ]
        simple = [previous_or_addressed(one, corpus) for one in listings]
        lines.append(parent_line(f"{name}: previous or addressed", listings, simple))
        lines.append(parent_line(f"{name}: linker", listings, guesses))
    for name in ("chains", "chains among others"):
        counts = _sum_chains(questions, groups[name], links[name])
        lines += [f"{name}: {measure:45s} {share}" for measure, share in counts.items()]
    return lines


def _sum_chains(
    questions: Sequence[Mapping[str, Any]],
    listings: Sequence[Listing],
    links: Sequence[Sequence[Link]],
) -> dict[str, str]:
    """Measure to its share over all questions."""
    hits: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for question, one, found in zip(questions, listings, links, strict=True):
        more_hits, more_totals = count_chains(question, one.ids, found)
        hits.update(more_hits)
        totals.update(more_totals)
    return {name: f"{hits[name] / n:.3f} ({hits[name]}/{n})" for name, n in totals.items()}


def main() -> None:
    """Read the arguments, print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("relations", type=Path, help="labelled pairs, JSONL")
    parser.add_argument("--data", type=Path, required=True, help="holds <source>/messages.jsonl")
    arguments = parser.parse_args()
    corpus, pairs, chats = read_labelled(arguments.relations, arguments.data)
    print(*validate_relations(corpus, pairs, chats), sep="\n")
    questions = load_chains(arguments.data / "gold" / "evidence.jsonl")
    print(*validate_links(corpus, pairs, questions, chats), sep="\n")


if __name__ == "__main__":
    main()
