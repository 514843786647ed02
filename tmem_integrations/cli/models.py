"""`--model` and `--base-url`: the chat model that a command asks. Keys come from the environment."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Model = Annotated[
    str | None,
    typer.Option(
        "--model", help="Chat model: openai:NAME or python:MODULE:FACTORY.", show_default="rules"
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="Of a server that speaks OpenAI's dialect.", show_default=False),
]


def read_model(name: str | None, base_url: str | None) -> Any:
    """The chat model named on the command line; None when none is."""
    if name is None:
        return None
    from tmem_integrations.bridges.chat_models import chat_model
    from tmem_integrations.bridges.language_models import as_language_model

    return as_language_model(chat_model(name, base_url=base_url))
