"""The page: one self-contained HTML file to look into an answer. It asks the network for nothing.

Chat text goes in as JSON and is put on screen through text nodes. Beyond that the page carries a
content security policy that lets only its own script run and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from tmem_integrations.visual.fragment import html_fragment
from tmem_integrations.visual.graph import Graph

_SCRIPTS = ("dom.js", "forest.js", "timeline.js", "side.js", "main.js")
# `</script>` and `<!--` would end the data block or change how it is read.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def html_page(graph: Graph) -> str:
    """Write an answer as one page: timeline, forest, text for the model, flat list."""
    style, script = _asset("style.css"), _script()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        # Attributes of the part without scripts; no text of a chat can become one.
        "style-src-attr 'unsafe-inline'"
    )
    return Template(_asset("page.html")).substitute(
        policy=policy,
        title=escape(graph.question[:120] or "Temporal evidence forest"),
        style=style,
        fragment=html_fragment(graph),
        graph=json.dumps(graph.to_dict(), ensure_ascii=False).translate(_ESCAPES),
        script=script,
    )


@cache
def _script() -> str:
    body = "\n".join(map(_asset, _SCRIPTS))
    return f'"use strict";\n{{\n{body}}}\n'


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
