"""Through a real pgbouncer in transaction mode, changes are captured and drained, and the doctor recognizes it."""

import os
import shutil
import socket
from collections.abc import Iterator

import pytest
from django.db import connection
from redis import Redis

from mirror.doctor import sql
from mirror.upkeep import heartbeat
from tests.projects.mirrortest.models import Follow, Item
from tests.support.mirror import world
from tests.support.servers.postgres import NOBODY
from tests.support.servers.process import Server, free_port

pytestmark = [
    pytest.mark.only_on("postgres"),
    pytest.mark.usefixtures("committed", "no_hints"),
    pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="pgbouncer is not installed"),
]
CONFIGURATION = """
[databases]
* = host={HOST} port={PORT} user={USER} password={PASSWORD}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
ignore_startup_parameters = extra_float_digits, options
"""


class Pgbouncer(Server):
    """A pooler in front of the test server. Like PostgreSQL it refuses to run as root."""

    def __init__(self) -> None:
        self.user = NOBODY if os.geteuid() == 0 else None
        super().__init__()
        self.port = free_port()
        self.configuration = self.folder / "pgbouncer.ini"
        self.configuration.write_text(CONFIGURATION.format(port=self.port, **connection.settings_dict))

    def command(self) -> list[str]:
        return ["pgbouncer", str(self.configuration)]

    def is_ready(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture
def pooled(committed: None) -> Iterator[None]:
    """Let this process use the pooler."""
    with Pgbouncer() as pooler, pytest.MonkeyPatch.context() as patch:
        connection.close()
        patch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        patch.setitem(connection.settings_dict, "PORT", pooler.port)
        yield
        connection.close()


def find_pooler() -> list[str | None]:
    return [message.id for message in sql._check_pooler("default")]


def test_changes_reach_redis_through_a_pooler(pooled: None, redis: Redis) -> None:
    world.warm_own()
    Item.objects.bulk_create(Item(name=str(n)) for n in range(20))
    Follow.objects.create(follower=1, followed=2)
    Item.objects.filter(name="3").delete()
    world.rest()
    assert heartbeat.beat()
    assert world.dump(redis) == world.by_orm()


def test_doctor_recognizes_an_idle_pooler(pooled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_pooler() == ["mirror.W036"]
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    assert find_pooler() == []


def test_direct_connection_is_no_pooler() -> None:
    assert find_pooler() == []
