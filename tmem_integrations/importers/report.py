"""What an import did: how much was read, what was skipped and why, what deserves a look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_N_EXAMPLES = 3
_EXAMPLE_LENGTH = 200


@dataclass(slots=True)
class Tally:
    """How often something happened, with the first places.

    Attributes:
        count: How often.
        examples: The first three, each with its place.
    """

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.examples) < _N_EXAMPLES:
            self.examples.append(example[:_EXAMPLE_LENGTH])


@dataclass(slots=True)
class ImportReport:
    """Fills while a file is read; complete when the iterator of messages is exhausted.

    Attributes:
        read: Messages that were handed on.
        skipped: What was left out, by reason.
        warnings: What was handed on though it looks odd, by reason.
        bytes_read: How far the reader is, for a progress bar.
        deleted: Ids of messages that the source says were deleted.
        members: Ids of the people in each channel, where the source names them: what access control
            takes.
    """

    read: int = 0
    skipped: dict[str, Tally] = field(default_factory=dict)
    warnings: dict[str, Tally] = field(default_factory=dict)
    bytes_read: int = 0
    deleted: list[str] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)

    def skip(self, reason: str, example: str) -> None:
        """Count something left out."""
        self.skipped.setdefault(reason, Tally()).add(example)

    def warn(self, reason: str, example: str) -> None:
        """Count something odd."""
        self.warnings.setdefault(reason, Tally()).add(example)

    @property
    def n_skipped(self) -> int:
        """How much was left out, for whatever reason."""
        return sum(tally.count for tally in self.skipped.values())

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""

        def plain(tallies: dict[str, Tally]) -> dict[str, Any]:
            return {k: {"count": t.count, "examples": list(t.examples)} for k, t in tallies.items()}

        return {
            "read": self.read,
            "skipped": plain(self.skipped),
            "warnings": plain(self.warnings),
            "deleted": len(self.deleted),
        }
