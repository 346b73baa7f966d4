"""The health endpoints ``/healthz`` and ``/readyz``."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import keys
from accounts.models import User
from mirror.admin import read_overview
from mirror.models import Change
from mirror.redis.clients import breaker
from mirror.redis.clients import client as state_client
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.visits import restore as restore_visits
from tests.projects.mirrortest.visits import look, pages
from tests.support.faults.full import full_disk, full_memory
from tests.support.servers import RedisServer
from tests.support.warm_mirrors import ALL, rebuild


def test_healthz_uses_neither_redis_nor_sql(client: Client) -> None:
    with record() as seen:
        response = client.get("/healthz")
    assert response.status_code == 200
    assert (seen.commands, seen.sql) == ([], [])


@pytest.mark.django_db
def test_readyz_reports_that_redis_and_sql_answer(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["redis"] is True
    assert response.json()["sql"] is True


TOKEN = "a token of the monitoring"


@pytest.fixture
def monitor(settings: Settings) -> Client:
    """Return a client with the token of the monitoring."""
    settings.STATUS_TOKEN = TOKEN
    return Client(headers={"authorization": f"Bearer {TOKEN}"})


@pytest.mark.django_db
def test_anonymous_visitors_see_no_names_or_numbers(client: Client, settings: Settings) -> None:
    waiting = Change.objects.create(mirror="titem", key="1")
    Change.objects.create(mirror="titem", key="2", quarantined_at=waiting.created_at)
    for token in ("", TOKEN):
        settings.STATUS_TOKEN = token
        for headers in ({}, {"authorization": "Bearer "}, {"authorization": "Bearer another"}):
            response = client.get("/readyz", headers=headers)
            assert set(response.json()) == {"status", "sql", "redis", "degraded"}
            assert set(response.json()["degraded"]) == {"cold", "quarantined", "unrestored"}


@pytest.mark.django_db
def test_staff_see_all_details_and_readers_do_not(client: Client) -> None:
    user = User.objects.create_user("alice")
    client.force_login(user)
    assert "mirrors" not in client.get("/readyz").json()
    User.objects.filter(pk=user.pk).update(is_staff=True)
    assert "titem" in client.get("/readyz").json()["mirrors"]


@pytest.mark.django_db
def test_readyz_names_each_cold_mirror(monitor: Client) -> None:
    found = monitor.get("/readyz").json()
    assert found["mirrors"]["titem"]["warm"] is False
    assert found["status"] == "degraded"
    assert "cold:titem" in found["degraded"]


@pytest.mark.django_db
@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_site_is_ready_but_degraded_without_redis(client: Client, redis_server: RedisServer, harm: str) -> None:
    getattr(redis_server, harm)()
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["redis"] is False
    assert "redis" in response.json()["degraded"]


@pytest.mark.django_db
def test_readyz_counts_pending_and_quarantined_changes(monitor: Client) -> None:
    waiting = Change.objects.create(mirror="titem", key="1")
    Change.objects.create(mirror="titem", key="2", quarantined_at=waiting.created_at)
    found = monitor.get("/readyz").json()
    assert (found["pending"], found["quarantined"]) == (1, 1)
    assert "quarantined" in found["degraded"]


@pytest.mark.django_db
def test_readyz_names_visits_that_are_late_or_not_restored(monitor: Client, redis: Redis) -> None:
    look(redis, "a")
    found = monitor.get("/readyz").json()
    assert found["visits"]["tpage"]["waiting"] == 1
    assert "unrestored:tpage" in found["degraded"]
    assert "unsaved:tpage" not in found["degraded"]
    restore_visits(pages)
    redis.delete(pages.keys[0])
    redis.xadd(pages.keys[0], {"page": "a", "at": 1}, id="1-0")
    found = monitor.get("/readyz").json()
    assert "unsaved:tpage" in found["degraded"]
    assert "unrestored:tpage" not in found["degraded"]


def test_site_is_not_ready_without_sql(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**options: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr("config.health.statuses", away)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["degraded"] == ["sql"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fill", [full_memory, full_disk])
def test_refused_writes_are_reported_while_reads_are_answered(
    fill: Callable[[RedisServer], AbstractContextManager[None]], monitor: Client, redis_server: RedisServer
) -> None:
    """Writes of the site go to SQL, and appear in Redis when it accepts them again."""
    rebuild(ALL)
    with fill(redis_server):
        found = monitor.get("/readyz").json()
        assert (found["redis"], "redis_writes" in found["degraded"]) == (True, True)
        metrics = monitor.get("/metrics").content.decode()
        assert 'diptych_redis_writable{server="state"} 0.0' in metrics
        assert 'diptych_redis_up{server="state"} 1.0' in metrics
        assert read_overview().headline == "Red: changes do not arrive in Redis, so pages may show old data"
        assert "Redis refuses writes" in read_overview().reasons[0].text
        user = User.objects.create_user("alice")
        assert state_client().exists(keys.login(user.pk)) == 0
    breaker.reset()
    assert "redis_writes" not in monitor.get("/readyz").json()["degraded"]
    drain_all()
    assert state_client().exists(keys.login(user.pk)) == 1
