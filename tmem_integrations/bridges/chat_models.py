"""Chat models by name, as a command line gives them. Keys come from the environment only."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any

from tmem_integrations.errors import ConfigError

# Servers on one's own machine check no key, but the client insists on one.
_NO_KEY = "none"


def chat_model(name: str, *, base_url: str | None = None) -> Any:
    """Make a chat model.

    Args:
        name: `openai:MODEL`, served at `base_url` or at OpenAI with the key in OPENAI_API_KEY; or
            `python:MODULE:FACTORY`, called without arguments, for any model of either framework.
        base_url: Of a server that speaks OpenAI's chat completions, such as
            http://127.0.0.1:8080/v1.

    Raises:
        ConfigError: If `name` is in neither form, nothing is there, or the key is missing.
    """
    kind, _, rest = name.partition(":")
    if kind == "openai" and rest:
        return _openai(rest, base_url)
    module, _, attribute = rest.partition(":")
    if kind == "python" and module and attribute:
        return load_object(module, attribute, name)()
    raise ConfigError(f"A model must be openai:MODEL or python:MODULE:FACTORY, got {name!r}.")


def load_object(module: str, attribute: str, path: str) -> Callable[..., Any]:
    """A callable by module and dotted name.

    Args:
        module: Such as "langchain_community.retrievers".
        attribute: Such as "BM25Retriever.from_documents".
        path: How an error names it.

    Raises:
        ConfigError: If it cannot be imported or is not callable.
    """
    try:
        found = reduce(getattr, attribute.split("."), import_module(module))
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{path}: cannot be imported, {error}.") from error
    if not callable(found):
        raise ConfigError(f"{path}: expected a callable, found {found!r:.80}.")
    return found


def _openai(model: str, base_url: str | None) -> Any:
    from langchain_openai import ChatOpenAI

    key = os.environ.get("OPENAI_API_KEY")
    if key is None and base_url is None and not os.environ.get("OPENAI_API_BASE"):
        raise ConfigError(
            f"openai:{model} needs the key in OPENAI_API_KEY, or --base-url of your own server."
        )
    # Retries are the judging flow's, which honours what the service asks for.
    return ChatOpenAI(
        model=model,
        base_url=base_url,
        api_key=lambda: key or _NO_KEY,
        temperature=0,
        max_retries=0,
    )
