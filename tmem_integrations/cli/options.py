"""Options that several commands share, so that they mean and say the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Question = Annotated[str, typer.Argument(help="What you want to know.", show_default=False)]
Source = Annotated[
    Path,
    typer.Option(
        "--in",
        help="A folder made by `tmem import`, or a chat file, which is read afresh each time.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path, typer.Option("--in", help="A folder made by `tmem import`.", show_default=False)
]
Asker = Annotated[
    str | None,
    typer.Option("--as", help="Who asks: an author's id or name.", show_default=False),
]
Members = Annotated[
    Path | None,
    typer.Option(
        help='Who may read which channel, as JSON: {"general": "*", "board": ["ann"]}. '
        "Needs --as; what is not named is not readable.",
        show_default=False,
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="Answer as of then: 2026-03-12T12:00, 2026-03-12, yesterday, 3 days ago, 12 March 17:00. A "
        "day alone is its beginning.",
        show_default=False,
    ),
]
Channels = Annotated[
    list[str] | None,
    typer.Option("--channel", help="Only this channel; may be repeated.", show_default=False),
]
MaxMessages = Annotated[
    int | None, typer.Option(help="At most this many messages.", min=1, show_default="36")
]
MaxTokens = Annotated[
    int | None, typer.Option(help="Budget of the whole text.", min=1, show_default="8192")
]
Timezone = Annotated[
    str | None,
    typer.Option(
        help="Zone of times that carry none and of those shown, such as Europe/Berlin. A chat file "
        "with times without zone needs it.",
        show_default="UTC",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
