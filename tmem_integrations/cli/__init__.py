"""`tmem`: try the demo, import a chat, ask it, look at the forest, check and forget.

Exit codes: 0 done, 1 nothing found or problems found, 2 wrong usage, wrong input or a store that
cannot be used, 130 stopped with Ctrl-C. Results go to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from tmem_integrations.cli.app import app
from tmem_integrations.cli.output import print_error
from tmem_integrations.errors import TmemError

USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `tmem`.

    Args:
        arguments: Those after the program's name; of this process when None.

    Raises:
        SystemExit: Always, with the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A chat holds emoji; a terminal that cannot show them must not stop the answer.
            stream.reconfigure(errors="backslashreplace")
    try:
        app(args=None if arguments is None else list(arguments), prog_name="tmem")
    except TmemError as error:
        print_error(str(error))
        sys.exit(USAGE_ERROR)
