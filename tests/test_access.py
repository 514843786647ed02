"""Who may read which channel."""

import pytest

from tmem_integrations.access import as_policy, scope_of
from tmem_integrations.errors import AccessError, ConfigError
from tmem_integrations.messages import Query

CHANNELS = frozenset({"general", "board", "unlisted"})


def readable(access: object, user: str) -> frozenset[str] | None:
    return scope_of(Query(text="q", asking_user=user), as_policy(access), CHANNELS).readable


def test_without_access_control_everything_is_readable():
    assert scope_of(Query(text="q"), None, CHANNELS).readable is None


def test_members_read_their_channels_and_everyone_reads_open_ones():
    access = {"general": "*", "board": ["ann"]}
    assert readable(access, "ann") == {"general", "board"}
    assert readable(access, "bo") == {"general"}


def test_a_channel_that_no_one_lists_is_closed():
    assert "unlisted" not in (readable({"general": "*"}, "ann") or ())


@pytest.mark.parametrize("user", [None, "", " "])
def test_without_an_asker_access_control_is_an_error(user: str | None):
    with pytest.raises(AccessError, match="asking_user"):
        scope_of(Query(text="q", asking_user=user), as_policy({"general": "*"}), CHANNELS)


def test_a_member_who_left_no_longer_reads():
    members = {"board": {"ann"}}
    policy = as_policy(members)
    members["board"].discard("ann")
    assert scope_of(Query(text="q", asking_user="ann"), policy, CHANNELS).readable == frozenset()


def test_a_function_decides_and_only_true_opens():
    assert readable(lambda user, channel: channel == "board", "bo") == {"board"}
    assert readable(lambda user, channel: "yes", "bo") == frozenset()


def test_a_policy_cannot_open_a_channel_that_does_not_exist():
    class Generous:
        def readable(self, asking_user: str, channels: frozenset[str]) -> list[str]:
            return [*channels, "nowhere"]

    assert readable(Generous(), "ann") == CHANNELS


def test_what_is_no_policy_is_an_error():
    with pytest.raises(ConfigError, match="access must"):
        as_policy(7)
