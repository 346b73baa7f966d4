"""A Redis that evicts keys is noticed: SQL answers, and every mirror is rebuilt."""

from collections.abc import Iterator

import pytest
from redis import Redis

from mirror.redis.clients import relay_client
from mirror.upkeep import rebuild, sweeper
from mirror.warm import marker
from tests.projects.mirrortest.models import Item
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.only_on("single")]


@pytest.fixture
def limit(redis: Redis) -> Iterator[None]:
    """Give the server a limit, which a test may reach, and restore its configuration."""
    before = redis.config_get("maxmemory*")
    redis.config_set("maxmemory", redis.info("memory")["used_memory"] + 200_000)
    yield
    for name in ("maxmemory", "maxmemory-policy"):
        redis.config_set(name, str(before[name]))
    redis.config_resetstat()  # later tests share the server, and would take its number of evicted keys for new


def evict(redis: Redis, policy: str, ex: int | None = None) -> None:
    """Write keys until the server evicts some. Those of the mirrors remain, as if readers had used them."""
    kept = {name: redis.dump(name) or b"" for name in redis.keys("*")}
    redis.config_set("maxmemory-policy", policy)
    before = redis.info("stats")["evicted_keys"]
    number = 0
    while redis.info("stats")["evicted_keys"] == before:
        redis.set(f"foreign:{number}", "x" * 10_000, ex=ex)
        number += 1
    redis.config_set("maxmemory", 0)
    for name, value in kept.items():
        redis.restore(name, 0, value, replace=True)
    redis.delete(*[f"foreign:{n}" for n in range(number)])


def is_warm() -> bool:
    return marker.is_warm(relay_client(), "titem")


def test_eviction_leads_to_one_rebuild(limit: None, redis: Redis) -> None:
    Item.objects.create(name="a")
    world.warm_own()
    evict(redis, "allkeys-random")
    assert is_warm()
    sweeper.sweep()
    assert not is_warm()
    rebuild.rebuild_if_cold("titem")
    sweeper.sweep()
    assert is_warm()


def test_eviction_of_keys_that_expire_is_no_loss(limit: None, redis: Redis) -> None:
    world.warm_own()
    evict(redis, "volatile-random", ex=1000)
    sweeper.sweep()
    assert is_warm()
