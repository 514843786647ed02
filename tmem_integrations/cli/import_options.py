"""Options of `tmem import`."""

from __future__ import annotations

from datetime import datetime
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
Date = Annotated[
    datetime | None,
    typer.Option(
        formats=["%Y-%m-%d"],
        help="Day of the first line, for logs with times only.",
        show_default=False,
    ),
]
DateOrder = Annotated[
    str | None,
    typer.Option(
        help="dmy, mdy or ymd, for dates of digits that do not tell it themselves.",
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        help="When the recording of a meeting began, as 2026-03-02T09:00+01:00.",
        show_default=False,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="Key of a field in JSONL or CSV, as text=body or author=user.name; may be repeated.",
        show_default=False,
    ),
]
Workspace = Annotated[
    str | None,
    typer.Option(
        help="Put before the name of each channel, as acme/general: keeps channels of one name in two "
        "workspaces apart.",
        show_default=False,
    ),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Count bad lines instead of stopping at the first.")
]
Mirror = Annotated[
    bool,
    typer.Option(
        "--mirror",
        help="Also remove what is gone at the source: deleted there, or missing between the first "
        "and the last message read of a channel.",
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
