"""The faults of servers that other tests cause really happen: otherwise those tests would pass without them."""

from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from tests.support.servers import RedisServer


def test_killed_server_keeps_acknowledged_writes(redis_server: RedisServer) -> None:
    redis_server.client().set("a", "1")
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        redis_server.client().ping()
    redis_server.start()
    assert redis_server.client().get("a") == b"1"


def test_frozen_server_does_not_answer_until_it_is_thawed(redis_server: RedisServer) -> None:
    hasty = Redis.from_url(redis_server.url(), socket_timeout=0.1)
    redis_server.freeze()
    with pytest.raises(RedisTimeoutError):
        hasty.ping()
    redis_server.thaw()
    assert redis_server.client().ping()


def test_older_append_only_file_restores_older_data(redis_server: RedisServer, tmp_path: Path) -> None:
    redis_server.client().set("a", "old")
    redis_server.copy_aof(tmp_path / "aof")
    redis_server.client().set("a", "new")
    redis_server.restore_aof(tmp_path / "aof")
    redis_server.start()
    assert redis_server.client().get("a") == b"old"
