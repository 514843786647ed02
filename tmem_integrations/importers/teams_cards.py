"""What a Teams message carries as JSON within it: the cards of apps, and what is forwarded."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tmem_integrations.importers.html_text import text_of_html

_SHOWN = ("title", "subtitle", "text", "value")


def card_lines(content: str) -> Iterator[str]:
    """The words on a card of any kind, top to bottom; none if it is no JSON.

    Examples:
        >>> body = '[{"type": "TextBlock", "text": "Build failed"}]'
        >>> list(card_lines('{"type": "AdaptiveCard", "body": ' + body + "}"))
        ['Build failed']
    """
    stack = [_load(content)]
    while stack:  # Not by recursion: cards nest as deep as somebody likes.
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            shown = [item[key] for key in _SHOWN if isinstance(item.get(key), str)]
            # Buttons are offered, not said.
            if shown and not str(item.get("type")).startswith("Action."):
                yield text_of_html(": ".join(shown))
            stack.extend(item.get(key) for key in ("facts", "items", "columns", "sections", "body"))


def forwarded_lines(content: str) -> Iterator[str]:
    """A forwarded message with who wrote it, where that is told.

    Examples:
        >>> list(forwarded_lines('{"originalMessageContent": "<p>hi</p>"}'))
        ['[forwarded]', 'hi']
    """
    told = _load(content)
    if not isinstance(told, dict):
        return
    sender = told.get("originalMessageSender")
    person = sender.get("user") if isinstance(sender, dict) else None
    name = person.get("displayName") if isinstance(person, dict) else None
    yield f"[forwarded from {name}]" if isinstance(name, str) and name else "[forwarded]"
    text = told.get("originalMessageContent")
    if isinstance(text, str) and text.strip():
        yield text_of_html(text)


def _load(content: str) -> object:
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value
