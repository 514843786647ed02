"""Revisions and their rollback from templates.

The first change repeats the words of the evidence, later ones less and less, and the rollback none of them,
though nobody in the chat could misread it.
"""

from __future__ import annotations

import random
import re

_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_VALUE = re.compile(rf"\b(?:{'|'.join(_DAYS + _MONTHS)}|\d{{1,4}})\b", re.IGNORECASE)
_WORDS_REPEATED = 12

_FIRST = (
    "Change to this: {changed}",
    "Update, please note: {changed}",
    "New state, it is now like this: {changed}",
)
_FIRST_WITHOUT_VALUE = (
    "This no longer holds: {start}. We do it another way now.",
    "Scratch that part about {start}, there is another plan now.",
)
_LATER = (
    "Actually, better {value}.",
    "Hm, make that {value} then.",
    "One more correction from my side: {value}.",
)
_LATER_WITHOUT_VALUE = (
    "Hm, a third way seems better to me now.",
    "One more correction from my side, we turn it round.",
    "Sorry, changed again, see the notes.",
)
_ROLLBACKS = (
    "Forget the corrections, everything stays exactly as originally told.",
    "Back to square one, all of those tweaks are off.",
    "Undo all that. The original stands, nothing else.",
)


def template_texts(text: str, n_steps: int, rng: random.Random) -> list[str]:
    """Changes of a text, the first in its own words, and what takes them back."""
    return [*_revisions(text, n_steps, rng), rng.choice(_ROLLBACKS)]


def values_of(text: str) -> frozenset[str]:
    """Weekdays, months and numbers in a text, in lower case.

    Examples:
        >>> sorted(values_of("Friday, not Monday: 17 March"))
        ['17', 'friday', 'march', 'monday']
    """
    return frozenset(value.lower() for value in _VALUE.findall(text))


def _revisions(text: str, n_steps: int, rng: random.Random) -> list[str]:
    """Changes of a text, the first in its own words."""
    values = list(_VALUE.finditer(text))
    if not values:
        start = " ".join(text.split()[:_WORDS_REPEATED]).rstrip(".!?,;:")
        later = rng.sample(_LATER_WITHOUT_VALUE, n_steps - 1)
        return [rng.choice(_FIRST_WITHOUT_VALUE).format(start=start), *later]
    value = rng.choice(values)
    # Less than a week, all different: no change leads back to where it began.
    first, *others = (change_value(value[0], by) for by in rng.sample(range(1, 7), n_steps))
    changed = f"{text[: value.start()]}{first}{text[value.end() :]}"
    templates = rng.sample(_LATER, n_steps - 1)
    return [
        rng.choice(_FIRST).format(changed=changed),
        *(t.format(value=other) for t, other in zip(templates, others, strict=True)),
    ]


def change_value(value: str, by: int) -> str:
    """Another weekday, month or number.

    Examples:
        >>> change_value("Sunday", 1), change_value("may", 2), change_value("9", 3)
        ('Monday', 'July', '12')
    """
    if value.isdecimal():
        return str(int(value) + by)
    names = _DAYS if value.title() in _DAYS else _MONTHS
    return names[(names.index(value.title()) + by) % len(names)]
