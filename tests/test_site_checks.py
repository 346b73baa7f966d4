"""System checks warn about settings that are dangerous in production, and about nothing else."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.core.checks import CheckMessage, run_checks
from pytest_django.fixtures import Settings

from tests.support.servers import RedisServer
from tests.support.timeouts import dead, hung


def found(*, deploy: bool = False) -> set[str]:
    messages: list[CheckMessage] = run_checks(tags=["redis"], include_deployment_checks=deploy)
    return {str(message.id) for message in messages}


def test_servers_of_the_demo_pass(redis_server: RedisServer) -> None:
    assert found() == set()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("maxmemory-policy", "allkeys-lru", "site.W003"),
        ("appendonly", "no", "site.W004"),
        ("zset-max-ziplist-entries", "128", "social.W001"),
    ],
)
def test_dangerous_option_of_the_state_server_is_reported(
    redis_server: RedisServer, option: str, value: str, told: str
) -> None:
    redis_server.client().config_set(option, value)
    assert found() == {told}


@pytest.mark.parametrize("harm", [dead, hung])
def test_checks_pass_without_redis(
    redis_server: RedisServer, harm: Callable[[RedisServer], AbstractContextManager[None]]
) -> None:
    with harm(redis_server):
        assert found() == set()


@pytest.mark.parametrize(
    ("cache", "broker"),
    [
        ("redis://localhost:7777/0", "redis://127.0.0.1:7777/2"),
        ("redis://127.0.0.1:7777/1", "redis://localhost:7777"),
        ("redis://127.0.0.1:7777/2", "redis://127.0.0.1:7777/2"),
    ],
)
def test_sharing_a_database_is_an_error(settings: Settings, cache: str, broker: str) -> None:
    point_at(settings, "redis://127.0.0.1:7777/0", cache, broker)
    assert found() == {"site.E001"}


def test_sharing_a_server_is_a_warning_in_production(settings: Settings) -> None:
    point_at(settings, "unix:///a?db=0", "unix:///a?db=1", "redis+socket:///a?virtual_host=2")
    assert found() == set()
    assert found(deploy=True) == {"site.W002"}


def test_uncounted_or_missing_proxy_is_reported(settings: Settings) -> None:
    def told() -> set[str]:
        return {str(message.id) for message in run_checks(tags=["security"], include_deployment_checks=True)}

    settings.IS_HTTPS = True
    proxies = {"site.W008", "site.W012"}
    assert told() & proxies == {"site.W008"}
    settings.PROXY_COUNT = 1
    assert told() & proxies == set()
    settings.PROXY_COUNT, settings.IS_HTTPS = 0, False
    assert told() & proxies == {"site.W012"}


@pytest.mark.parametrize(("is_required", "told"), [(True, set()), (False, {"site.W009"})])
def test_optional_second_factor_for_staff_is_reported(settings: Settings, is_required: bool, told: set[str]) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = is_required
    found = {str(message.id) for message in run_checks(tags=["security"], include_deployment_checks=True)}
    assert found & {"site.W009"} == told


def point_at(settings: Settings, state: str, cache: str, broker: str) -> None:
    settings.CACHES = {
        alias: {**one, "LOCATION": cache if alias == "default" else state} for alias, one in settings.CACHES.items()
    }
    settings.CELERY_BROKER_URL = broker
