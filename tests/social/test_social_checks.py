"""The system check of compact timelines, and the measured size of timelines."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from redis import Redis
from redis.exceptions import NoPermissionError

from mirror.windows.declare import SENTINEL
from social import checks, keys
from social.mirrors.windows import TIMELINE_LENGTH
from tests.support.servers import RedisServer
from tests.support.timeouts import dead, hung
from tools.devserver.redis_server import find_redis, find_wheel_redis

SERVERS = [find_redis(), *([wheel] if (wheel := find_wheel_redis()) else [])]


def told() -> list[CheckMessage]:
    return [message for message in run_checks(tags=["redis"]) if str(message.id).startswith("social.")]


def limits(redis: Redis) -> dict[str, str]:
    """Return the server's limits of compact sorted sets, by the names of its version."""
    found: Any = redis.config_get("zset-max-*")
    return {name: value for name, value in found.items() if "listpack" in name} or dict(found)


def write(redis: Redis, *, first: int, count: int = TIMELINE_LENGTH) -> str:
    """Write a timeline with every 37th post id of a busy site."""
    key = keys.timeline(123456)
    redis.zadd(key, {SENTINEL: 0, **{str(first + n * 37): first + n * 37 for n in range(count)}})
    return key


@pytest.mark.parametrize("first", [1, 1_000_000, 10_000_000, 1_000_000_000])
@pytest.mark.parametrize("binary", SERVERS, ids=[path.parent.parent.name for path in SERVERS])
def test_a_compact_timeline_takes_five_kilobytes(binary: Path, first: int) -> None:
    with RedisServer(binary=binary) as server, server.plain_client() as client:
        key = write(client, first=first)
        compact = client.memory_usage(key)
        assert compact is not None
        assert 3_000 < compact <= checks.COMPACT_KB * 1024 + 100
        client.delete(key)
        client.config_set(next(name for name in limits(client) if name.endswith("-entries")), 128)
        loose = client.memory_usage(write(client, first=first), samples=0)  # of all entries, not of five random ones
        assert loose is not None
        assert 36_000 < loose < 52_000  # the levels of a skip list are random


def test_a_timeline_stays_compact_during_a_delivery_of_a_hundred_posts(redis: Redis) -> None:
    key = write(redis, first=1_000_000, count=TIMELINE_LENGTH + 111)
    assert redis.object("encoding", key) in (b"listpack", b"ziplist")
    redis.zadd(key, {"5": 5})
    assert redis.object("encoding", key) == b"skiplist"


def test_servers_of_the_demo_and_the_tests_pass(redis_server: RedisServer) -> None:
    assert told() == []


@pytest.mark.parametrize(("ending", "value"), [("-entries", "511"), ("-value", "19")])
def test_a_server_with_low_limits_is_reported(redis_server: RedisServer, ending: str, value: str) -> None:
    with redis_server.client() as client:
        name = next(name for name in limits(client) if name.endswith(ending))
        client.config_set(name, value)
    (found,) = told()
    assert found.id == "social.W001"
    assert f"{name} is {value}" in found.msg
    assert "45 kB instead of 5" in str(found.hint)


def test_a_server_that_hides_its_limits_passes(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with redis_server.client() as client:
        client.config_set(next(name for name in limits(client) if name.endswith("-entries")), "1")
        client.acl_setuser("default", enabled=True, nopass=True, commands=["+@all", "-config"], keys=["*"])
        with pytest.raises(NoPermissionError):
            client.config_get("zset-max-*")
    assert told() == []


@pytest.mark.parametrize("harm", [dead, hung])
def test_an_unreachable_server_passes(
    redis_server: RedisServer, harm: Callable[[RedisServer], AbstractContextManager[None]]
) -> None:
    with harm(redis_server):
        assert told() == []
