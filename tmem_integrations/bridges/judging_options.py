"""How a chat model is asked, as keywords of a retriever: what a caller says, as config and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypedDict, TypeVar

from llama_index.core.prompts import PromptTemplate

from tmem_integrations.config import ForestConfig, ModelConfig, OnFailure
from tmem_integrations.errors import ConfigError
from tmem_integrations.judges.model import Prompts
from tmem_integrations.prompts.gate import GatePrompt
from tmem_integrations.prompts.relations import RelationsPrompt
from tmem_integrations.suggestions import suggest

P = TypeVar("P", GatePrompt, RelationsPrompt)


class ModelOptions(TypedDict, total=False):
    """Keywords that bound what the model in `llm` is asked; each can be left out.

    They hold for one question, or for one write of a memory that anticipates.

    Attributes:
        on_model_failure: "degrade" (default) goes on without what the model did not answer, and says so;
            "raise" raises `ModelError`.
        max_concurrency: Calls at once; 8 when left out.
        max_llm_calls: Calls, retries included; no bound when left out.
        max_llm_tokens: Tokens, prompts and answers together; likewise.
        deadline: Time for the calls, a timedelta or seconds; likewise.
    """

    on_model_failure: OnFailure
    max_concurrency: int
    max_llm_calls: int | None
    max_llm_tokens: int | None
    deadline: timedelta | float | None


class JudgingOptions(ModelOptions, total=False):
    """Keywords that say how the model in `llm` judges; each can be left out.

    Attributes:
        gate_prompt: Asks which messages are evidence: a `GatePrompt`, its template as text, or a prompt
            template of either framework.
        relations_prompt: Asks which message continues which: a `RelationsPrompt`, or likewise.
    """

    gate_prompt: Any
    relations_prompt: Any


_SETTINGS = {"on_model_failure": "on_failure"} | {
    name: name for name in ("max_concurrency", "max_llm_calls", "max_llm_tokens", "deadline")
}
_PROMPTS = ("gate_prompt", "relations_prompt")


def read_config(config: ForestConfig | None, options: Mapping[str, Any]) -> ForestConfig:
    """The config with the settings that `options` name.

    Raises:
        ConfigError: If a keyword is unknown or a value out of its range.
    """
    _check_names(options, (*_SETTINGS, *_PROMPTS), "setting of a retriever")
    if config is not None and not isinstance(config, ForestConfig):
        raise ConfigError(f"config must be a ForestConfig or None, got {config!r}.")
    config = config or ForestConfig()
    return replace(config, models=_with_options(config.models, options))


def read_models(options: Mapping[str, Any]) -> ModelConfig:
    """The bounds that `options` name, and the usual ones for the rest.

    Raises:
        ConfigError: If a keyword is unknown or a value out of its range.
    """
    _check_names(options, tuple(_SETTINGS), "setting of a retriever")
    return _with_options(ModelConfig(), options)


def _with_options(config: ModelConfig, options: Mapping[str, Any]) -> ModelConfig:
    settings = {_SETTINGS[name]: value for name, value in options.items() if name in _SETTINGS}
    seconds = settings.get("deadline")
    if isinstance(seconds, int | float):
        settings["deadline"] = timedelta(seconds=seconds)
    return replace(config, **settings)


def read_prompts(options: Mapping[str, Any], prompts: Prompts | None = None) -> Prompts:
    """The prompts with those that `options` name replaced.

    Raises:
        ConfigError: If one is no template or lacks a field.
    """
    prompts = prompts or Prompts()
    gate, relations = (options.get(name) for name in _PROMPTS)
    if gate is not None:
        prompts = replace(prompts, gate=_read(gate, prompts.gate, "gate_prompt"))
    if relations is not None:
        own = _read(relations, prompts.relations, "relations_prompt")
        prompts = replace(prompts, relations=own)
    return prompts


def replace_prompts(prompts: Prompts, given: Mapping[str, Any]) -> Prompts:
    """The prompts with those in `given` replaced, by the names of `write_prompts`.

    Raises:
        ConfigError: If a name is unknown, or one is no template or lacks a field.
    """
    _check_names(given, _PROMPTS, "prompt of a retriever")
    return read_prompts(given, prompts)


def write_prompts(prompts: Prompts) -> dict[str, PromptTemplate]:
    """The prompts as LlamaIndex shows them; their braces are `str.format`'s."""
    return {
        "gate_prompt": PromptTemplate(prompts.gate.template),
        "relations_prompt": PromptTemplate(prompts.relations.template),
    }


def _check_names(given: Iterable[str], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise ConfigError(f"{name!r} is no {what}; {suggest(name, known)}")


def _read(given: Any, own: P, name: str) -> P:
    if isinstance(given, type(own)):
        return given
    template = given if isinstance(given, str) else getattr(given, "template", None)
    if not isinstance(template, str):
        raise ConfigError(
            f"{name} must be a {type(own).__name__}, a text or a prompt template, got {given!r:.200}."
        )
    return replace(own, template=template)
