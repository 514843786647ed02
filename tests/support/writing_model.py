"""A model that writes to memory from a script: a small household chat and what it imagines about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tmem_integrations.messages import Message
from tmem_integrations.protocols import Reply

START = datetime(2026, 3, 2, 18, 0, tzinfo=UTC)

# One entry a scene: its turns, and what is written about it. Keyed by a word only it holds.
SCRIPT: dict[str, dict[str, Any]] = {
    "vase": {
        "turns": [
            ("Ann", "Mira knocked the vase off the shelf again."),
            ("Bo", "Eleven years old and still climbing!"),
            ("Ann", "She sleeps on my keyboard as we speak."),
        ],
        "title": "Mira and the vase",
        "fact": "Mira, aged eleven, knocked a vase off the shelf.",
        "concept": "pets at home, a cat of Ann's",
        "bridge": "",
        "situation": "A lazy evening is disturbed.",
        "horizons": ["A new shelf is bought."],
        "trait": "is fond of Mira",
    },
    "rehearsals": {
        "turns": [
            ("Ann", "The choir has rehearsals every Tuesday until June."),
            ("Bo", "Even during the holidays?"),
            ("Ann", "Every single week, the conductor is strict."),
        ],
        "title": "Rehearsals of the choir",
        "fact": "The choir rehearses on Tuesdays until June.",
        "concept": "",
        "bridge": "Visitors propose to go bowling together one evening.",
        "situation": "A timetable is fixed.",
        "horizons": ["The concert is sold out."],
        "trait": "sings in a choir",
    },
    "boxes": {
        "turns": [
            ("Bo", "The boxes are in the van, I got the keys at noon."),
            ("Ann", "All of them? Even the piano?"),
            ("Bo", "The piano went first, four people carried it."),
        ],
        "title": "Boxes and a piano",
        "fact": "Four people carried the piano.",
        "concept": "",
        "bridge": "",
        "situation": "Bo moves into a new apartment across town.",
        "horizons": ["The neighbours complain about noise."],
        "trait": "owns a piano",
    },
    "archive": {
        "turns": [
            ("Ann", "I told Carl that I sort the archive on my own."),
            ("Bo", "Forty years of paper?"),
            ("Ann", "Somebody has to, and I raised my hand."),
        ],
        "title": "Ann sorts the archive",
        "fact": "Ann sorts the archive on her own.",
        "concept": "",
        "bridge": "",
        "situation": "An errand at the office is handed out.",
        "horizons": ["She volunteered for too much work and is totally overwhelmed and exhausted."],
        "trait": "takes on duties",
    },
}
HISTORY = tuple(
    Message(
        id=f"{key}{turn}",
        text=text,
        author=author,
        channel="home",
        sent_at=START + timedelta(days=day, minutes=turn),
    )
    for day, (key, scene) in enumerate(SCRIPT.items())
    for turn, (author, text) in enumerate(scene["turns"])
)


class WritingModel:
    """Answers each kind of writing prompt from the script; keeps what it was asked.

    Args:
        fails: Prompts that hold this text fail for good.
    """

    name = "script-1"

    def __init__(self, *, fails: str | None = None) -> None:
        self.prompts: list[str] = []
        self.fails = fails

    def ask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """One scripted reply a prompt."""
        self.prompts += prompts
        return tuple(map(self._reply, prompts))

    async def aask(
        self,
        prompts: Sequence[str],
        *,
        timeout: float | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> tuple[Reply, ...]:
        """The same."""
        return self.ask(prompts)

    def asked(self, opening: str) -> list[str]:
        """The prompts of one kind, by how they begin."""
        return [prompt for prompt in self.prompts if prompt.startswith(opening)]

    def _reply(self, prompt: str) -> Reply:
        if self.fails is not None and self.fails in prompt:
            return Reply("", error="refused", failure="permanent")
        kinds = {
            "Cut": _starts, "Write down one": _description, "File scenes": _filing,
            "Take": _facts, "File facts": _item_triggers, "File one": _scene_trigger,
            "Write down what": _traits,
        }  # fmt: skip
        answer = next(make for opening, make in kinds.items() if prompt.startswith(opening))
        text = json.dumps(answer(prompt))
        return Reply(text, input_tokens=len(prompt) // 4, output_tokens=len(text) // 4)


def _scene(text: str) -> dict[str, Any]:
    return next((scene for key, scene in SCRIPT.items() if key in text), {"title": "More talk"})


def _starts(prompt: str) -> dict[str, Any]:
    firsts = [scene["turns"][0][1] for scene in SCRIPT.values()]
    lines = re.findall(r"^(m\d+) \d\d:\d\d \w+(?: \(\w+\))?: (.*)$", prompt, re.MULTILINE)
    return {"starts": [{"id": label} for label, text in lines if text in firsts]}


def _description(prompt: str) -> dict[str, Any]:
    scene = _scene(prompt)
    # Nothing of what the triggers say, so that only triggers can reach it.
    return {"scenes": [{"title": scene["title"], "summary": "", "narrative": ""}]}


def _filing(prompt: str) -> dict[str, Any]:
    scenes = re.findall(r"^(s\d+) \([\d-]+\) (.*?): ", prompt, re.MULTILINE)
    labels = {title: label for label, title in re.findall(r"^(t\d+) (.*?): ", prompt, re.MULTILINE)}
    return {
        "filed": [
            {
                "scene": label,
                "labels": [labels[title]] if title in labels else [],
                "new": "" if title in labels else title,
                "keywords": title.split(),
            }
            for label, title in scenes
        ]
    }


def _facts(prompt: str) -> dict[str, Any]:
    scenes = re.findall(r"^(n\d+) \([\d-]+\) (.*?): ", prompt, re.MULTILINE)
    by_title = {scene["title"]: scene for scene in SCRIPT.values()}
    return {
        "items": [
            {"text": by_title[title]["fact"], "kind": "atomic", "scenes": [label]}
            for label, title in scenes
            if title in by_title
        ]
    }


def _item_triggers(prompt: str) -> dict[str, Any]:
    facts = re.findall(r"^(f\d+) (.*)$", prompt, re.MULTILINE)
    by_fact = {scene["fact"]: scene for scene in SCRIPT.values()}
    return {
        "triggers": [
            {
                "id": label,
                "concept": by_fact[fact]["concept"] or "things",
                "bridge": by_fact[fact]["bridge"],
                "rationale": "",
            }
            for label, fact in facts
        ]
    }


def _scene_trigger(prompt: str) -> dict[str, Any]:
    scene = _scene(prompt)
    return {
        "triggers": [
            {
                "situation": scene.get("situation", "People talk."),
                "object": "", "event": "", "emotion": "",
                "horizons": scene.get("horizons", []),
            }
        ]
    }  # fmt: skip


def _traits(prompt: str) -> dict[str, Any]:
    scene = _scene(prompt)
    if "trait" not in scene:
        return {"traits": []}
    return {
        "traits": [{"speaker": scene["turns"][0][0], "trait": scene["trait"], "messages": ["m1"]}]
    }
