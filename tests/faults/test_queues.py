"""Queues stay short while no worker takes their tasks, and rebuilds do not stand behind other tasks."""

import shlex
from collections.abc import Sequence

import orjson
from celery import current_app
from redis import Redis

from config.metrics.collector import list_queues
from mirror.relay import send
from mirror.relay.waiting import MAX_READ
from mirror.upkeep import sweeper
from tests.support.deploy.files import read_procfile
from tests.support.faults.crew import Crew
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until
from tools.devserver import runner

ROUNDS = 5
SWEEP = ("mirror.tasks.sweep", "()")


def read_queue(broker: Redis, queue: str) -> list[tuple[str, str]]:
    """Return name and arguments of each task in a queue."""
    headers = (orjson.loads(message)["headers"] for message in broker.lrange(queue, 0, -1))
    return [(header["task"], header["argsrepr"]) for header in headers]


def find_queues(command: Sequence[str]) -> list[str]:
    """Return the queues of a worker's command."""
    return command[command.index("--queues") + 1].split(",") if "--queues" in command else []


def test_the_workers_of_the_procfile_and_of_the_demo_take_every_queue() -> None:
    taken = [queue for command in read_procfile().values() for queue in find_queues(command)]
    assert sorted(taken) == list_queues()  # each by one worker
    assert sorted(find_queues(shlex.split(runner.WORKER))) == list_queues()


def test_queues_stay_bounded_while_their_workers_are_away(
    transactional_db: None, broker_server: RedisServer, crew: Crew
) -> None:
    crew.beat()
    with broker_server.client(2) as broker:
        for _ in range(ROUNDS):
            # The test is the only worker, and takes nothing but sweeps.
            wait_until(lambda: SWEEP in read_queue(broker, "relay"), "a sweep by beat")
            broker.delete("relay")
            sweeper.sweep()
        found = {queue: read_queue(broker, queue) for queue in ("rebuild", "default")}
    for tasks in found.values():
        assert len(tasks) == len(set(tasks)) > 1


def test_a_long_queue_takes_no_regular_tasks(broker_server: RedisServer) -> None:
    with broker_server.client(2) as broker:
        for number in range(MAX_READ + 1):
            send.task("accounts.tasks.send_letter", args=(number,))
        assert send.is_waiting("shop.tasks.settle")
        broker.lpop("default")
        assert not send.is_waiting("shop.tasks.settle")
        assert send.is_waiting("accounts.tasks.send_letter", (1,))


def test_a_rebuild_does_not_stand_behind_letters(broker_server: RedisServer) -> None:
    for number in range(10):
        send.task("accounts.tasks.send_letter", args=(number,))
    assert send.rebuild("titem")
    taken = list[str]()
    with current_app.connection_for_read() as connection:
        queues = [current_app.amqp.queues[name] for name in ("rebuild", "default")]
        with connection.Consumer(queues, callbacks=[lambda body, message: taken.append(message.headers["task"])]):
            for _ in queues:
                connection.drain_events(timeout=PATIENCE_SECONDS)
    assert "mirror.tasks.rebuild" in taken
