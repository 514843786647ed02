"""`tmem eval gate` and `tmem eval relations`: the two judgements, against pairs and evidence read by hand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmem_integrations.cli import eval_options, models, options
from tmem_integrations.cli.output import print_json, progress_bar

if TYPE_CHECKING:
    from tmem_integrations.evaluation.gate import GateReport
    from tmem_integrations.evaluation.relations import Linker
    from tmem_integrations.messages import Message

GoldData = Annotated[
    Path,
    typer.Argument(help="Folder with gold/ and the data sets it is about.", show_default=False),
]


def gate(
    data: GoldData,
    methods: eval_options.Methods = None,
    at: Annotated[str, typer.Option(help="Bounds N on the messages shown.")] = "12,36",
    messages: Annotated[
        str, typer.Option(help="Data set in the folder that the evidence is about.")
    ] = "gatemem",
    model: models.Model = None,
    base_url: models.BaseUrl = None,
    as_json: options.AsJson = False,
) -> None:
    """How well current messages are selected, and stale ones kept beside what replaced them.

    Reads gold/evidence.jsonl. KEY recall counts asked things, precision counts shown messages; "stale
    alone" is the share of shown stale messages without the one that holds; "for 95 %" is how many
    candidates, best first, hold 95 % of KEY. Of a forest also: "wrongly superseded" is the share of
    messages that hold but are shown as updated, "steps by UPDATE" that of changes of a state which
    are one UPDATE link, where both messages are shown.

    Example: [cyan]tmem eval gate data/ --method bm25+metadata --method forest[/cyan]
    """
    from tmem_integrations.evaluation.datasets import load_dataset
    from tmem_integrations.evaluation.gate import measure_gate
    from tmem_integrations.evaluation.gate_gold import read_gate_gold

    bounds = eval_options.read_bounds(at)
    chosen = eval_options.choose_methods(methods, models.read_model(model, base_url))
    history = load_dataset(data / messages).messages
    dataset, gold = read_gate_gold(data / "gold" / "evidence.jsonl", history)
    reports: list[GateReport] = []
    with progress_bar() as bar:
        for method in chosen:
            advance = partial(bar.advance, bar.add_task(method.name, total=len(gold)))
            reports += measure_gate(dataset, gold, method, bounds, progress=advance)
    if as_json:
        print_json({"gate": [report.to_dict() for report in reports]})
    else:
        from tmem_integrations.evaluation.gold_tables import gate_rows
        from tmem_integrations.evaluation.tables import markdown_table

        print(markdown_table(*gate_rows(reports)))


def relations(
    data: GoldData,
    model: models.Model = None,
    base_url: models.BaseUrl = None,
    as_json: options.AsJson = False,
) -> None:
    """How well two messages are linked: UPDATE, EXPAND or NONE.

    Reads gold/relations.jsonl, and the data sets beside it for what surrounds a pair. The package's
    linker, and a model where given, beside always saying the same. The package's coefficients were
    fitted on these pairs: what they are worth elsewhere, the rows tell that hold conversations or
    whole sources out.

    Example: [cyan]tmem eval relations data/[/cyan]
    """
    from tmem_integrations.evaluation.linker.held_out import can_hold_out, held_out_reports
    from tmem_integrations.evaluation.relations import (
        ConstantLinker,
        PackageLinker,
        measure_relations,
        read_pairs,
    )

    linkers: list[Linker] = [ConstantLinker("EXPAND"), PackageLinker()]
    llm = models.read_model(model, base_url)
    if llm is not None:
        from tmem_integrations.evaluation.model_linker import ModelLinker

        linkers.append(ModelLinker(llm))
    histories = {path.parent.name: _messages(path) for path in data.glob("*/messages.jsonl")}
    path = data / "gold" / "relations.jsonl"
    pairs = read_pairs(path, histories)
    reports = [measure_relations(pairs, linker) for linker in linkers]
    if can_hold_out(data):
        reports += held_out_reports(data, path, pairs)
    if as_json:
        print_json({"relations": [report.to_dict() for report in reports]})
    else:
        from tmem_integrations.evaluation.gold_tables import relations_rows
        from tmem_integrations.evaluation.tables import markdown_table

        print(markdown_table(*relations_rows(reports)))


def _messages(path: Path) -> tuple[Message, ...]:
    from tmem_integrations.evaluation.datasets.jsonl import read_messages

    return tuple(read_messages(path))
