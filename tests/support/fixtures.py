"""Fixtures for all tests; ``conftest.py`` describes them."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime

import kombu.pools
import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone, translation
from django_redis.pool import ConnectionFactory
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings
from redis import Redis

from accounts import ratelimit
from accounts.mail import outgoing
from config.celery import app
from loginlog import days, hooks
from loginlog.storage import numbers
from mirror.capture import install
from mirror.models import Change, Identity, State
from mirror.outbox.identity import forget_identity
from mirror.read import doubt, local, replica
from mirror.redis.clients import breaker
from mirror.redis.keys import prefix
from mirror.relay import hints, send
from mirror.utils import failure_log
from mirror.warm import triggers
from mirror.windows import window
from shop.delivery.hints import forget_methods
from shop.pagecache import middleware, readers, store
from shop.selectors import sales
from social.timelines import home
from tests.support import crossing, database, flush, scripts
from tests.support.servers import PATIENCE_SECONDS, RedisServer
from tests.support.servers.cluster import MASTERS, has_cluster, main_cluster, open_state
from tests.support.servers.redis import main_server
from tests.support.timeouts import ShortTimeouts
from tests.support.timings import Timings

# So that each request asks Redis whether a stored page is current. Its own test uses the true value.
RECHECK_SECONDS = middleware.RECHECK_SECONDS
middleware.RECHECK_SECONDS = 0.0  # type: ignore[misc]
# So that the second visit of a page has the reads of the first.
readers.PLAN_SECONDS = 0.0  # type: ignore[misc]
# So that a copy applies no entries before the question that a test counts.
FOLLOW_IDLE_SECONDS = local.FOLLOW_IDLE_SECONDS
local.FOLLOW_IDLE_SECONDS = 0.0
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "environment"}


def _forget() -> None:
    """Clear everything that this process remembers about Redis and the database."""
    breaker.reset()
    doubt.database.reset()
    replica.breaker.reset()
    send.broker.reset()
    failure_log.reset_all()
    window.requests.reset()
    send.sweep_requests.reset()
    forget_identity()
    triggers.forget()
    store.clear_copies()
    readers.clear_caches()
    ratelimit._local_counters.clear()
    forget_methods()
    hints._due.__init__()  # type: ignore[misc]  # keys of rolled-back transactions count against the limit of hints
    # Keyed by ids, which SQLite assigns again after a rollback:
    for known in (home._pulled_authors, hooks.recent_marks, numbers.number_cache):
        known.clear()
    sales._last_shown = ([], [])


def _uses_database(request: pytest.FixtureRequest) -> bool:
    marked = request.node.get_closest_marker("django_db") is not None
    return marked or not DATABASE_FIXTURES.isdisjoint(request.fixturenames)


def _undrained() -> override_settings:
    """Return settings under which requests do not drain: changes that a test may roll back cannot be drained."""
    return override_settings(MIRROR={**settings.MIRROR, "BUDGET_SECONDS": 0.0})


def _one_day() -> override_settings:
    """Return settings with a clock that stops at midnight, so that no test crosses it."""
    began = timezone.now()

    def clock() -> datetime:
        now = timezone.now()
        is_same_day = now.date() == began.date() and days.day_of(now) == days.day_of(began)
        return now if is_same_day else began

    return override_settings(CLOCK=clock)


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Set up the test database; at the end check that every trigger is still installed."""
    with django_db_blocker.unblock():
        database.copy_migrated()
        with flush.keep_file_open():
            with django_db_blocker.block():
                yield
            assert install.missing() == []
            connection.close()


@pytest.fixture(autouse=True)
def fresh(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start each test with an empty Redis and an empty outbox.

    The flush after a transactional test fires the triggers and deletes the row of the database identity.
    """
    main_server().flush()
    scripts.load(main_server()._own)
    if has_cluster():
        main_cluster().flush()
        for master in main_cluster().clients[:MASTERS]:
            scripts.load(master)
    crossing.found.clear()
    _forget()
    undrained: AbstractContextManager[object] = nullcontext()
    submit = outgoing._executor.submit  # a test may replace it
    if _uses_database(request):
        request.getfixturevalue("db")
        Change.objects.all()._raw_delete(Change.objects.db)
        State.objects.all()._raw_delete(State.objects.db)
        Identity.objects.get_or_create(pk=1)
        if connection.in_atomic_block:
            undrained = _undrained()
    with _one_day(), undrained:
        yield
    # Without a broker this process sends emails itself; they must be sent before the next test counts emails.
    submit(int).result(PATIENCE_SECONDS)
    _forget()
    translation.deactivate()  # a request leaves its language active
    assert crossing.found == []


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """Extend durations of this process like the settings of ``tests.support.patient_settings``."""
    with pytest.MonkeyPatch.context() as patch:
        Timings(patch)(LEASE_SECONDS=3600.0, REPLICA_BREAKER_SECONDS=3600.0)
        yield


@pytest.fixture
def timings(monkeypatch: pytest.MonkeyPatch) -> Timings:
    """Return the function that replaces durations of ``mirror`` for this test."""
    return Timings(monkeypatch)


@pytest.fixture(scope="session")
def postgres() -> bool:
    """Return whether the tests run on PostgreSQL."""
    return connection.vendor == "postgresql"


@pytest.fixture(scope="session")
def sqlite() -> bool:
    """Return whether the tests run on SQLite."""
    return connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def server() -> RedisServer:
    """Return the Redis server that all tests of this process share."""
    return main_server()


@pytest.fixture
def redis(server: RedisServer) -> Iterator[Redis]:
    """Yield a client of the shared server's state database; the recorder does not see its commands."""
    with open_state() as client:
        yield client


@pytest.fixture
def short_timeouts(settings: Settings) -> ShortTimeouts:
    """Return an object that sets this process's time-outs to the site's while a server of the test is frozen."""
    return ShortTimeouts(settings)


@pytest.fixture
def redis_server(
    settings: Settings, short_timeouts: ShortTimeouts, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RedisServer]:
    """Start a Redis server for this test alone and use it for state, cache and broker."""
    with RedisServer(on_hang=short_timeouts) as mine, use_redis(mine, settings, monkeypatch):
        yield mine


@contextmanager
def use_redis(server: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process and its children use a server for state, cache and broker during the block."""
    broker = os.environ["CELERY_BROKER_URL"]
    for name, url in server.environment().items():
        monkeypatch.setenv(name, url)
    settings.CACHES = {
        alias: {**cache, "LOCATION": server.url(1 if alias == "default" else 0)}
        for alias, cache in settings.CACHES.items()
    }
    use_broker(server.broker_url())
    scripts.load(server._own)
    _forget()
    yield
    server.thaw()
    use_broker(broker)
    for url in [url for url in list(ConnectionFactory._pools) if server.address in url]:  # tests may add pools
        ConnectionFactory._pools.pop(url).disconnect()


def use_broker(url: str) -> None:
    """Make this process send its tasks to the broker at ``url``."""
    kombu.pools.reset()
    os.environ["CELERY_BROKER_URL"] = url  # Celery reads this before its settings
    app._after_fork()  # drops the connection pools, as in a new process


@pytest.fixture
def environment(transactional_db: None, django_db_blocker: DjangoDbBlocker) -> dict[str, str]:
    """Return the environment for child processes that work on the test database; commits are real."""
    name = connection.settings_dict["NAME"]
    url = f"sqlite:///{name}"
    if connection.vendor == "postgresql":
        url = os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    return {
        **os.environ,
        "DATABASE_URL": url,
        "REDIS_PREFIX": prefix.current(),  # a child cannot read the test's prefix from its own settings
        "DJANGO_SETTINGS_MODULE": "tests.support.settings",
    }
