"""Configuration and fixtures for all tests.

    python -m pytest                       on SQLite (a file, so that threads and processes share it)
    python -m pytest --on postgres         on a private PostgreSQL
    python -m pytest --redis cluster       with the state on a private Redis Cluster
    python -m pytest --suite postgres      the tests of one suite of ``make test``: postgres, sqlite or cluster
    python -m pytest -n 2 tests/mirror     in two processes, each with its own database and Redis

On import, this module starts a real Redis (and PostgreSQL) and sets the environment accordingly; only then does Django
read its settings. Child processes of a test inherit the same servers; pass ``env=environment`` so that they also use
the test database.

Fixtures
    redis           a client of the state database (bytes, not recorded). Every test starts with an
                    empty Redis, an empty outbox, a closed breaker and a fresh database identity.
    server          the RedisServer of this process. Other tests share it: do not kill or freeze it.
    redis_server    a *second* server for this test alone, used for state, cache and broker.
                    Kill it, freeze it, empty it, or restore older data.
    postgres, sqlite    True when the tests run on it (the marker only_on selects tests).
    timings         timings(LEASE_SECONDS=1.0) replaces durations that are constants of ``mirror``.
    environment     environment variables for child processes that use the test database.

Commits are real only under ``@pytest.mark.django_db(transaction=True)``. Any other test runs in one transaction that is
rolled back, and ``on_commit`` does not run.
"""

import atexit
import fcntl
import gc
import os
import re
import secrets
import shutil
import sys
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings as django_settings

from common.database.request_priority import hold_file_lock
from tests.support import suites
from tests.support.database import FOLDER
from tests.support.servers import PostgresServer, find_postgres, temporary_folder
from tests.support.servers.cluster import STATE, main_cluster
from tests.support.servers.redis import main_server

# The duration of an example depends on the load of the machine.
hypothesis.settings.register_profile("diptych", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("diptych")
IS_CONTROLLER = "PYTEST_XDIST_WORKER" not in os.environ and re.search(r"(^| )-n ?[^0 ]", " ".join(sys.argv)) is not None
ON = "DIPTYCH_TESTS_ON"  # tells the workers of xdist that the first process has started PostgreSQL


def _asked_for(option: str, arguments: list[str], default: str) -> str:
    """Return the value of an option that is needed before pytest parses the command line."""
    for i, argument in enumerate(arguments):
        if argument == option:
            return arguments[i + 1] if i + 1 < len(arguments) else ""
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return default


def _start_database(kind: str, folder: Path) -> PostgresServer | None:
    if kind == "postgres":
        if ON in os.environ:
            return None
        if find_postgres() is None:
            pytest.exit("--on postgres: PostgreSQL is not installed", returncode=4)
        postgres = PostgresServer().start()
        os.environ["DATABASE_URL"] = postgres.url("diptych")
        os.environ[ON] = kind
        return postgres
    os.environ["DATABASE_URL"] = f"sqlite:///{folder / 'unused.sqlite3'}"
    return None


if FOLDER not in os.environ:
    os.environ[FOLDER] = str(temporary_folder())
    atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
_folder = Path(os.environ[FOLDER])
_suite = _asked_for("--suite", sys.argv, "")
_on, _kind = suites.SERVERS_OF.get(_suite, ("sqlite", "single"))
_database = _asked_for("--on", sys.argv, os.environ.get(ON, _on))
state = os.environ[STATE] = _asked_for("--redis", sys.argv, os.environ.get(STATE, _kind))
_postgres = _start_database(_database, _folder)
_redis = main_server()
os.environ.update(_redis.environment())
if state == "cluster" and not IS_CONTROLLER:
    os.environ["REDIS_URL"] = main_cluster().url
os.environ["REDIS_PREFIX"] = f"t{secrets.token_hex(3)}:"
if django_settings.configured:
    raise pytest.UsageError("the tests choose their settings: unset DJANGO_SETTINGS_MODULE")
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.patient_settings"
# Playwright runs an event loop, so Django's async-safety checks would fail tests that drive a browser.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

import django

from tools import messages

messages.compile_all()
django.setup()
gc.disable()  # until all tests are imported: most of these objects stay
del os.environ["DJANGO_SETTINGS_MODULE"]  # the workers of xdist inherit this environment

if _database == "sqlite":
    django_settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(_folder / "test.sqlite3")

from tests.support import crossing, fast_hashing, flush, page_contexts, real_data, reruns
from tests.support.fixtures import (
    django_db_setup,
    environment,
    fresh,
    patient,
    postgres,
    redis,
    redis_server,
    server,
    short_timeouts,
    sqlite,
    timings,
)

flush.install()
fast_hashing.install()
page_contexts.install()
if state == "cluster":
    crossing.install()

__all__ = [
    "django_db_setup",
    "environment",
    "fresh",
    "patient",
    "postgres",
    "redis",
    "redis_server",
    "server",
    "short_timeouts",
    "sqlite",
    "timings",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--on", choices=["sqlite", "postgres"], default=_database, help="which database")
    parser.addoption("--suite", choices=list(suites.SERVERS_OF), help="only the tests of this suite, on its servers")
    parser.addoption("--redis", choices=["single", "cluster"], default=state, help="which kind of server has the state")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--on") != _database:
        raise pytest.UsageError("give --on on the command line itself")
    suite = config.getoption("--suite")
    if suite and suites.SERVERS_OF[suite] != (_database, state):
        raise pytest.UsageError("give --suite on the command line itself, without --on and --redis")
    config.pluginmanager.register(real_data.Plugin())


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not import the modules that have no test of the suite, unless they are named on the command line."""
    return None if suites.may_have_tests(collection_path, _suite) else True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let one process import the test modules first: in a fresh clone it compiles them for the others."""
    if IS_CONTROLLER:  # its workers collect
        return (yield)
    with ExitStack() as stack:
        try:
            stack.enter_context(hold_file_lock(_folder / "collecting", fcntl.LOCK_EX | fcntl.LOCK_NB))
        except BlockingIOError:
            stack.enter_context(hold_file_lock(_folder / "collecting", fcntl.LOCK_SH))
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that do not apply to the servers, and with ``--suite`` those of other suites."""
    suite = config.getoption("--suite")
    left_out = {
        item
        for item in items
        if not suites.applies_to(item, {_database, state}) or (suite and not suites.belongs_to(item, suite))
    }
    config.hook.pytest_deselected(items=[*left_out])
    kept = [item for item in items if item not in left_out]
    reruns.mark(kept)
    # Slow tests run first, so that no process is left alone with one at the end.
    items[:] = sorted(kept, key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> int:
    """Return the approximate duration of a test marked as slow, in seconds, otherwise 0."""
    marker = item.get_closest_marker("slow")
    return (marker.args or (10,))[0] if marker else 0


def pytest_collection_finish() -> None:
    """Exclude all present objects from garbage collection, and collect later ones less often: that saves a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report reruns. With CI set, a skipped test fails the run."""
    reruns.report(session)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped") and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("CI is set, and tests were skipped", red=True)


def pytest_report_header() -> str:
    return f"on {_database}, {_redis.binary} {_redis.folder}"
