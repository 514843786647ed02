"""Data sets of evaluation, all read into one shape: `Dataset`.

Our own JSONL, and the published forms of LoCoMo, LoCoMo-Plus, GroupMemBench, EverMemBench-Dynamic, QMSum,
GateMem and Ubuntu IRC.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tmem_integrations.errors import ImportFormatError
from tmem_integrations.evaluation.questions import Dataset

__all__ = ["FORMS", "load_dataset"]

# Each is a module here with `is_<form>(path)` and `read_<form>(path)`; the first that fits reads.
FORMS = (
    "jsonl", "gatemem", "evermembench", "irc", "groupmembench", "locomo_plus", "locomo", "qmsum",
)  # fmt: skip


def load_dataset(path: Path) -> Dataset:
    """Read a data set; its form is told from its files.

    Raises:
        ImportFormatError: If it is in no known form, or a file cannot be read.
        InputError: If ids repeat, or a question's channel or evidence is not there.
    """
    if path.exists():
        for form in FORMS:
            module = import_module(f"{__name__}.{form}")
            if getattr(module, f"is_{form}")(path):
                dataset: Dataset = getattr(module, f"read_{form}")(path)
                return dataset
    raise ImportFormatError(
        f"{path}: expected a data set in one of the forms {', '.join(FORMS)}; found none of them."
    )
