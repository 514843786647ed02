"""Templates that a user may replace: plain `str.format` texts whose fields are checked when they are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from string import Formatter
from typing import Any

from tmem_integrations.errors import ConfigError

# Raise it when the same template would be rendered differently: cached verdicts are of the old form.
_RENDERING = 2


def check_template(
    template: str, name: str, *, required: Collection[str], optional: Collection[str] = ()
) -> None:
    """Check that a template has its fields and no others.

    Args:
        template: `str.format` text; a literal brace is doubled.
        name: How an error names it, such as "GatePrompt.template".
        required: Fields without which the question cannot be asked.
        optional: Further fields that may stand in it.

    Raises:
        ConfigError: If a brace is unbalanced, a required field is missing, or a field is unknown.

    Examples:
        >>> check_template("{question} {chat}", "T", required=("question", "chat"))
    """
    known = ", ".join(f"{{{field}}}" for field in (*required, *optional))
    if not isinstance(template, str):
        raise ConfigError(f"{name} must be a str with the fields {known}, got {template!r}.")
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ConfigError(
            f"{name} is no str.format template ({error}); write a literal brace twice: {{{{ or }}}}."
        ) from error
    found = set()
    for _, field, spec, conversion in parts:
        if field is None:
            continue
        if field not in required and field not in optional:
            raise ConfigError(
                f"{name} has the field {{{field}}}; it can have {known}, "
                "and a literal brace is written twice: {{ or }}."
            )
        if spec or conversion:
            raise ConfigError(f"{name}: the field {{{field}}} takes no format or conversion.")
        found.add(field)
    missing = [f"{{{field}}}" for field in required if field not in found]
    if missing:
        raise ConfigError(f"{name} must have the fields {known}; missing: {', '.join(missing)}.")


def version_of(template: str, schema: Mapping[str, Any]) -> str:
    """Short hash of what a verdict depends on besides its input: the key of caches.

    Examples:
        >>> version_of("{question}", {}) == version_of("{question} ", {})
        False
    """
    content = json.dumps([_RENDERING, template, schema], sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:12]
