"""Sending a task never fails, and an unreachable broker is left alone after the first attempt."""

import json
from base64 import b64decode
from typing import Any

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.relay import send
from tests.support.servers import RedisServer


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
    assert send.flush_backup("tbest")
    assert send.restore_backup("tbest")
    assert send.verify_backup("tbest")
    assert queued(broker) == [
        ("mirror.tasks.drain_keys", ["titem", ["1", "2"]], {}),
        ("mirror.tasks.sweep", [], {}),
        ("mirror.tasks.rebuild", ["titem"], {"if_cold": True}),
        ("mirror.tasks.rebuild", ["titem"], {"if_cold": False}),
        ("mirror.tasks.verify", ["titem"], {}),
        ("mirror.tasks.flush_backup", ["tbest"], {}),
        ("mirror.tasks.restore_backup", ["tbest"], {}),
        ("mirror.tasks.verify_backup", ["tbest"], {}),
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


def test_readers_of_a_cold_mirror_send_one_sweep_task(broker: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "SWEEP_REQUEST_SECONDS": 3600.0}
    send.sweep_requests.reset()
    for _ in range(5):
        send.sweep_soon()
    assert len(queued(broker)) == 1
