"""The broker is dead or hung: writes stay fast and succeed once, and the sweep catches up afterwards."""

import time

import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import ConnectionError

from config.celery import app
from mirror.relay import send
from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.faults.tools import assert_comes_to_rest
from tests.support.servers import RedisServer, wait_until
from tests.support.timeouts import dead, hung

WRITES = 30


@pytest.fixture
def one_attempt(settings: Settings, small_steps: dict[str, object]) -> None:
    """Make every write exceed the budget and send a hint. The breaker stays open, so that attempts can be counted."""
    settings.ROOT_URLCONF = "tests.faults.urls"
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0, "BREAKER_SECONDS": 600}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dead", "hung"])
def test_unreachable_broker_costs_one_attempt_and_no_change(
    how: str, still: list[Item], broker_server: RedisServer, crew: Crew, one_attempt: None, state: Redis
) -> None:
    crew.worker()
    crew.beat()
    client, before, count = Client(), send.failures, Item.objects.count()
    with (dead if how == "dead" else hung)(broker_server):
        for n in range(WRITES):
            Item.objects.create(name=f"committed {n}")
            assert client.post(f"/item/{still[n].pk}/", {"name": f"renamed {n}"}).status_code == 200
            assert client.get(f"/item/{still[n].pk}/").json()["name"] == f"renamed {n}"
    assert send.failures - before == 1
    assert Item.objects.count() == count + WRITES
    assert_comes_to_rest(state)


def test_recovered_broker_gets_hints_again(still: list[Item], broker_server: RedisServer, one_attempt: None) -> None:
    broker_server.kill()
    Item.objects.create(name="while it is away")
    broker_server.start()
    send.broker.reset()  # as after the breaker's time
    Item.objects.create(name="when it is back")
    with broker_server.client(2) as client:
        assert client.llen("relay") > 0


def test_unreachable_broker_is_logged_once(
    broker_server: RedisServer, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 0.0}
    broker_server.kill()
    for _ in range(3):
        assert not send.task("mirror.tasks.sweep")
    [line] = caplog.messages
    assert line.startswith("The broker did not take a hint")
    broker_server.start()
    assert send.task("mirror.tasks.sweep")
    assert caplog.messages[1:] == ["The broker takes hints again (after 3 failures)"]


def test_beat_logs_the_outage_of_the_broker_once(broker_server: RedisServer, crew: Crew) -> None:
    with broker_server.client(2) as broker:
        crew.beat()
        wait_until(lambda: broker.llen("relay"), "beat's first task")
    broker_server.kill()
    wait_until(lambda: "Tasks cannot be sent" in crew.said("beat"), "beat to notice")
    time.sleep(5)  # several tasks become due
    broker_server.start()
    wait_until(lambda: "Tasks are sent again" in crew.said("beat"), "beat to recover")
    said = crew.said("beat")
    assert said.count("Tasks cannot be sent") == 1
    assert int(said.partition("(after ")[2].partition(" failures)")[0]) > 1
    assert "Traceback" not in said


@pytest.mark.parametrize("full", [False, True])
def test_failed_acknowledgement_keeps_no_place_of_a_worker(full: bool, broker_server: RedisServer) -> None:
    with app.connection_for_read(f"redis+socket://{broker_server.socket}?virtual_host=2") as connection:
        channel = connection.channel()
        queue = connection.SimpleQueue("acknowledgements", channel=channel)
        queue.put("a task")
        channel.basic_qos(0, 1, False)
        if full:
            with broker_server.plain_client() as client:
                client.config_set("maxmemory", 1)
                message = queue.get()  # an error would end the worker, here and below
                assert not channel.qos.can_consume()
                message.ack()
        else:
            message = queue.get()
            assert not channel.qos.can_consume()
            broker_server.kill()
            with pytest.raises(ConnectionError):
                message.ack()
            broker_server.start()
        assert channel.qos.can_consume()
        with broker_server.plain_client() as client:
            client.config_set("maxmemory", 0)
