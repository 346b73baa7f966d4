"""The servers that other tests rely on do what they say."""

import os
import socket
import sys
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.redis import client
from tests.support.servers import RedisServer, free_port
from tests.support.stack import LEFT_OUT


def test_a_killed_server_comes_back_with_what_it_acknowledged(redis_server: RedisServer) -> None:
    redis_server.client().set("a", "1")
    redis_server.kill()
    with pytest.raises(RedisConnectionError):
        redis_server.client().ping()
    redis_server.start()
    assert redis_server.client().get("a") == b"1"


def test_a_frozen_server_does_not_answer_until_it_is_thawed(redis_server: RedisServer) -> None:
    hasty = Redis.from_url(redis_server.url(), socket_timeout=0.1)
    redis_server.freeze()
    with pytest.raises(RedisTimeoutError):
        hasty.ping()
    redis_server.thaw()
    assert redis_server.client().ping()


def test_a_server_that_was_told_to_stop_has_stopped(redis_server: RedisServer) -> None:
    for _ in range(20):
        redis_server.freeze()
        assert Path(f"/proc/{redis_server.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        redis_server.thaw()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is held cannot be listened on")
def test_a_port_is_kept_for_whoever_asked_for_it() -> None:
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    with socket.socket() as mine:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mine.bind(("127.0.0.1", port))
        mine.listen()


def test_what_is_just_being_written_is_not_copied_with_the_site() -> None:
    """It has another name a moment later."""
    files = ["urls.cpython-311.pyc", "urls.cpython-311.pyc.140735", "django.4711.tmp", "django.po"]
    assert LEFT_OUT("shop", files) == {"urls.cpython-311.pyc.140735", "django.4711.tmp"}


def test_an_older_append_only_file_takes_the_server_back_in_time(redis_server: RedisServer, tmp_path: Path) -> None:
    redis_server.client().set("a", "old")
    redis_server.copy_aof(tmp_path / "aof")
    redis_server.client().set("a", "new")
    redis_server.restore_aof(tmp_path / "aof")
    redis_server.start()
    assert redis_server.client().get("a") == b"old"


def test_a_closed_server_leaves_neither_process_nor_folder() -> None:
    server = RedisServer().start()
    pid = server.pid
    server.close()
    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_site_is_pointed_at_the_server_of_the_test(redis_server: RedisServer) -> None:
    client().set("a", "1")
    assert redis_server.client().get("a") == b"1"


def test_afterwards_the_site_is_pointed_at_the_shared_server_again(server: RedisServer) -> None:
    client().set("a", "1")
    assert server.client().get("a") == b"1"


def test_every_test_finds_redis_empty(redis: Redis) -> None:
    assert redis.dbsize() == 0


@pytest.mark.parametrize("round_", [1, 2])
@pytest.mark.django_db(transaction=True)
def test_every_test_finds_the_outbox_empty_and_an_identity(round_: int) -> None:
    from mirror.models import Change, Identity

    assert Change.objects.count() == 0
    assert Identity.objects.count() == 1
    Change.objects.create(mirror="book", key=str(round_))
