"""System checks: whether the state server stores timelines compactly. ``/readyz`` reports an unreachable Redis."""

from collections.abc import Sequence
from typing import Any, Final, cast

from django.apps import AppConfig
from django.core.checks import CheckMessage, Warning, register

from common.servers import check_state_servers
from mirror.redis import RedisClient
from social.mirrors.windows import TIMELINE_LENGTH

# A timeline, its sentinel, and the posts that one delivery adds before it trims the oldest. A sorted set that exceeds
# the server's limit even once is converted, and then takes many times the memory until it is deleted.
MAX_TIMELINE_MEMBERS: Final = TIMELINE_LENGTH + 112
MAX_MEMBER_LENGTH: Final = 20  # characters of a member: any id
# Bytes of a timeline of 400 posts, as measured on Redis 6.2 and 7.0 (tests/social/test_social_checks.py).
COMPACT_KB, LOOSE_KB = 5, 45


@register("redis")
def check_timeline_encoding(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn if the state server does not store sorted sets of a timeline's size compactly.

    Return no warning if the server does not reveal its configuration.
    """
    return check_state_servers(_check_limits)


def _check_limits(client: RedisClient) -> list[CheckMessage]:
    limits = _read_limits(client)
    return [
        Warning(
            f"The state server stores sorted sets compactly only up to {what}: {name} is {limit}.",
            hint=f"A home timeline takes {LOOSE_KB} kB instead of {COMPACT_KB}: set {name} to {needed}, and"
            " rebuild the timelines (timelines rebuild --all-active).",
            id="social.W001",
        )
        for name, limit in limits.items()
        for ending, needed, what in (
            ("-entries", MAX_TIMELINE_MEMBERS, f"{limit} members"),
            ("-value", MAX_MEMBER_LENGTH, f"{limit} characters a member"),
        )
        if name.endswith(ending) and limit < needed
    ]


def _read_limits(client: RedisClient) -> dict[str, int]:
    """Return the server's limits by name: zset-max-listpack-entries and -value.

    Redis 6.2 names them ziplist; newer versions report both names.
    """
    found = cast("dict[str, str]", client.config_get("zset-max-*"))
    newer = {name: int(value) for name, value in found.items() if "listpack" in name}
    return newer or {name: int(value) for name, value in found.items()}
