"""A reader that finds a mirror cold has it seen to, and does not wait for it."""

import pytest
from redis import Redis

from mirror import send
from mirror.read import read
from tests.support.servers import RedisServer

pytestmark = pytest.mark.django_db(transaction=True)


def queued(server_url: str) -> int:
    with Redis.from_url(server_url) as broker:
        return int(broker.llen("relay"))


def test_readers_of_a_cold_mirror_ask_for_one_sweep(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send, "_asked_at", -send.EVERY_SECONDS)
    monkeypatch.setattr("mirror.send.time.monotonic", lambda: 1000.0)
    for _ in range(3):
        assert read(["titem"], lambda pipe: pipe.get("x")) is None
    assert queued(server.url(2)) == 1
