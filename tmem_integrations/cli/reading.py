"""How a chat file is read: options that every command has that reads one, so that all read it alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from tmem_integrations.errors import ConfigError

if TYPE_CHECKING:
    from tmem_integrations.importers import ImportOptions
    from tmem_integrations.importers.frame import DateOrder

_PANEL = "Reading a chat file"
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "format": (
        str | None,
        typer.Option(
            help="Its format; detected when not given.", show_default=False, rich_help_panel=_PANEL
        ),
    ),
    "column": (
        list[str] | None,
        typer.Option(
            help="Key of a field in JSONL or CSV, as text=body or author=user.name; may be repeated.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ),
    "make_ids": (
        bool,
        typer.Option(
            "--make-ids",
            help="JSONL or CSV without ids: make them of channel, time, author and text. They are the same "
            "at every import, but an edited message is a new one.",
            rich_help_panel=_PANEL,
        ),
    ),
    "date": (
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Day of the first line, for logs with times only.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ),
    "date_order": (
        str | None,
        typer.Option(
            help="dmy, mdy or ymd, for dates of digits that do not tell it themselves.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ),
    "start": (
        str | None,
        typer.Option(
            help="When the recording of a meeting began, as 2026-03-02T09:00+01:00.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ),
    "skip_bad": (
        bool,
        typer.Option(
            "--skip-bad",
            help="Count bad lines instead of stopping at the first.",
            rich_help_panel=_PANEL,
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What was given of these options.

    Attributes:
        format: Of the file; detected when None.
        options: The rest, as importers take it.
        given: The options that were given, as they are typed.
    """

    format: str | None
    options: ImportOptions
    given: tuple[str, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Reading:
        """Read the values of `_OPTIONS`.

        Raises:
            ConfigError: If one is not of its kind.
        """
        from tmem_integrations.importers import ImportOptions

        date: datetime | None = values["date"]
        options = ImportOptions(
            columns=tuple(map(_read_column, values["column"] or ())),
            make_ids=values["make_ids"],
            date=date.date() if date else None,
            date_order=_read_order(values["date_order"]),
            start=values["start"],
            skip_bad=values["skip_bad"],
        )
        given = tuple(f"--{name.replace('_', '-')}" for name, value in values.items() if value)
        return cls(values["format"], options, given)


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of reading a chat file, handed to it together as `reading`."""

    @wraps(command)
    def run(**values: Any) -> None:
        own = {name: values.pop(name) for name in _OPTIONS}
        command(**values, reading=Reading.of(own))

    hints = get_type_hints(command, include_extras=True)
    own = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if kind is bool else None,
            annotation=Annotated[kind, option],
        )
        for name, (kind, option) in _OPTIONS.items()
    ]
    others = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "reading"
    ]
    parameters = [*others, *own]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _read_column(text: str) -> tuple[str, str]:
    field, sign, key = text.partition("=")
    if not (field and sign and key):
        raise ConfigError(f"--column must be field=key, such as text=body, got {text!r}.")
    return field, key


def _read_order(text: str | None) -> DateOrder | None:
    orders: dict[str, DateOrder] = {"dmy": "dmy", "mdy": "mdy", "ymd": "ymd"}
    if text is not None and text not in orders:
        raise ConfigError(f"--date-order must be dmy, mdy or ymd, got {text!r}.")
    return None if text is None else orders[text]
