"""Retiring: nothing derived survives its sources, and what is left of a scene becomes a scene again.

The store takes back what was derived from a message before it changes or goes (`stores.derived`). Here is the
other half: turns whose scene went with one of them are put together again, to be described anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tmem_integrations.anticipation.ledger import Ledger, Turn, fingerprint
from tmem_integrations.anticipation.scenes import scene_of
from tmem_integrations.messages import Message
from tmem_integrations.protocols import MessageStore


def mend_scenes(ledger: Ledger, load: Callable[[Sequence[str]], Mapping[str, Message]]) -> int:
    """Make scenes of turns whose scene was taken back; nothing is written about them yet.

    Args:
        ledger: What was derived.
        load: Messages by id, as they are now; unknown ids are left out.

    Returns:
        How many scenes had been taken back.
    """
    if not _lost_turns(ledger):
        return 0
    with ledger.saving():
        lost = _lost_turns(ledger)
        for turns in lost.values():
            ledger.drop(*turns)
            found = load([turn.id for turn in turns])
            # An edit may have moved a message in time or to another channel.
            left = sorted(found.values(), key=lambda m: m.sent_at)
            for channel in dict.fromkeys(m.channel for m in left):
                part = [m for m in left if m.channel == channel]
                anew = scene_of(part)
                ledger.put(anew, *(Turn(m.id, fingerprint(m), anew.id) for m in part))
    return len(lost)


def retire_orphans(ledger: Ledger, store: MessageStore) -> int:
    """Take back what was derived from messages that are gone from the store or were edited there.

    The store does so itself; this is for one that did not, such as a server to which another version wrote.

    Returns:
        How many messages were gone or edited.
    """
    present = store.get(ledger.turns)
    gone = [one for one in ledger.turns if one not in present]
    edited = [
        one
        for one, message in present.items()
        if fingerprint(message) != ledger.turns[one].fingerprint
    ]
    ledger.erase(gone)
    ledger.erase(edited, edited=True)
    return len(gone) + len(edited)


def retire_scene(ledger: Ledger, scene_id: str) -> None:
    """Take back what was derived from a scene that grows, but not the scene; inside `Ledger.saving`.

    The labels it opened stay: their titles still have a source.
    """
    trigger = ledger.scene_triggers.get(scene_id)
    read = ledger.persona_read.get(scene_id)
    ledger.drop(*(record for record in (trigger, read) if record is not None))
    ledger.drop(*[fact for fact in ledger.persona.values() if fact.scene_id == scene_id])
    ledger.drop(*[item for item in ledger.items.values() if scene_id in item.scene_ids])
    for topic in [t for t in ledger.topics.values() if scene_id in t.keywords]:
        left = topic.without(scene_id)
        ledger.put(left.joined(scene_id, ()) if topic.founder == scene_id else left)


def _lost_turns(ledger: Ledger) -> dict[str, list[Turn]]:
    """Turns by the scene they were in, where it is not there any more."""
    lost: dict[str, list[Turn]] = {}
    with ledger.reading():
        for turn in ledger.turns.values():
            if turn.scene_id not in ledger.scenes:
                lost.setdefault(turn.scene_id, []).append(turn)
    return lost
