"""A state server behind Redis Sentinel: after a failover the new master gets what it lacks, and nothing is lost."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from redis.exceptions import RedisError

from mirror.doctor.settings import check_settings
from mirror.redis import SentinelPool
from mirror.redis.clients import client, relay_client
from mirror.relay import drains
from mirror.upkeep import rebuild, sweeper
from mirror.verify import runs
from mirror.warm import marker
from tests.mirror.sentinels import SERVICE, SupervisedRedis
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Item
from tests.support.servers import wait_until
from tests.support.warm_mirrors import OWN

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow(15),
    pytest.mark.usefixtures("committed", "no_hints"),
    pytest.mark.only_on("single"),
]  # after a loss a cluster is rebuilt instead of replayed
ALIAS = "supervised"


@pytest.fixture
def supervised(settings: Any) -> Iterator[SupervisedRedis]:
    """Start the servers and the sentinels, and let the mirrors use them."""
    with SupervisedRedis() as made:
        settings.CACHES = {
            **settings.CACHES,
            ALIAS: {
                "BACKEND": "django_redis.cache.RedisCache",
                "LOCATION": f"redis://{SERVICE}/0",
                "OPTIONS": {
                    "CONNECTION_FACTORY": "mirror.redis.SentinelPoolFactory",
                    "CONNECTION_POOL_CLASS": "mirror.redis.SentinelPool",
                    "SENTINELS": [("127.0.0.1", each.port) for each in made.sentinels],
                    "SOCKET_TIMEOUT": 1.0,
                    "SOCKET_CONNECT_TIMEOUT": 1.0,
                },
            },
        }
        settings.MIRROR = {**settings.MIRROR, "ALIAS": ALIAS, "RELAY_ALIAS": ALIAS}
        yield made
        caches[ALIAS].close()


def answers() -> bool:
    try:
        return bool(client().ping())
    except RedisError:
        return False


def test_mirrors_follow_the_master(supervised: SupervisedRedis) -> None:
    assert [message.id for message in check_settings() if message.id != "mirror.W032"] == []
    assert type(client().connection_pool) is SentinelPool  # also for the keys of a test, which have a prefix
    rebuild.rebuild(OWN)
    item = Item.objects.create(name="before")
    drains.drain_all()
    assert marker.is_warm(client(), "titem")
    supervised.servers[0].kill()
    Item.objects.filter(pk=item.pk).update(name="meanwhile")
    found = ItemMirror.get(item.pk)  # the connection is gone, so SQL answers
    assert found
    assert found["name"] == "meanwhile"
    wait_until(lambda: {each.find_master() for each in supervised.sentinels} == {supervised.ports[1]}, "a failover")
    wait_until(answers, "an answer of the new master")
    sweeper.run_sweep(relay_client())
    rebuild.rebuild([name for name in OWN if not marker.is_warm(relay_client(), name)])
    drains.drain_all()
    assert supervised.servers[1].client().exists(f"titem:{item.pk}")
    assert ItemMirror.get(item.pk) == {**found, "name": "meanwhile"}
    assert runs.verify(OWN) == []
    supervised.servers[0].start()
    wait_until(lambda: is_replica(supervised), "the former master follows the new one")
    assert ItemMirror.get(item.pk) == {**found, "name": "meanwhile"}


def is_replica(supervised: SupervisedRedis) -> bool:
    with supervised.servers[0].plain_client() as redis:
        return bool(redis.info("replication")["role"] == "slave")
