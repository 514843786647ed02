"""A chat model as linker of single pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tmem_integrations.evaluation.relations import Pair
from tmem_integrations.models.replies import read_relations
from tmem_integrations.prompts.relations import RelationChild, RelationKind, RelationsPrompt
from tmem_integrations.prompts.transcript import PromptMessage
from tmem_integrations.protocols import LanguageModel

_CHILD = RelationChild("m2", ("m1",))
_NO_QUESTION = "What was said, and what of it still holds?"


@dataclass(frozen=True, slots=True)
class ModelLinker:
    """Asks the linker's question about each pair.

    Attributes:
        llm: The model.
        prompt: The question in words.
    """

    llm: LanguageModel
    prompt: RelationsPrompt = field(default_factory=RelationsPrompt)

    @property
    def name(self) -> str:
        """That of the model."""
        return self.llm.name

    def link(self, pairs: Sequence[Pair]) -> list[RelationKind | None]:
        """One call per pair; a reply that cannot be read is no judgement."""
        replies = self.llm.ask([self._prompt(pair) for pair in pairs])
        return [_read(reply.text) for reply in replies]

    def _prompt(self, pair: Pair) -> str:
        messages = [PromptMessage.of(pair.earlier, "m1"), PromptMessage.of(pair.later, "m2")]
        return self.prompt.render(pair.question or _NO_QUESTION, messages, [_CHILD])


def _read(text: str) -> RelationKind | None:
    entries = read_relations(text, [_CHILD]).entries
    return entries[0].relation if entries else None
