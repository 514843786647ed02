"""Options of `tmem import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[list[Path], typer.Argument(help="Chat files.", show_default=False)]
Into = Annotated[
    Path, typer.Option(help="Folder of the memory; made when missing.", show_default=False)
]
Timezone = Annotated[
    str | None,
    typer.Option(help="Zone of times that carry none, as Europe/Berlin.", show_default=False),
]
Channel = Annotated[
    str | None,
    typer.Option(help="Channel, for logs that do not name theirs.", show_default=False),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        help="Put before the name of each channel, as acme/general: keeps channels of one name in two "
        "workspaces apart.",
        show_default=False,
    ),
]
Mirror = Annotated[
    bool,
    typer.Option(
        "--mirror",
        help="Also remove what is gone at the source: deleted there, or missing between the first "
        "and the last message read of a channel.",
    ),
]
BringBack = Annotated[
    bool,
    typer.Option(
        "--bring-back", help="Take in again what was forgotten in this folder by `tmem forget`."
    ),
]
Anticipate = Annotated[
    bool,
    typer.Option(
        "--anticipate",
        help="Also file messages, by rules, under what they may matter to: questions of this folder then "
        "reach what shares no word with them.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
]
SaveMembers = Annotated[
    Path | None,
    typer.Option(
        help="Write who is in which channel, where the source tells it, for --members.",
        show_default=False,
    ),
]
