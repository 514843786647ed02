"""What the package imports is declared: a fresh install has it."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import tmem_integrations

PACKAGE = Path(tmem_integrations.__file__).parent
PROJECT = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
# Modules that are not named like what brings them, or that several distributions share.
NAMESPACES = {"llama_index": "llama-index-core", "mem0": "mem0ai"}


def imported() -> set[str]:
    """Top-level modules that the package imports anywhere, its own and the standard library's left out."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module).split(".")[0])
    return found - sys.stdlib_module_names - {"tmem_integrations"}


def named(requirements: list[str]) -> set[str]:
    return {re.split(r"[\s<>=~!\[;]", one, maxsplit=1)[0].lower() for one in requirements}


def test_every_import_is_declared_as_a_dependency_or_in_an_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = named(PROJECT["dependencies"]).union(
        *(named(own) for extra, own in extras.items() if extra != "test")
    )
    homes = packages_distributions()
    undeclared = {}
    for module in sorted(imported()):
        # An extra that is not installed here is taken to be named like its module.
        homes_of = (
            {NAMESPACES[module]} if module in NAMESPACES else set(homes.get(module, [module]))
        )
        names = {re.sub(r"[-_.]+", "-", home).lower() for home in homes_of}
        if not names & declared:
            undeclared[module] = names
    assert undeclared == {}
