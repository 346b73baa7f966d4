"""Redis crashes and returns: SQL answers meanwhile, and afterwards Redis becomes correct automatically."""

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror.conf import setting
from mirror.models import Change
from mirror.redis import naming
from mirror.redis.clients import breaker
from mirror.upkeep import sweeper
from tests.projects.mirrortest.models import Item
from tests.support.faults.crew import Crew
from tests.support.faults.tools import Storm, Watcher, again_and_again, assert_comes_to_rest
from tests.support.servers import RedisServer, wait_until


@pytest.fixture(autouse=True)
def own_patience(settings: Settings) -> None:
    """Give this process the site's breaker time, so that it notices by itself when Redis returns."""
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 1.0}


@pytest.mark.slow
def test_redis_recovers_from_a_crash_under_load(
    still: list[Item], crew: Crew, redis_server: RedisServer, state: Redis
) -> None:
    crew.worker()
    crew.beat()
    watcher, storm = Watcher(still), Storm(seed=5)
    storm.create()
    with again_and_again(watcher.look, storm.blow):
        wait_until(lambda: state.exists(naming.clock()), "the first sweep")
        watcher.sees_redis()
        redis_server.kill()
        watcher.sees_sql()
        redis_server.start()
        watcher.sees_redis()
    breaker.reset()
    assert_comes_to_rest(state)


def test_writes_without_redis_reach_it_after_its_return(
    still: list[Item], redis_server: RedisServer, crew: Crew, state: Redis
) -> None:
    watcher = Watcher(still)
    redis_server.kill()
    for n in range(3):
        Item.objects.create(name=f"saved while Redis was gone {n}")
    Storm(seed=6).create()
    watcher.look()
    assert (watcher.by_redis, watcher.by_sql) == (0, 1)
    redis_server.start()
    crew.worker()
    crew.beat()
    assert_comes_to_rest(state)
    watcher.look()
    assert watcher.by_redis == 1


def test_full_redis_quarantines_no_change(still: list[Item], crew: Crew, state: Redis) -> None:
    """Changes stay pending however often they are tried."""
    state.config_set("maxmemory", 1)
    Storm(seed=12).create()
    for _ in range(2 * int(setting("ATTEMPTS"))):
        sweeper.sweep()
    assert Change.objects.pending().exists()
    assert not Change.objects.quarantined().exists()
    state.config_set("maxmemory", 0)
    crew.worker()
    crew.beat()
    assert_comes_to_rest(state)
