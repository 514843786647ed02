"""HTML bodies to text: paragraphs as lines, mentions and emoji as words, quotes marked."""

from __future__ import annotations

import html
import re

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, Tag

_BLOCKS = frozenset(
    [
        "address", "article", "blockquote", "div", "dl", "dt", "dd", "fieldset", "figure", "footer",
        "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p",
        "pre", "section", "table", "tr", "ul",
    ]
)  # fmt: skip
_HIDDEN = ["script", "style", "head", "title", "template"]
_SPACES = re.compile(r"[ \t\r\f\v]+")
_BLANK_LINES = re.compile(r"\n\s*\n+")


def text_of_html(markup: str) -> str:
    """What a person sees of a body.

    Mentions (`<at>`) keep their name, emoji and pictures their description, links their target.

    Examples:
        >>> text_of_html("<p>Hi <at id='0'>Bo</at>,</p><p>ship&nbsp;it <b>now</b></p>")
        'Hi @Bo,\\nship it now'
        >>> text_of_html('see <a href="https://x.example/1">the plan</a>')
        'see the plan (https://x.example/1)'
    """
    if "<" not in markup:
        return html.unescape(markup).replace("\xa0", " ").strip()
    soup = BeautifulSoup(markup, "html.parser")
    for tag in soup.find_all(_HIDDEN):
        tag.decompose()
    text = "".join(_pieces(soup))
    lines = [_SPACES.sub(" ", line).strip() for line in text.replace("\xa0", " ").split("\n")]
    return _BLANK_LINES.sub("\n", "\n".join(lines)).strip()


def _pieces(soup: BeautifulSoup) -> list[str]:
    """Walk the tree without recursion: bodies nest as deep as somebody likes."""
    pieces: list[str] = []
    stack: list[PageElement | str] = [soup]
    while stack:
        item = stack.pop()
        if isinstance(item, str) and not isinstance(item, NavigableString):
            pieces.append(item)
        elif isinstance(item, NavigableString):
            if type(item) is NavigableString:
                pieces.append(item.replace("\n", " "))
        elif isinstance(item, Tag):
            before, after = _around(item)
            stack.append(after)
            stack.extend(reversed(item.contents))
            stack.append(before)
    return pieces


def _around(tag: Tag) -> tuple[str, str]:
    """What to write before and after the content of a tag."""
    name = tag.name
    if name == "br":
        return "\n", ""
    if name in ("img", "emoji", "customemoji"):
        return str(tag.get("alt") or ""), ""
    if name == "at":
        return "@", ""
    if name == "a":
        target = str(tag.get("href") or "")
        inside = tag.contents[0] if len(tag.contents) == 1 else None
        shown = inside.strip() if isinstance(inside, NavigableString) else ""
        same = target in ("", shown, f"mailto:{shown}", f"http://{shown}", f"https://{shown}")
        return "", "" if same else f" ({target})"
    if name == "li":
        return "\n- ", "\n"
    if name in ("td", "th"):
        return "", " "
    return ("\n", "\n") if name in _BLOCKS else ("", "")
