"""The package's linker on pairs that its coefficients have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tmem_integrations.evaluation.linker.corpus import SOURCES
from tmem_integrations.evaluation.linker.fit import measure_pair
from tmem_integrations.evaluation.linker.labelled_chats import read_labelled
from tmem_integrations.evaluation.linker.validation import measure_chats, predict_held_out
from tmem_integrations.evaluation.relations import KINDS, Pair, PairGold, RelationsReport


def can_hold_out(data: Path) -> bool:
    """Whether the conversations that the pairs are from are there, to be left out one by one."""
    return all((data / source / "messages.jsonl").is_file() for source in SOURCES)


def held_out_reports(
    data: Path, path: Path, pairs: Sequence[tuple[Pair, PairGold]]
) -> list[RelationsReport]:
    """Fit the relation table anew without each conversation, and without each source.

    The labelled chats of the package are seen each time: none of the pairs is from them.

    Args:
        data: Holds the data sets that the pairs are from.
        path: The labelled pairs.
        pairs: The same, as `read_pairs` gives them.
    """
    corpus, labelled, chats = read_labelled(path, data)
    rows = [measure_pair(pair, corpus) for pair in labelled]
    beside = measure_chats(chats, corpus)
    groups = {
        "conversations": [pair.channel for pair in labelled],
        "sources": [pair.source for pair in labelled],
    }
    reports = []
    for what, names in groups.items():
        said = predict_held_out(rows, labelled, names, beside=beside)
        kinds = [next((kind for kind in KINDS if kind == guess), None) for guess in said]
        judged = tuple(
            (pair.source, gold, kind) for (pair, gold), kind in zip(pairs, kinds, strict=True)
        )
        reports.append(RelationsReport(f"package, {what} held out", judged))
    return reports
