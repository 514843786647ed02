"""The `tmem` program: its commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from tmem_integrations.cli import ask, bench, check, demo, forget, import_file, serve, show
from tmem_integrations.cli.eval import eval_app

app = typer.Typer(
    name="tmem",
    help="Ask a long group chat what is true now.\n\n"
    "Start with [bold]tmem demo[/bold]; it needs no key, no network and no file.",
    epilog="Exit codes: 0 done · 1 nothing found, or problems found · 2 wrong usage or input.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tmem {version('tmem-integrations')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


app.command("demo")(demo.demo)
app.command("import")(import_file.import_file)
app.command("ask")(ask.ask)
app.command("show")(show.show)
app.command("serve")(serve.serve)
app.command("check")(check.check)
app.command("forget")(forget.forget)
app.command("bench")(bench.bench)
app.add_typer(eval_app, name="eval")
