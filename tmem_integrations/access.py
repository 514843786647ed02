"""Access: which channels a person may read, asked at question time.

Without a policy everything is readable. With one, a question without an asker is an error and a
channel the policy does not name, or a message without a channel, is not readable: fail closed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tmem_integrations.errors import AccessError, ConfigError
from tmem_integrations.messages import Query, Scope
from tmem_integrations.protocols import AccessPolicy

EVERYONE = "*"


@dataclass(frozen=True, slots=True)
class ChannelMembers:
    """Channel membership: a person reads the channels that name them, or everyone.

    Attributes:
        members: Channel to one or several author ids or names; "*" admits everyone who says who they
            are. Kept as given, so whoever is taken out of it no longer reads from then on.
    """

    members: Mapping[str, str | Collection[str]]

    def readable(self, asking_user: str, channels: frozenset[str]) -> frozenset[str]:
        """Channels of `channels` that `asking_user` may read."""
        return frozenset(c for c in channels if self._admits(asking_user, c))

    def _admits(self, asking_user: str, channel: str) -> bool:
        members = self.members.get(channel, ())
        names = [members] if isinstance(members, str) else members
        return asking_user in names or EVERYONE in names


@dataclass(frozen=True, slots=True)
class CallablePolicy:
    """A function of (asking_user, channel) that says whether the person may read the channel."""

    allows: Callable[[str, str], bool]

    def readable(self, asking_user: str, channels: frozenset[str]) -> frozenset[str]:
        """Channels of `channels` that `asking_user` may read."""
        return frozenset(c for c in channels if self.allows(asking_user, c) is True)


AccessLike = (
    AccessPolicy | Mapping[str, str | Collection[str]] | Callable[[str, str], bool] | None
)  # fmt: skip


def as_policy(access: AccessLike) -> AccessPolicy | None:
    """Read access control as a caller gives it.

    Args:
        access: A mapping from channel to its members, a function of (asking_user, channel), an
            `AccessPolicy`, or None for no access control.

    Raises:
        ConfigError: If it is none of these.

    Examples:
        >>> policy = as_policy({"general": "*", "board": ["ann"]})
        >>> sorted(policy.readable("bo", frozenset({"general", "board"})))
        ['general']
    """
    if access is None or isinstance(access, ChannelMembers | CallablePolicy):
        return access
    if isinstance(access, Mapping):
        return ChannelMembers(access)
    if hasattr(access, "readable"):
        return access
    if callable(access):
        return CallablePolicy(access)
    raise ConfigError(
        f"access must map channels to members, be a function or a policy, got {access!r}."
    )


def scope_of(query: Query, policy: AccessPolicy | None, channels: frozenset[str]) -> Scope:
    """What `query` may read.

    Args:
        query: The question.
        policy: Access control, or None.
        channels: All channels of the store.

    Raises:
        AccessError: If there is a policy and the question has no asker.
    """
    if policy is None:
        return Scope(query)
    if query.asking_user is None or not query.asking_user.strip():
        raise AccessError("This memory has access control: say who asks, as in asking_user='ann'.")
    return Scope(query, frozenset(policy.readable(query.asking_user, channels)) & channels)
