"""What all commands print alike: errors, JSON, progress."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

# Errors speak to callers from Python; here the way out is an option.
_ARGUMENT = re.compile(r'\btimezone="([^"]+)"')


def console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr; plain when it is no terminal or NO_COLOR is set."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def print_error(message: str) -> None:
    """One sentence on stderr. Text of a chat may be in it, so it is made safe to show."""
    from tmem_integrations.visual.terminal import safe_text

    in_options = _ARGUMENT.sub(r"--timezone \1", message)
    print(f"tmem: {_indented(safe_text(in_options))}", file=sys.stderr)


def print_note(message: str) -> None:
    """A remark for people on stderr."""
    from tmem_integrations.visual.terminal import safe_text

    print(_indented(safe_text(message)), file=sys.stderr)


def _indented(message: str) -> str:
    """No text of a chat within it can begin a line that looks like one of ours."""
    return message.replace("\n", "\n    ")


def print_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout, which may be a terminal."""
    from tmem_integrations.visual.terminal import safe_json

    print(safe_json(json.dumps(value, ensure_ascii=False, indent=2)))


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Bars on stderr that vanish when done; nothing at all where stderr is no terminal."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    errors = console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=errors, transient=True, disable=not errors.is_terminal
    ) as progress:
        yield progress
