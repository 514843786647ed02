"""A chat model for the notebooks: the real one where a key is set, else a stand-in on loopback.

The stand-in speaks the OpenAI dialect, so everything between the notebook and the wire is what it would
be with a real model. What it says comes from three small rules and is no measure of any model.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_openai import ChatOpenAI

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from support.openai_server import OpenAIServer, answers

if TYPE_CHECKING:
    from support.openai_server import Call

_QUESTION = re.compile(r"<question>(.*?)</question>", re.DOTALL)
_CANDIDATE = re.compile(r"^(c\d+) [^:]+:\d\d [^:]*: (.*)$", re.MULTILINE)
_LINE = re.compile(r"^(m\d+) [^:]+:\d\d [^:]*: (.*)$", re.MULTILINE)
_CHILD = re.compile(r"^(m\d+): (?:.*[ -])?(m\d+)$", re.MULTILINE)
_CHANGES = re.compile(
    r"\b(moved?|moving|instead|not|no longer|decided|cancelled|second)\b", re.IGNORECASE
)
_UPDATE = re.compile(r"^( *)\[\d+\] \w+ updates \[\d+\](?!, updated).*\n> (.+)$", re.MULTILINE)
_QUOTED = re.compile(r"^> (.+)$", re.MULTILINE)


def chat_model() -> ChatOpenAI:
    """`ChatOpenAI` for the key in OPENAI_API_KEY, or for the stand-in; says which."""
    if os.environ.get("OPENAI_API_KEY"):
        name = os.environ.get("OPENAI_MODEL", "gpt-4o-mini")
        print(f"OPENAI_API_KEY is set: asking {name}.")
        return ChatOpenAI(model=name)
    print("No OPENAI_API_KEY: a stand-in on this machine answers by three small rules.")
    server = OpenAIServer(answers(_answer)).__enter__()
    return ChatOpenAI(model="stand-in", base_url=server.base_url, api_key="none")


def _answer(call: Call) -> str:
    prompt = call.prompt
    if "Pick the messages" in prompt:
        return json.dumps({"selected": _pick(prompt)})
    if "Children and their eligible parents:" in prompt:
        return json.dumps({"links": _link(prompt)})
    # The prompt explains the form of messages with an example first.
    shown = prompt.rpartition("\nMessages:\n")[2]
    # The end of the longest chain of updates, else the first message.
    tips = sorted(_UPDATE.findall(shown), key=lambda tip: len(tip[0]))
    said = [text for _, text in tips] or _QUOTED.findall(shown)[:1]
    return f"(stand-in) “{said[-1]}”" if said else "(stand-in) I was shown no message."


def _pick(prompt: str) -> list[dict[str, str]]:
    """KEY is what shares a longer word with the question."""
    found = _QUESTION.search(prompt)
    words = {w[:5] for w in re.findall(r"\w{5,}", found[1].lower() if found else "")}
    return [
        {"id": label, "label": "KEY", "reason": "shares a word with the question"}
        for label, text in _CANDIDATE.findall(prompt)
        if words & {w[:5] for w in re.findall(r"\w{5,}", text.lower())} or _CHANGES.search(text)
    ]


def _link(prompt: str) -> list[dict[str, object]]:
    """The parent is the latest eligible message; a cue word makes it an UPDATE."""
    texts = dict(_LINE.findall(prompt))
    return [
        {
            "child": child,
            "parent": parent,
            "relation": "UPDATE" if _CHANGES.search(texts.get(child, "")) else "EXPAND",
            "confidence": 0.6,
            "relevance": 0.5,
        }
        for child, parent in _CHILD.findall(prompt)
    ]
