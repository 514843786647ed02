"""A chat model in both seats of the panel."""

from __future__ import annotations

from dataclasses import dataclass, field

from tmem_integrations.config import ModelConfig
from tmem_integrations.judges.calls import Calls
from tmem_integrations.judges.gate import ModelGate
from tmem_integrations.judges.linker import ModelLinker
from tmem_integrations.judges.panel import Panel
from tmem_integrations.models.budget import Budget, Ceilings
from tmem_integrations.prompts.gate import GatePrompt
from tmem_integrations.prompts.relations import RelationsPrompt
from tmem_integrations.protocols import TokenCounter


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the model is asked, in words; each can be replaced."""

    gate: GatePrompt = field(default_factory=GatePrompt)
    relations: RelationsPrompt = field(default_factory=RelationsPrompt)


def model_panel(
    model: str,
    config: ModelConfig,
    prompts: Prompts,
    counter: TokenCounter,
    budget: Budget | None = None,
) -> Panel:
    """Seat a model for one question; the clock of its deadline starts now.

    Args:
        model: The model's name.
        config: Ceilings, batch sizes and what to do when it fails.
        prompts: What it is asked.
        counter: Counts tokens of prompts.
        budget: The account; one with the ceilings of `config` when None.
    """
    budget = budget or Budget(ceilings_of(config))
    calls = Calls(model, config, budget, counter)
    return Panel(ModelGate(calls, prompts.gate), ModelLinker(calls, prompts.relations), budget)


def ceilings_of(config: ModelConfig) -> Ceilings:
    """What one question may cost."""
    return Ceilings(
        max_llm_calls=config.max_llm_calls,
        max_llm_tokens=config.max_llm_tokens,
        deadline=config.deadline,
    )
