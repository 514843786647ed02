"""Slack's markup to text: who and what is mentioned, by name."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_RUNS_OF_TEXT = frozenset({"rich_text_section", "rich_text_quote", "rich_text_preformatted"})
_MARK = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")


@dataclass(frozen=True, slots=True)
class SlackNames:
    """What ids stand for.

    Attributes:
        users: Id to display name.
        channels: Id to name.
    """

    users: Mapping[str, str]
    channels: Mapping[str, str]


def plain_text(text: str, names: SlackNames) -> str:
    """Resolve mentions, channels, groups and links, and undo Slack's escapes.

    Args:
        text: As an export has it.
        names: Of the workspace; an unknown id stays, so that it can still be searched.

    Examples:
        >>> names = SlackNames({"U1": "Ann"}, {"C1": "ops"})
        >>> plain_text("<@U1> see <#C1> &amp; <https://x.example|the plan>, <!here>", names)
        '@Ann see #ops & the plan (https://x.example), @here'
    """

    def resolve(mark: re.Match[str]) -> str:
        sign, target, label = mark["sign"], mark["target"], mark["label"]
        if sign == "@":
            return f"@{names.users.get(target) or label or target}"
        if sign == "#":
            return f"#{names.channels.get(target) or label or target}"
        if sign == "!":
            return _special(target, label)
        link = target.removeprefix("mailto:")
        return link if label in (None, "", target, link) else f"{label} ({link})"

    return html.unescape(_MARK.sub(resolve, text))


def block_lines(blocks: object) -> Iterator[str]:
    """The words in the blocks of a message, as markup: what an app says that fills nothing else.

    Args:
        blocks: As an export has them; anything that is no block says nothing.

    Examples:
        >>> section = {"type": "section", "text": {"type": "mrkdwn", "text": "Build *failed*"}}
        >>> list(block_lines([section, {"type": "divider"}]))
        ['Build *failed*']
    """
    stack = [blocks]
    while stack:  # Not by recursion: blocks nest as deep as somebody likes.
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item))
        elif isinstance(item, dict):
            elements = item.get("elements")
            if str(item.get("type")) in _RUNS_OF_TEXT and isinstance(elements, list):
                yield "".join(map(_inline, elements))
            elif isinstance(item.get("text"), str):
                yield item["text"]
            else:
                stack.extend(item.get(key) for key in ("elements", "fields", "text"))


def _inline(element: object) -> str:
    known = element if isinstance(element, dict) else {}
    if isinstance(known.get("user_id"), str):
        return f"<@{known['user_id']}>"
    if known.get("type") == "emoji":
        return f":{known.get('name')}:"
    return next((known[key] for key in ("text", "url") if isinstance(known.get(key), str)), "")


def _special(target: str, label: str | None) -> str:
    """`<!here>`, `<!subteam^S1|@team>`, `<!date^1772442000^{date}|2 March>`."""
    kind = target.split("^")[0]
    if kind in ("subteam", "date"):
        return label or target
    return f"@{kind}"
