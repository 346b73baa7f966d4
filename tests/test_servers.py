"""The servers and fixtures that other tests depend on."""

import os
import socket
import sys
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mirror.redis.clients import client
from tests.support.servers import RedisServer, free_port
from tests.support.stack import LEFT_OUT


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


def test_freeze_returns_after_the_server_has_stopped(redis_server: RedisServer) -> None:
    for _ in range(20):
        redis_server.freeze()
        assert Path(f"/proc/{redis_server.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        redis_server.thaw()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port that is held cannot be listened on")
def test_free_port_stays_reserved() -> None:
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    with socket.socket() as mine:
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        mine.bind(("127.0.0.1", port))
        mine.listen()


def test_half_written_files_are_not_copied_with_the_site() -> None:
    """Such files get their final names a moment later."""
    files = ["urls.cpython-311.pyc", "urls.cpython-311.pyc.140735", "django.4711.tmp", "django.po"]
    assert LEFT_OUT("shop", files) == {"urls.cpython-311.pyc.140735", "django.4711.tmp"}


def test_older_append_only_file_restores_older_data(redis_server: RedisServer, tmp_path: Path) -> None:
    redis_server.client().set("a", "old")
    redis_server.copy_aof(tmp_path / "aof")
    redis_server.client().set("a", "new")
    redis_server.restore_aof(tmp_path / "aof")
    redis_server.start()
    assert redis_server.client().get("a") == b"old"


def test_closed_server_leaves_neither_process_nor_folder() -> None:
    server = RedisServer().start()
    pid = server.pid
    server.close()
    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_site_uses_the_server_of_the_test(redis_server: RedisServer) -> None:
    client().set("a", "1")
    assert redis_server.client().get("a") == b"1"


@pytest.mark.only_on("single")  # it looks at the marks or keys of one Redis by name
def test_site_returns_to_the_shared_server(server: RedisServer) -> None:
    client().set("a", "1")
    assert server.client().get("a") == b"1"


def test_redis_is_empty_at_the_start_of_a_test(redis: Redis) -> None:
    assert redis.dbsize() == 0


@pytest.mark.parametrize("round_", [1, 2])
@pytest.mark.django_db(transaction=True)
def test_outbox_is_empty_and_identity_exists_at_the_start_of_a_test(round_: int) -> None:
    from mirror.models import Change, Identity

    assert Change.objects.count() == 0
    assert Identity.objects.count() == 1
    Change.objects.create(mirror="book", key=str(round_))
