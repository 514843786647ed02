"""Labels of messages as models write them back: with brackets, in capitals, as a bare number."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

_GENERIC_PREFIX = "id|label|message|msg|candidate|node|nr|no"
_WRAPPING = re.compile(r"^[\W_]+|\s*\([^()]*\)\s*$|[\W_]+$")
_SEPARATOR = re.compile(r"\s*[,;/|&]\s*|\s+(?:and\s+)?")


class Labels:
    """The labels of one call; finds them in what a model wrote for them.

    `[C3]`, `"c3 (Ann)"`, `id: c03` and 3 are c3; "m3" is not, as another prefix means another thing.
    Where two labels share a number, the number alone names neither.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self._exact = {label.casefold(): label for label in labels}
        numbers = Counter(found for label in self._exact if (found := _number(label)))
        self._by_number = {
            found: label
            for folded, label in self._exact.items()
            if (found := _number(folded)) and numbers[found] == 1
        }
        prefixes = {
            folded[: len(folded) - len(_number(folded))].rstrip("0") for folded in self._exact
        }
        own = "|".join(sorted(re.escape(prefix) for prefix in prefixes if prefix))
        self._pattern = re.compile(rf"(?:{_GENERIC_PREFIX}|{own})?[\s._:#-]*0*([1-9]\d{{0,8}})")

    def has(self, value: object) -> bool:
        """Whether the value is one label of the call."""
        return self.one(value) is not None

    def one(self, value: object) -> str | None:
        """The label that a value names."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, bool):
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int):
            return self._by_number.get(str(value)) if abs(value) < 10**9 else None
        if not isinstance(value, str):
            return None
        text = unicodedata.normalize("NFKC", value).casefold().strip()
        for form in (text, _WRAPPING.sub("", _WRAPPING.sub("", text))):
            if form in self._exact:
                return self._exact[form]
            if found := self._pattern.fullmatch(form):
                return self._by_number.get(found[1])
        return None

    def find(self, value: object) -> list[str | None]:
        """The labels that a value names, None for each that is not of this call."""
        if isinstance(value, list):
            return [self.one(item) for item in value]
        found = self.one(value)
        if found is None and isinstance(value, str):
            parts = [part for part in _SEPARATOR.split(value.strip(" []()")) if part]
            if len(parts) > 1 and any(self.has(part) for part in parts):
                return [self.one(part) for part in parts]
        return [found]


def _number(label: str) -> str:
    """The number at the end of a label, without leading zeros."""
    found = re.search(r"[1-9]\d*$", label)
    return found[0] if found else ""
