"""How many, in words for people: "1 message", "2 messages"."""

from __future__ import annotations


def counted(n: int, noun: str, singular: str = "", plural: str = "") -> str:
    """A number with its noun, and with the verb that agrees.

    Args:
        n: How many.
        noun: What, in the singular; it takes an s.
        singular: What follows one, such as "stays".
        plural: What follows all other numbers, such as "stay".

    Examples:
        >>> counted(1, "message", "stays", "stay"), counted(0, "message", "stays", "stay")
        ('1 message stays', '0 messages stay')
        >>> counted(1200, "token")
        '1,200 tokens'
    """
    what = f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
    return f"{what} {singular if n == 1 else plural}".rstrip()
