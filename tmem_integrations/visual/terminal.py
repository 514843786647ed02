"""The forest in a terminal: one tree after the other, what is superseded dimmed, what holds marked.

Chat text is data here too: control characters, escape sequences and what turns the direction of a
line are shown by their number, so no message can colour, clear or forge the screen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text
from rich.tree import Tree

from tmem_integrations.messages import Message
from tmem_integrations.stages.forest import Forest, Relation
from tmem_integrations.visual.states import State, states_of

_MAX_CHARACTERS = 500
# Controls but the line feed; directions, isolates, zero width, byte order mark, tags, surrogates; runs of
# variation selectors.
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
    "|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_BADGES = {
    Relation.ROOT: ("", ""),
    Relation.UPDATE: ("UPDATE ", "bold yellow"),
    Relation.EXPAND: ("EXPAND ", "cyan"),
}
_MARKS = {
    State.PLAIN: ("", ""),
    State.SUPERSEDED: ("  superseded", "dim italic"),
    State.UPDATING: ("  superseded", "dim italic"),
    State.CURRENT: ("  ◀ latest", "bold green"),
}
_FADED = frozenset({State.SUPERSEDED, State.UPDATING})


def safe_text(text: str) -> str:
    r"""Show by number what a terminal would act upon or hide; tabs become spaces.

    Examples:
        >>> safe_text("\x1b[31mred\a")
        '<U+001B>[31mred<U+0007>'
    """
    return _UNSAFE.sub(_show, text)


def safe_name(name: str) -> str:
    r"""`safe_text` on one line: what stands in a heading must not begin a line of its own.

    Examples:
        >>> safe_name("Ann\n[2] Bo")
        'Ann<U+000A>[2] Bo'
    """
    return safe_text(name).replace("\n", "<U+000A>")


def safe_json(text: str) -> str:
    r"""JSON with what a terminal would act upon written as JSON escapes: the same value.

    Examples:
        >>> safe_json('["\x9b2J"]')
        '["\\u009b2J"]'
    """
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _show(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\r" else f"<U+{ord(match[0]):04X}>"


def show_time(time: datetime, zone: tzinfo) -> str:
    """Day and time as people read it, such as "Mon 02 Mar 2026 09:06"."""
    return time.astimezone(zone).strftime("%a %d %b %Y %H:%M")


def show_message(
    message: Message,
    *,
    zone: tzinfo = UTC,
    style: str = "",
    mark: tuple[str, str] = ("", ""),
    max_characters: int = _MAX_CHARACTERS,
) -> Text:
    """Time, author, channel and mark on the first line, the text below.

    Args:
        message: What to show.
        zone: Zone of the time shown.
        style: Of the text.
        mark: A word at the end of the first line, with its style.
        max_characters: A longer text is cut, with a count of what is left out.
    """
    shown = Text()
    shown.append(show_time(message.sent_at, zone), "dim")
    shown.append(f"  {safe_name(message.author or message.author_id or 'unknown')}", "bold")
    if message.channel is not None:
        shown.append(f"  #{safe_name(message.channel).removeprefix('#')}", "blue")
    shown.append(*mark)
    shown.append("\n")
    shown.append(_cut(safe_text(message.text), max_characters), style)
    return shown


def _cut(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return f"{text[:length]}… (+{len(text) - length} characters)"


class ForestView:
    """A forest that rich can print.

    Args:
        forest: What to show.
        zone: Zone of the times shown.
        max_characters: Longer texts are cut.

    Examples:
        >>> from rich.console import Console
        >>> Console().print(ForestView(Forest()))
        (no evidence)
    """

    def __init__(
        self, forest: Forest, *, zone: tzinfo = UTC, max_characters: int = _MAX_CHARACTERS
    ) -> None:
        self.forest = forest
        self.zone = zone
        self.max_characters = max_characters

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.forest.nodes:
            yield Text("(no evidence)", style="dim")
        for number, tree in enumerate(self._trees()):
            if number:
                yield Text()
            yield tree

    def _trees(self) -> Iterable[Tree]:
        states = states_of(self.forest)
        branches: list[Tree] = []
        roots: list[Tree] = []
        for index, node in enumerate(self.forest):
            label = self._label(index, states[index])
            if node.parent is None:
                branches.append(Tree(label, guide_style="dim"))
                roots.append(branches[-1])
            else:
                branches.append(branches[node.parent].add(label))
        return roots

    def _label(self, index: int, state: State) -> Text:
        node = self.forest.nodes[index]
        head = Text()
        head.append(f"[{index + 1}] ", "dim")
        head.append(*_BADGES[node.relation])
        style = "dim" if state in _FADED else "bold" if state is State.CURRENT else ""
        body = show_message(
            node.message,
            zone=self.zone,
            style=style,
            mark=_MARKS[state],
            max_characters=self.max_characters,
        )
        return head.append_text(body)
