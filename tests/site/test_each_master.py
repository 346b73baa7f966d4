"""On a Redis Cluster the checks, the doctor and the metrics ask every master."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.checks import run_checks
from redis import Redis

from mirror import doctor
from mirror.redis import client
from mirror.status import accepts_writes
from tests.support.servers.cluster import main_cluster
from tests.support.site.metrics import scrape

pytestmark = [pytest.mark.only_on("cluster"), pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture(params=range(3))
def master(request: pytest.FixtureRequest) -> Redis:
    """Return a client of one of the masters."""
    return main_cluster().clients[request.param]


def address(master: Redis) -> str:
    return f"127.0.0.1:{master.config_get('port')['port']}"


@contextmanager
def configured(master: Redis, option: str, value: str) -> Iterator[None]:
    """Change an option of the master during the block."""
    old = str(master.config_get(option)[option])
    master.config_set(option, value)
    try:
        yield
    finally:
        master.config_set(option, old)


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("maxmemory-policy", "allkeys-lru", "site.W003"),
        ("appendonly", "no", "site.W004"),
        ("zset-max-ziplist-entries", "128", "social.W001"),
    ],
)
def test_dangerous_option_of_any_master_is_reported(master: Redis, option: str, value: str, expected: str) -> None:
    assert run_checks(tags=["redis"]) == []
    with configured(master, option, value):
        [found] = run_checks(tags=["redis"])
    assert (found.id, found.msg.startswith(f"{address(master)}: ")) == (expected, True)


def test_doctor_names_the_master_that_evicts_keys(master: Redis) -> None:
    def find() -> list[str]:
        return [found.msg for found in doctor.examine() if found.id == "mirror.E039"]

    assert find() == []
    with configured(master, "maxmemory-policy", "allkeys-lru"):
        [text] = find()
    assert text.startswith(f"{address(master)}: ")


def test_full_master_is_reported(master: Redis) -> None:
    assert accepts_writes(client())
    with configured(master, "maxmemory", "1"):
        assert not accepts_writes(client())
        assert scrape()['diptych_redis_writable{server="state"}'] == 0


def test_metrics_list_every_master() -> None:
    samples = scrape()
    for one in main_cluster().clients:
        assert samples[f'diptych_redis_up{{server="state {address(one)}"}}'] == 1
        assert samples[f'diptych_redis_memory_bytes{{server="state {address(one)}"}}'] > 0
    assert samples['diptych_redis_writable{server="state"}'] == 1
