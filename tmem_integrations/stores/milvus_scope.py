"""What a scope admits, as an expression that Milvus evaluates.

It holds digests and numbers only, so no name can end a literal and begin an expression of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tmem_integrations.messages import Query, Scope
from tmem_integrations.stores.milvus_rows import digest
from tmem_integrations.stores.versions import NEVER
from tmem_integrations.times import to_microseconds

# No digest is this short, so nothing is equal to it.
_NOTHING = "-"


def all_of(conditions: Iterable[str]) -> str:
    """All conditions that there are, as one; empty when there is none."""
    return " and ".join(condition for condition in conditions if condition)


def one_of(field: str, digests: Collection[str]) -> str:
    """Whether a field has one of some digests; never, when there are none."""
    listed = ", ".join(f'"{one}"' for one in sorted(digests) or [_NOTHING])
    return f"{field} in [{listed}]"


def version_of(query: Query) -> str:
    """Which version of each message a question reads: that of its `as_of`, else the present one."""
    if query.as_of is None:
        return f"until == {NEVER}"
    moment = to_microseconds(query.as_of)
    return f"known <= {moment} and until > {moment}"


def condition_of(scope: Scope) -> str:
    """`Scope.admits` for Milvus.

    Examples:
        >>> condition_of(Scope(readable=frozenset()))
        'channel in ["-"] and until == 9223372036854775807'
    """
    query = scope.query
    conditions = []
    if scope.readable is not None:
        conditions.append(_named("channel", "channel", scope.readable))
    if query.channels is not None:
        conditions.append(_named("channel", "channel", query.channels))
    if query.not_channels is not None:
        unwanted = _named("channel", "channel", query.not_channels)
        conditions.append(f'channel != "" and not ({unwanted})')
    if query.topics is not None:
        conditions.append(_named("topic", "topic", query.topics))
    if query.authors is not None:
        by_name = _named("author", "author", query.authors)
        by_id = _named("author_id", "author", query.authors)
        conditions.append(f"({by_name} or {by_id})")
    conditions.append(version_of(query))
    if query.after is not None:
        conditions.append(f"sent >= {to_microseconds(query.after)}")
    if query.before is not None:
        conditions.append(f"sent < {to_microseconds(query.before)}")
    return all_of(conditions)


def _named(field: str, kind: str, names: Collection[str]) -> str:
    return one_of(field, {digest(kind, name) for name in names})
