"""Named comparisons that anyone can repeat: which methods, which bounds, which runs.

The numbers (`tef-exp2`, `am-ablation`) say after which experiment of a paper a recipe is made, as far as this
package's methods go. What a recipe does is what its `question` and `methods` say, on the data it is given;
its figures are not those of the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from tmem_integrations.config import PAPER
from tmem_integrations.errors import ConfigError
from tmem_integrations.evaluation.methods import Method, make_method

MakeMethods = Callable[[Any], Sequence[Method]]
"""The user's model, or None, to methods."""


@dataclass(frozen=True, slots=True)
class Variation:
    """A run beside others.

    Attributes:
        name: Of its folder.
        method: Name of the method.
        structure: As in `RunContract`.
        compression: As in `RunContract`.
        max_messages: N.
        max_tokens: B.
    """

    name: str
    method: str = "forest"
    structure: str = "forest"
    compression: str = "omit"
    max_messages: int = 36
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Recipe:
    """A comparison: of methods by what they find, or of runs by what is shown and answered.

    Attributes:
        question: What it answers, in one sentence.
        methods: Makes what is compared by what it finds.
        at: Bounds N of these.
        noisy: Whether changes that are taken back are put into the chat first.
        runs: What is compared by its text instead.
    """

    question: str
    methods: MakeMethods = lambda llm: ()
    at: tuple[int, ...] = (12, 36, 100)
    noisy: bool = False
    runs: tuple[Variation, ...] = ()


def _named(*names: str) -> MakeMethods:
    return lambda llm: [make_method(name, llm=llm) for name in names]


def _paces(llm: Any) -> list[Method]:
    """The forest with episodes of other radius ε and density μ than the paper's 12 h and 0.25/h."""
    from tmem_integrations.evaluation.methods.forest import ForestMethod

    def forest(hours: float, density: float) -> Method:
        radius = timedelta(hours=hours)
        episodes = replace(PAPER.episodes, radius=radius, padding=radius, density=density)
        config = replace(PAPER, episodes=episodes)
        return ForestMethod(f"forest, ε {hours:g} h, μ {density:g}/h", config, llm)

    settings = [(12, 0.25), (1, 0.25), (4, 0.25), (48, 0.25), (12, 0.05), (12, 1.0)]
    return [forest(hours, density) for hours, density in settings]


def _recalls(changes: Callable[[], Mapping[str, Any]], llm: Any) -> list[Method]:
    """One filing of the messages, recalled in several ways."""
    from tmem_integrations.evaluation.methods.anticipation import AnticipationMethod, Filing

    filing = Filing(llm)
    return [
        AnticipationMethod(f"anticipation{name}", filing, config=config)
        for name, config in changes().items()
    ]


def _without_each_part() -> dict[str, Any]:
    from tmem_integrations.anticipation import recipes

    ablations = {f" without {name}": config for name, config in recipes.ABLATIONS.items()}
    return {"": recipes.PAPER, **ablations}


def _more_and_fewer() -> dict[str, Any]:
    from tmem_integrations.anticipation import recipes

    sizes = [
        (15, 5, 15),
        (5, 5, 15),
        (30, 5, 15),
        (15, 2, 15),
        (15, 10, 15),
        (15, 5, 5),
        (15, 5, 30),
    ]
    return {
        f" k_T {topics}, k_S {scenes}, k_I {items}": replace(
            recipes.PAPER, top_topics=topics, top_scenes=scenes, top_items=items
        )
        for topics, scenes, items in sizes
    }


_BASELINES = ("recent", "bm25", "bm25+metadata", "dense", "rrf")
_BUDGETS = (512, 1024, 2048, 4096, 8192)

RECIPES: Mapping[str, Recipe] = {
    "comparison": Recipe(
        "How does the forest compare with baselines? (after TEF Exp-1)",
        _named(*_BASELINES, "forest"),
    ),
    "ablation": Recipe(
        "What is each part of retrieval worth? (after TEF Exp-2)",
        _named(
            "forest", "forest-episodes", "forest-surroundings", "forest-vectors", "forest-metadata",
            "forest-replies",
        ),
    ),
    "structure": Recipe(
        "What are links, their kinds and compression worth in a small budget? (after TEF Exp-3)",
        runs=(
            Variation("forest"),
            Variation("untyped", structure="untyped"),
            Variation("flat", structure="flat"),
            Variation("truncated", compression="truncate"),
        ),
    ),
    "metadata": Recipe(
        "What are topics and phases worth? (after TEF Exp-4)",
        _named("forest", "forest-topic", "forest-phase", "forest-topic-phase", "forest-metadata"),
    ),
    "noise": Recipe(
        "Who shows a change without its undoing? (after TEF Exp-5)",
        _named(*_BASELINES, "forest"), (12, 36), noisy=True,
    ),
    "budget": Recipe(
        "How much is shown in how many tokens? (after TEF Exp-6)",
        runs=tuple(
            Variation(f"{method} {tokens}", method, max_messages=100, max_tokens=tokens)
            for method in ("forest", "bm25+metadata")
            for tokens in _BUDGETS
        ),
    ),
    "global": Recipe(
        "Are windows better than the whole topic? (after TEF E.2)",
        _named("forest", "global"), (12, 36),
    ),
    "episodes": Recipe(
        "How much depends on ε and μ of the episodes? (after TEF E.3)", _paces, (12, 36)
    ),
    "sweep": Recipe(
        "How much is found at which bound?",
        _named("bm25+metadata", "rrf", "forest"), (4, 8, 12, 24, 36, 60, 100),
    ),
    "am-ablation": Recipe(
        "What is each part of the memory that anticipates worth? (after AM Table 4)",
        partial(_recalls, _without_each_part), (36,),
    ),
    "am-sweep": Recipe(
        "How many topics, scenes and items? (after AM's sweep)",
        partial(_recalls, _more_and_fewer), (36, 100),
    ),
}  # fmt: skip
"""By name."""

ALIASES: Mapping[str, str] = {
    "tef-exp1": "comparison",
    "tef-exp2": "ablation",
    "tef-exp3": "structure",
    "tef-exp4": "metadata",
    "tef-exp5": "noise",
    "tef-exp6": "budget",
    "tef-e2": "global",
    "tef-e3": "episodes",
}
"""By the number of the experiment."""


def recipe_of(name: str) -> Recipe:
    """The recipe of a name or number.

    Raises:
        ConfigError: If there is none.
    """
    recipe = RECIPES.get(ALIASES.get(name, name))
    if recipe is None:
        known = ", ".join([*RECIPES, *ALIASES])
        raise ConfigError(f"Unknown recipe {name!r}; known are {known}.")
    return recipe
