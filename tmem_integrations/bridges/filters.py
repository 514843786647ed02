"""Filters of a question as keywords: known ones only, and a view's can only be narrowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from tmem_integrations.errors import AccessError, QueryError
from tmem_integrations.messages import FILTERS, Query
from tmem_integrations.suggestions import suggest

T = TypeVar("T")

LIMITS = ("max_messages", "max_tokens")


def check_keywords(keywords: Iterable[str]) -> None:
    """Refuse what is neither filter nor limit: a lost filter would show too much.

    Raises:
        QueryError: Naming the unknown keyword and the nearest known one.
    """
    known = (*FILTERS, *LIMITS)
    for name in keywords:
        if name not in known:
            raise QueryError(f"{name!r} is no filter of a question; {suggest(name, known)}")


def narrow(scope: Query, question: Query) -> Query:
    """The question within a scope: both sets of filters hold.

    Raises:
        AccessError: If the scope is one user's and the question another's.
    """
    user = question.asking_user
    if scope.asking_user is not None and user not in (None, scope.asking_user):
        raise AccessError(
            f"This retriever is scoped to asking_user={scope.asking_user!r}; {user!r} cannot ask "
            "through it. Ask the retriever it was made from."
        )
    return Query(
        text=question.text,
        asking_user=user if scope.asking_user is None else scope.asking_user,
        as_of=_both(scope.as_of, question.as_of, min),
        channels=_both(scope.channels, question.channels, frozenset.intersection),
        not_channels=_both(scope.not_channels, question.not_channels, frozenset.union),
        authors=_both(scope.authors, question.authors, frozenset.intersection),
        topics=_both(scope.topics, question.topics, frozenset.intersection),
        after=_both(scope.after, question.after, max),
        before=_both(scope.before, question.before, min),
    )


def _both(left: T | None, right: T | None, join: Callable[[T, T], T]) -> T | None:
    if left is None or right is None:
        return right if left is None else left
    return join(left, right)
