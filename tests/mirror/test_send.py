"""Sending a task never fails, and an unreachable broker is left alone after the first attempt."""

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.redis.clients import client, relay_client
from mirror.relay import send
from mirror.upkeep import rebuild
from mirror.warm.cold import make_cold
from mirror.warm.marker import is_warm
from tests.projects.mirrortest.models import Item
from tests.support.servers import RedisServer
from tests.support.tasks import load_tasks
from tests.support.timings import Timings


@pytest.fixture
def broker(redis_server: RedisServer) -> Redis:
    """Return a client of the broker's database."""
    return redis_server.client(2)


def queued(broker: Redis) -> list[Any]:
    """Return (task, args, kwargs) of the queued tasks, oldest first: the relay's queue, rebuilds, the others."""
    raw: Any = [message for queue in ("default", "rebuild", "relay") for message in broker.lrange(queue, 0, -1)]
    messages = [json.loads(message) for message in reversed(raw)]
    return [(m["headers"]["task"], *json.loads(b64decode(m["body"]))[:2]) for m in messages]


def test_tasks_are_queued_with_their_arguments(broker: Redis) -> None:
    send.drain("titem", ["1", "2"])
    send.sweep()
    assert send.rebuild("titem")
    assert send.rebuild("titem", if_cold=False)
    assert send.verify("titem")
    assert queued(broker) == [
        ("mirror.tasks.drain_keys", ["titem", ["1", "2"]], {}),
        ("mirror.tasks.sweep", [], {}),
        ("mirror.tasks.rebuild", ["titem"], {"if_cold": True}),
        ("mirror.tasks.rebuild", ["titem"], {"if_cold": False}),
        ("mirror.tasks.verify", ["titem"], {}),
    ]


def test_many_keys_are_split_into_several_tasks(broker: Redis) -> None:
    send.drain("titem", list(map(str, range(2 * send.MOST + 1))))
    assert [len(arguments[1]) for _, arguments, _ in queued(broker)] == [send.MOST, send.MOST, 1]


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_unreachable_broker_is_counted_and_then_left_alone(harm: str, redis_server: RedisServer) -> None:
    getattr(redis_server, harm)()
    before = send.failures
    assert send.verify("titem") is False
    assert send.broker.open()
    assert send.verify("titem") is False
    assert send.failures == before + 1


def test_recovered_broker_is_used_again(redis_server: RedisServer) -> None:
    redis_server.kill()
    send.sweep()
    redis_server.start()
    send.broker.reset()
    send.sweep()
    assert len(queued(redis_server.client(2))) == 1


def test_readers_of_a_cold_mirror_send_one_sweep_task(broker: Redis, timings: Timings) -> None:
    timings(SWEEP_REQUEST_SECONDS=3600.0)
    send.sweep_requests.reset()
    for _ in range(5):
        send.sweep_soon()
    assert len(queued(broker)) == 1


@pytest.fixture
def eager() -> Iterator[None]:
    load_tasks()
    current_app.conf.update(task_always_eager=True, task_eager_propagates=True)
    yield
    current_app.conf.update(task_always_eager=False, task_eager_propagates=False)


@pytest.mark.usefixtures("eager", "committed")
def test_eager_tasks_run_in_this_process_and_not_at_the_broker(broker: Redis, redis_server: RedisServer) -> None:
    make_cold("titem", relay_client())
    assert not is_warm(relay_client(), "titem")
    assert send.rebuild("titem")
    assert is_warm(relay_client(), "titem")
    assert not send.is_rebuild_waiting("titem")
    assert queued(broker) == []
    redis_server.kill()
    assert send.task("common.tasks.no_such_task") is False


@pytest.mark.usefixtures("eager", "committed")
def test_tasks_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[bool] = []
    # Loading runs all system checks.
    monkeypatch.setattr(current_app.loader, "import_default_modules", lambda: loaded.append(True))
    assert send.rebuild("titem")
    assert loaded == []


@pytest.mark.usefixtures("eager", "committed")
def test_failure_of_an_eager_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert send.rebuild("no_such_mirror") is False
    assert "The task mirror.tasks.rebuild failed" in caplog.text


@pytest.mark.usefixtures("eager", "committed")
def test_with_eager_tasks_a_write_reaches_redis_without_a_worker(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "DRAIN": "worker"}
    rebuild.rebuild(["titem"])
    item = Item.objects.create(name="eager")
    raw = client().get(f"titem:{item.pk}")  # no reader, for which SQL would answer
    assert raw
    assert json.loads(raw)["name"] == "eager"
