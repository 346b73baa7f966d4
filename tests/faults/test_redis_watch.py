"""The guarantee of Redis on which every drain depends: any write breaks a WATCH, even one that leaves no key behind."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis, WatchError

from mirror.kinds.base import touch
from tests.support.servers import RedisServer
from tools.devserver.redis_server import find_redis, find_wheel_redis, read_version

BINARIES = sorted({path for path in (find_redis(), find_wheel_redis()) if path})


@pytest.fixture(params=BINARIES, ids=lambda path: "redis {}.{}".format(*read_version(path)))
def client(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """Return a client of each available version of Redis."""
    binary: Path = request.param
    with RedisServer(binary=binary) as server, server.client() as made:
        yield made


@pytest.mark.parametrize("before", [None, "said"], ids=["of nothing", "of a record"])
def test_set_and_del_in_a_transaction_break_a_watch(client: Redis, before: str | None) -> None:
    if before:
        client.set("record", before)
    with client.pipeline() as watching:
        watching.watch("record")
        watching.multi()
        watching.set("stale", "1")
        with client.pipeline(transaction=True) as touching:
            for command in touch("record"):
                touching.execute_command(*command)
            touching.execute()
        with pytest.raises(WatchError):
            watching.execute()
    assert client.keys() == []


def test_writing_an_equal_value_breaks_a_watch(client: Redis) -> None:
    client.mset({"record": "same"})
    with client.pipeline() as watching:
        watching.watch("record")
        watching.multi()
        watching.set("stale", "1")
        client.mset({"record": "same"})
        with pytest.raises(WatchError):
            watching.execute()
    assert not client.exists("stale")


def test_emptying_the_server_breaks_the_watch_of_an_existing_key(client: Redis) -> None:
    client.set("record", "said")
    with client.pipeline() as watching:
        watching.watch("record")
        watching.multi()
        watching.set("stale", "1")
        client.flushall()
        with pytest.raises(WatchError):
            watching.execute()
    assert not client.exists("stale")
