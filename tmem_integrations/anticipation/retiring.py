"""Retiring: nothing derived survives its sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from tmem_integrations.anticipation.ledger import FILE, Ledger, Turn, fingerprint
from tmem_integrations.anticipation.scenes import scene_of
from tmem_integrations.messages import Message
from tmem_integrations.protocols import MessageStore


def retire_messages(ledger: Ledger, ids: Collection[str], remaining: Mapping[str, Message]) -> int:
    """Take back all that was derived from messages; inside `Ledger.saving`.

    The turns left of a scene become a scene again that is to be described anew.

    Args:
        ledger: What was derived.
        ids: Messages that were edited or deleted.
        remaining: The messages of `touched_messages(ledger, ids)` that are still there, as they are now.

    Returns:
        How many scenes were taken back.
    """
    touched = {ledger.turns[one].scene_id for one in ids if one in ledger.turns}
    for scene_id in touched:
        scene = ledger.scenes[scene_id]
        retire_scene(ledger, scene_id)
        ledger.drop(scene, *(ledger.turns[one] for one in scene.message_ids))
        left = [remaining[one] for one in scene.message_ids if one in remaining]
        # An edit may have moved a message in time or to another channel.
        moved = [m for m in left if m.channel != scene.channel]
        left = sorted((m for m in left if m.channel == scene.channel), key=lambda m: m.sent_at)
        for part in [left, *([m] for m in moved)]:
            if part:
                anew = scene_of(part)
                ledger.put(anew, *(Turn(m.id, fingerprint(m), anew.id) for m in part))
    return len(touched)


def retire_orphans(ledger: Ledger, store: MessageStore) -> int:
    """Take back all that was derived from messages that are gone from the store or were edited there.

    Returns:
        How many messages were gone or edited.
    """
    present = store.get(ledger.turns)
    gone = [
        one
        for one, turn in ledger.turns.items()
        if one not in present or fingerprint(present[one]) != turn.fingerprint
    ]
    if gone:
        left = set(touched_messages(ledger, gone)) & present.keys()
        with ledger.saving():
            retire_messages(ledger, gone, {one: present[one] for one in left})
        # Their texts cannot be told from others' by then; what is missing is made again.
        ledger.keep_vectors("", {})
    return len(gone)


def forget_derived(store: MessageStore) -> int:
    """`retire_orphans` for whatever lies beside a store in a folder; nothing is asked of a model.

    For whoever deletes messages without the memory that was derived from them.
    """
    folder = getattr(store, "folder", None)
    if folder is None or not (Path(folder) / FILE).exists():
        return 0
    ledger = Ledger(Path(folder) / FILE)
    try:
        return retire_orphans(ledger, store)
    finally:
        ledger.close()


def touched_messages(ledger: Ledger, ids: Collection[str]) -> list[str]:
    """All turns of the scenes that these messages are in."""
    scenes = {ledger.turns[one].scene_id for one in ids if one in ledger.turns}
    return [one for scene_id in scenes for one in ledger.scenes[scene_id].message_ids]


def retire_scene(ledger: Ledger, scene_id: str, *, keeps_labels: bool = False) -> None:
    """Take back what was derived from a scene, but not the scene; inside `Ledger.saving`.

    Args:
        ledger: What was derived.
        scene_id: The scene.
        keeps_labels: The scene only grew: the labels it opened stay, their titles still have a source.
    """
    trigger = ledger.scene_triggers.get(scene_id)
    read = ledger.persona_read.get(scene_id)
    ledger.drop(*(record for record in (trigger, read) if record is not None))
    ledger.drop(*[fact for fact in ledger.persona.values() if fact.scene_id == scene_id])
    ledger.drop(*[item for item in ledger.items.values() if scene_id in item.scene_ids])
    for topic in [t for t in ledger.topics.values() if scene_id in t.keywords]:
        if topic.founder != scene_id:
            ledger.put(topic.without(scene_id))
        elif keeps_labels:
            left = topic.without(scene_id)
            ledger.put(left.joined(scene_id, ()))
        else:
            ledger.drop(topic, *[i for i in ledger.items.values() if i.topic_id == topic.id])
