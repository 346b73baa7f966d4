"""A reader that finds a cold mirror asks for a sweep and does not wait for it."""

import pytest
from redis import Redis

from mirror.read.reads import read
from mirror.relay import send
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


def queued(server_url: str) -> int:
    with Redis.from_url(server_url) as broker:
        return int(broker.llen("relay"))


def test_readers_of_a_cold_mirror_send_one_sweep_task(server: RedisServer, timings: Timings) -> None:
    timings(SWEEP_REQUEST_SECONDS=3600.0)
    send.sweep_requests.reset()
    for _ in range(3):
        assert read(["titem"], lambda pipe: pipe.get("x")) is None
    assert queued(server.url(2)) == 1
