"""Access: which channels a person may read, asked at question time.

Without a policy everything is readable. With one, a question without an asker is an error and a
channel the policy does not name, or a message without a channel, is not readable: fail closed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tmem_integrations.errors import AccessError, ConfigError, StoreError
from tmem_integrations.messages import Message, Query, Scope
from tmem_integrations.protocols import AccessPolicy, MessageStore

EVERYONE = "*"

Redact = Callable[[Message, Query], Message | None]
"""What of a message an asker gets: the message, the same with another text or author, or None to
withhold it. For what channels cannot tell apart, such as a secret of one role inside a channel."""


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


@dataclass(frozen=True, slots=True)
class Guard:
    """The second check: all that is loaded for a question passes it before anything is made of it.

    Attributes:
        scope: What the question may read.
        store: Where the messages are.
        redact: Of the caller; None lets all through.
    """

    scope: Scope
    store: MessageStore
    redact: Redact | None = None

    def check(self, messages: Sequence[Message | None]) -> tuple[Message | None, ...]:
        """The messages as the asker gets them, None where there is nothing to get.

        Raises:
            StoreError: If one is outside the scope.
            ConfigError: If `redact` returns another message.
        """
        if not self.scope.is_open and not all(m is None or self.scope.admits(m) for m in messages):
            raise StoreError("The store returned a message outside the scope; nothing is shown.")
        hidden = self._hidden_targets(messages)
        if not hidden and self.redact is None:
            return tuple(messages)
        return tuple(None if m is None else self._shown(m, hidden) for m in messages)

    def _hidden_targets(self, messages: Sequence[Message | None]) -> frozenset[str]:
        """Ids that are answered and not readable: a link must not tell that a message exists."""
        if self.scope.readable is None:
            return frozenset()
        answered = {m.reply_to for m in messages if m is not None and m.reply_to is not None}
        readable = Scope(readable=self.scope.readable)
        found = self.store.get(answered)
        return frozenset(
            one for one in answered if one not in found or not readable.admits(found[one])
        )

    def _shown(self, message: Message, hidden: frozenset[str]) -> Message | None:
        if message.reply_to in hidden:
            message = replace(message, reply_to=None)
        if self.redact is None:
            return message
        shown = self.redact(message, self.scope.query)
        if shown is None:
            return None
        if not isinstance(shown, Message) or _place(shown) != _place(message):
            raise ConfigError(
                f"redact must return None or message {message.id!r} with another text or author, "
                f"got {type(shown).__name__}; use dataclasses.replace(message, text=…)."
            )
        return shown


def _place(message: Message) -> tuple[object, ...]:
    return message.id, message.sent_at, message.channel, message.topic, message.reply_to


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


def unknown_channels(scope: Scope, channels: frozenset[str]) -> tuple[str, ...]:
    """Channels the query names that do not exist or may not be read: to the asker it is the same."""
    known = channels if scope.readable is None else scope.readable
    return tuple(sorted((scope.query.channels or frozenset()) - known))
