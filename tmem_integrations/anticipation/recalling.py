"""Recalling: what was derived and answers a question, as far as its asker may see it (AM §4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from tmem_integrations.access import Guard
from tmem_integrations.anticipation.cascade import Cascade, Recalled
from tmem_integrations.anticipation.index import Index, Tables, Visible
from tmem_integrations.anticipation.ledger import Ledger, fingerprint
from tmem_integrations.anticipation.persona import PersonaFact
from tmem_integrations.anticipation.recipes import RecallConfig
from tmem_integrations.anticipation.recollection import (
    RecalledItem,
    RecalledScene,
    Recollection,
    write_recollection,
)
from tmem_integrations.memory import TemporalMemory
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols import Embedder, Reached, Vectors
from tmem_integrations.text import split_terms, without_function_words


class Recaller:
    """Recalls from a ledger; what was derived from a message is shown to whom the message is.

    Args:
        history: The messages, with the rules of who may read them.
        embedder: Makes the vectors.
        ledger: What was derived.
    """

    def __init__(self, history: TemporalMemory, embedder: Embedder, ledger: Ledger) -> None:
        self._history = history
        self._ledger = ledger
        self._index = Index(history.store, embedder, ledger)

    def prepare(self) -> None:
        """Make the tables of what is derived, before there is a question."""
        self._index.tables()

    def recall(self, query: Query, vector: Vectors, config: RecallConfig) -> Recollection:
        """What answers a question or matters to it, or why nothing does.

        Args:
            query: The question.
            vector: (d,) of its text.
            config: How layers are fused, how much is found, and the budget.
        """
        scope = self._history.scope(query)
        cascade, tables, visible = self._cascade(query.text, scope, vector, config)
        recalled = cascade.recall() if query.text.strip() else Recalled()
        ids = [m for hit in recalled.scenes for m in tables.scenes[hit.index].message_ids]
        ids += [m for hit in recalled.items for m in tables.items[hit.index].message_ids]
        admitted = {one for one, seen in zip(tables.turn_ids, visible.turns, strict=True) if seen}
        authors = {a for hit in recalled.scenes for a in tables.scenes[hit.index].authors}
        facts = self._traits(authors, admitted, config.persona_facts)
        ids += [one for _, turns in facts for one in turns]
        sources = self._history.store.get(dict.fromkeys(ids))
        shown = self._shown(sources, scope)
        scenes = [
            RecalledScene(scene, tuple(sources[one] for one in scene.message_ids), hit.via)
            for hit in recalled.scenes
            if shown.issuperset((scene := tables.scenes[hit.index]).message_ids)
        ]
        items = [
            RecalledItem(item, hit.via)
            for hit in recalled.items
            if shown.issuperset((item := tables.items[hit.index]).message_ids)
        ]
        traits = {fact.id: fact for fact, turns in facts if shown.issuperset(turns)}
        found = write_recollection(
            query, scenes, items, traits, self._history.counter, config, self._history.timezone
        )
        return found if found.text else Recollection(query, explanation=_why_empty(query, visible))

    def reach(
        self, question: str, scope: Scope, vector: Vectors, config: RecallConfig, most: int
    ) -> tuple[Reached, ...]:
        """Messages that share no word with a question, best first: anchors for a forest."""
        cascade, _, _ = self._cascade(question, scope, vector, config)
        return cascade.reach(most)

    def _cascade(
        self, question: str, scope: Scope, vector: Vectors, config: RecallConfig
    ) -> tuple[Cascade, Tables, Visible]:
        tables = self._index.tables()
        visible = self._index.visible(tables, scope)
        terms = split_terms(without_function_words(question))
        return Cascade(tables, visible, terms, vector, config), tables, visible

    def _traits(
        self, authors: Collection[str], admitted: Collection[str], most: int
    ) -> list[tuple[PersonaFact, tuple[str, ...]]]:
        """The latest traits of speakers, each with all turns of its scene.

        Whoever wrote a trait was shown the whole scene, whichever turns they name for it.
        """
        with self._ledger.reading():
            persona, scenes = self._ledger.persona, self._ledger.scenes
        found: list[tuple[PersonaFact, tuple[str, ...]]] = []
        n_found: Counter[str] = Counter()
        for fact in reversed(list(persona.values())):
            scene = scenes.get(fact.scene_id)
            if scene is None or fact.author not in authors or n_found[fact.author] >= most:
                continue
            if all(one in admitted for one in scene.message_ids):
                n_found[fact.author] += 1
                found.append((fact, scene.message_ids))
        return found[::-1]

    def _shown(self, sources: Mapping[str, Message], scope: Scope) -> set[str]:
        """Of which messages what was derived may be shown: those the asker gets as they were filed."""
        there = [m for m in sources.values() if scope.admits(m) and self._is_as_filed(m)]
        given = Guard(scope, self._history.store, self._history.redact).check(there)
        return {
            message.id
            for message, own in zip(there, given, strict=True)
            if own is not None
            and (own.text, own.author, own.role) == (message.text, message.author, message.role)
        }

    def _is_as_filed(self, message: Message) -> bool:
        turn = self._ledger.turns.get(message.id)
        return turn is not None and turn.fingerprint == fingerprint(message)


def _why_empty(query: Query, visible: Visible) -> str:
    if not query.text.strip():
        return "The question is empty."
    if not visible.turns.any():
        return "Nothing that was filed is in the scope of the question."
    return "Nothing that was filed is like the question."
