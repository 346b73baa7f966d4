"""Servers with the files of ``deploy/redis`` keep everything over a restart; a loss by other rights is detected.

While a server loads its append-only file, it executes transactions as the user "default", and drops those that this
user may not execute.
"""

from collections.abc import Iterator

import pytest
from kombu.connection import Connection
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import AuthenticationError, ResponseError

from mirror import registry
from mirror.models import State
from mirror.redis.clients import client, relay_client
from mirror.upkeep import sweeper
from mirror.visits import consume
from mirror.warm import marker
from tests.projects.mirrortest.models import Item, Visited
from tests.projects.mirrortest.visits import look, pages
from tests.support.faults.tools import Storm, assert_exact, is_at_rest
from tests.support.fixtures import use_redis
from tests.support.killed import Killed, before
from tests.support.mirror import world
from tests.support.servers.shipped import ShippedServer
from tests.support.timeouts import ShortTimeouts

NO_RIGHTS = "user default off"
TASKS = 10


@pytest.fixture(params=[""])
def redis_server(
    settings: Settings, short_timeouts: ShortTimeouts, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[ShippedServer]:
    """Use the state server of ``deploy/`` instead of the tests' own. param: replaces the rights of "default"."""
    server = ShippedServer("state", default_user=request.param)
    with server, use_redis(server, settings, monkeypatch):
        yield server


@pytest.fixture
def storm(still: list[Item], redis_server: ShippedServer) -> Storm:
    """Write in many transactions after the server rewrote its file."""
    storm = Storm(seed=36)
    storm.create()
    world.rest()
    redis_server.rewrite_aof()
    for write in (storm.create, storm.update, storm.link, storm.follow, storm.rename, storm.delete):
        write()
        sweeper.sweep()
    sweeper.sweep()
    assert is_at_rest()
    return storm


def list_warm() -> list[str]:
    return [mirror.name for mirror in registry.all_mirrors() if marker.is_warm(relay_client(), mirror.name)]


def read_rebuilt() -> dict[str, object]:
    return dict(State.objects.values_list("mirror", "rebuild_rows"))


def test_shipped_state_server_keeps_everything_over_a_restart(
    storm: Storm, redis_server: ShippedServer, state: Redis
) -> None:
    before, rebuilt = world.dump(state), read_rebuilt()
    redis_server.restart_cleanly()
    assert world.dump(state) == before
    sweeper.sweep()
    assert is_at_rest()
    assert_exact(state)
    assert read_rebuilt() == rebuilt


@pytest.mark.django_db(transaction=True)
def test_visits_of_a_killed_consumer_wait_over_a_restart(redis_server: ShippedServer) -> None:
    for page in "ab":
        look(client(), page)
    with pytest.raises(Killed):
        consume(pages, step=before("remove"))
    look(client(), "c")
    redis_server.restart_cleanly()
    assert consume(pages) == 3
    assert sorted(Visited.objects.values_list("page", flat=True)) == ["a", "b", "c"]


def test_strangers_are_refused(redis_server: ShippedServer) -> None:
    with Redis(port=redis_server.port) as stranger, pytest.raises(AuthenticationError):
        stranger.get("any")
    for password in ("", "any"):
        with Redis(port=redis_server.port) as stranger, pytest.raises((AuthenticationError, ResponseError)):
            stranger.execute_command("AUTH", "default", password)


@pytest.mark.parametrize("redis_server", [NO_RIGHTS], indirect=True)
def test_dropped_transactions_leave_no_mirror_warm_with_differences(
    storm: Storm, redis_server: ShippedServer, state: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    before = world.dump(state)
    redis_server.restart_cleanly()
    has_dropped = redis_server.drops_transactions
    assert (world.dump(state) != before) is has_dropped
    assert list_warm() == []
    sweeper.sweep()
    assert bool(list_warm()) is not has_dropped
    assert ("user default off ~* &* +@all" in caplog.text) is has_dropped
    world.rest()
    assert is_at_rest()
    assert_exact(state)


@pytest.mark.parametrize("default_user", ["", NO_RIGHTS])
def test_shipped_broker_keeps_running_and_waiting_tasks(default_user: str) -> None:
    with ShippedServer("broker", default_user=default_user) as server:
        server.rewrite_aof()
        with Connection(server.broker_url()) as broker:
            queue = broker.SimpleQueue("tasks")
            for number in range(TASKS):
                queue.put({"number": number})
            running = [queue.get(timeout=60) for _ in range(TASKS // 2)]
            server.stop()
        server.start()
        with server.plain_client(2) as client:
            found = client.llen("tasks") + client.hlen("unacked")
        is_lossy = default_user == NO_RIGHTS and server.drops_transactions
        assert (found == TASKS) is not is_lossy
        assert len(running) == TASKS // 2
