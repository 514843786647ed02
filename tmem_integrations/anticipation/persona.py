"""Persona: what a speaker said about who they are; shown beside the answer, outside its budget (AM §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tmem_integrations.prompts.transcript import as_data, name_as_data


@dataclass(frozen=True, slots=True)
class PersonaFact:
    """One lasting trait of a speaker.

    Attributes:
        id: Of its scene, speaker and text.
        author: The speaker.
        channel: Where it was said.
        text: The trait, in the third person.
        scene_id: The scene it comes from.
        message_ids: The turns it comes from.
    """

    id: str
    author: str
    channel: str | None
    text: str
    scene_id: str
    message_ids: tuple[str, ...]


def write_persona(facts: Sequence[PersonaFact], *, most: int) -> str:
    """One line a speaker with their latest traits.

    Args:
        facts: In order of time.
        most: At most this many a speaker.

    Examples:
        >>> fact = PersonaFact("p", "Ann", "home", "is allergic to nuts", "s", ("m1",))
        >>> write_persona([fact], most=3)
        '- Ann: is allergic to nuts'
    """
    by_author: dict[str, list[str]] = {}
    for fact in facts:
        by_author.setdefault(fact.author, []).append(fact.text)
    return "\n".join(
        f"- {name_as_data(author)}: {as_data('; '.join(dict.fromkeys(texts[-most:])))}"
        for author, texts in by_author.items()
    )
