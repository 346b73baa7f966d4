"""``mirror doctor`` of the site also knows the cache, the broker, and how the servers are divided."""

import pytest
from pytest_django.fixtures import Settings

from config.metrics.doctor import check_site
from tests.support.faults.full import full_memory
from tests.support.servers import RedisServer


@pytest.fixture(autouse=True)
def _development(settings: Settings) -> None:
    """Leave out the checks of a deployment: state, cache and broker of the tests share a server."""
    settings.DEBUG = True


def ids() -> list[str | None]:
    return [message.id for message in check_site()]


def test_servers_of_the_tests_have_no_finding(redis_server: RedisServer) -> None:
    assert ids() == []


def test_deployment_checks_are_among_the_findings(redis_server: RedisServer, settings: Settings) -> None:
    settings.DEBUG = False
    assert ids() == ["site.W002"]


def test_cache_and_broker_that_are_away_are_named(redis_server: RedisServer) -> None:
    redis_server.kill()
    found = list(check_site())
    assert [message.id for message in found] == ["site.W013", "site.E014"]
    assert "CACHE_URL" in str(found[0].hint)
    assert "CELERY_BROKER_URL" in str(found[1].hint)


def test_full_broker_is_named(redis_server: RedisServer) -> None:
    with full_memory(redis_server):
        assert ids() == ["site.E015"]


def test_one_database_for_cache_and_state_is_named(redis_server: RedisServer, settings: Settings) -> None:
    state = settings.CACHES["state"]["LOCATION"]
    settings.CACHES = {alias: {**cache, "LOCATION": state} for alias, cache in settings.CACHES.items()}
    (found,) = check_site()
    assert found.id == "site.E001"
    assert "CACHE_URL" in found.msg


def test_evicting_state_is_told_by_the_doctor_alone(redis_server: RedisServer) -> None:
    redis_server.client().config_set("maxmemory-policy", "allkeys-lru")
    assert ids() == []
