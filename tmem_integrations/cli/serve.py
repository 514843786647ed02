"""`tmem serve`: a memory as a tool of assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tmem_integrations.cli import options
from tmem_integrations.cli.output import print_note
from tmem_integrations.cli.reading import Reading, reads_files
from tmem_integrations.cli.sources import open_source, read_members
from tmem_integrations.errors import ConfigError


@reads_files
def serve(
    source: Annotated[
        Path,
        typer.Argument(help="A folder made by `tmem import`, or a chat file.", metavar="FOLDER"),
    ],
    reading: Reading,
    asker: Annotated[
        str,
        typer.Option(
            "--as", help="Who asks, in every call: an author's id or name.", show_default=False
        ),
    ],
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Speak the Model Context Protocol over stdin and stdout.")
    ] = False,
    members: options.Members = None,
    timezone: options.Timezone = None,
) -> None:
    """Let an assistant ask this memory, as one person: tools ask, show and stats.

    The folder is opened for reading; what others add is seen. Who asks cannot be changed by a call.

    Example: [cyan]tmem serve --mcp team/ --as priya --members members.json[/cyan]

    Register that line as an MCP server of the assistant; needs the extra [cyan]mcp[/cyan].
    """
    from tmem_integrations.mcp_server import build_server

    if not mcp:
        raise ConfigError("tmem serve needs --mcp: the protocol to speak.")
    access = None if members is None else read_members(members)
    memory = open_source(source, reading=reading, timezone=timezone, access=access)
    try:
        server = build_server(memory, asker)
        if access is None:
            print_note("Without --members every channel can be read.")
        server.run()
    finally:
        memory.close()
