"""Peers of the paper, over the packages they publish: same questions, same budget, the user's model.

| name | package | shows |
|---|---|---|
| `mem0` | `mem0ai` | facts, each with the message it was taken from |
| `graphiti` | `graphiti-core` and `kuzu` | facts, each with the messages that say it |
| `hindsight` | `hindsight-client`, and a server | facts, each with the messages behind it |

`UNAVAILABLE` names those that cannot be measured, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods.base import Method

PEERS = ("mem0", "graphiti", "hindsight")
"""Names of those that can be measured."""

UNAVAILABLE: Mapping[str, str] = {
    "hipporag": "hipporag 2.0.0a4 pins openai 1.91.1, pydantic 2.10.4 and torch 2.5.1, and cannot be "
    "installed beside langchain-openai",
    "a-mem": "a-mem 0.2.6 is somebody else's fork of it, and downloads its embedding model when it starts",
    "lightmem": "lightmem 0.0.0 on PyPI is a placeholder that cannot be run",
    "structmem": "there is no package of it on PyPI",
    "memgas": "there is no package of it on PyPI",
}
"""Those that cannot, and why."""


def make_peer(name: str, *, llm: Any, embeddings: Any) -> Method:
    """Make a peer by name.

    Args:
        name: One of `PEERS`; one of `UNAVAILABLE` says why it is none.
        llm: Chat model of either framework that writes its memory.
        embeddings: As for `TemporalForestRetriever.from_messages`.

    Raises:
        MissingExtraError: If its package is not installed.
        ConfigError: If it cannot be measured, or needs a model or a server that is not given.
    """
    if name == "mem0":
        from tmem_integrations.evaluation.methods.peers import mem0

        return mem0.make(llm, embeddings)
    if name == "graphiti":
        from tmem_integrations.evaluation.methods.peers import graphiti

        return graphiti.make(llm, embeddings)
    if name == "hindsight":
        from tmem_integrations.evaluation.methods.peers import hindsight

        return hindsight.make()
    raise ConfigError(f"{name} cannot be measured: {UNAVAILABLE[name]}.")
