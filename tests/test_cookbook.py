"""The cookbook runs from a clean kernel, offline, and its outputs are small and free of errors.

After a change that is meant, write the outputs anew: `python tests/test_cookbook.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

COOKBOOK = Path(__file__).parent.parent / "cookbook"
NOTEBOOKS = sorted(COOKBOOK.glob("*.ipynb"))
MAX_BYTES = 120_000
# Machines differ; a kernel that hangs should still end.
PATIENCE = 300


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def run(notebook: Any) -> Any:
    """Execute all cells in a new kernel, without a key for any model."""
    client = nbclient.NotebookClient(
        notebook,
        timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(COOKBOOK)}},
    )
    return client.execute(env=_environment())


def _environment() -> dict[str, str]:
    import os

    return {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}


def outputs_by_kind(notebook: Any) -> list[list[str]]:
    """Of each cell, what kinds of output it has; a stream may come in several pieces."""
    return [sorted({o.output_type for o in cell.outputs}) for cell in code_cells(notebook)]


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
# The kernel's own libraries warn about things of theirs.
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_from_a_clean_kernel(path: Path) -> None:
    if path.stem.endswith("langgraph_agent"):
        pytest.importorskip("langgraph")
    committed = read(path)
    assert outputs_by_kind(run(read(path))) == outputs_by_kind(committed)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_outputs_are_committed_in_order_and_without_errors(path: Path) -> None:
    cells = code_cells(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [o for cell in cells for o in cell.outputs if o.output_type == "error"]
    assert all(cell.outputs for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_names_no_machine_and_says_what_to_try_next(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < MAX_BYTES
    assert not re.search(r"/(?:home|root|tmp|work|opt)/", text)
    assert read(path).cells[-1].source.startswith("## What to try next")


def test_the_index_lists_every_notebook() -> None:
    index = (COOKBOOK / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\d\w+\.ipynb)\)", index) == [path.name for path in NOTEBOOKS]


def _write_outputs() -> None:
    for path in NOTEBOOKS:
        notebook = run(read(path))
        for cell in code_cells(notebook):
            cell.metadata = {}
            for output in cell.outputs:
                # Shown as HTML; the other form of the same would only make the file long.
                if "text/html" in output.get("data", {}):
                    output.data["text/plain"] = "(see the HTML)"
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        print(path.name)


if __name__ == "__main__":
    _write_outputs()
