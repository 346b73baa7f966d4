"""What every test finds ready, and how tests are run.

    python -m pytest                       on SQLite (a file, so that threads and processes share it)
    python -m pytest --on postgres         on a private PostgreSQL
    python -m pytest -n 2 tests/mirror     in two processes, each with a database and a Redis of its own

This module starts a real Redis (and PostgreSQL) as it is imported, points the environment at it, and only
then lets Django read its settings. Child processes that a test starts inherit the same servers; give them
``env=environment`` so that they use the test database too.

Fixtures
    redis           a client of the state database (bytes, not recorded). Every test starts with an
                    empty Redis, an empty outbox, a closed breaker and a fresh database identity.
    server          the RedisServer of this process. Do not harm it: others use it after you.
    redis_server    a *second* server, for this test alone: state, cache and broker are pointed at it.
                    Kill it, freeze it, empty it, send it back in time.
    postgres, sqlite    True where the tests run on it (markers on_postgres, on_sqlite select tests).
    environment     environment variables for child processes, with the test database in them.

Commits are real only under ``@pytest.mark.django_db(transaction=True)``; elsewhere a test is one
transaction that is rolled back, and ``on_commit`` does not run.
"""

import atexit
import gc
import os
import secrets
import shutil
import sys
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings as django_settings

from tests.support.servers import PostgresServer, find_postgres, temporary_folder
from tests.support.servers.redis import main_server

# How long an example takes, or is in the making, depends on what else the machine does.
hypothesis.settings.register_profile("diptych", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("diptych")
ON = "DIPTYCH_TESTS_ON"  # for the workers of xdist: the first process has started PostgreSQL already


def _asked_for(arguments: list[str]) -> str:
    """The value of ``--on`` on the command line: needed before pytest has read it."""
    for i, argument in enumerate(arguments):
        if argument == "--on":
            return arguments[i + 1] if i + 1 < len(arguments) else ""
        if argument.startswith("--on="):
            return argument.removeprefix("--on=")
    return os.environ.get(ON, "sqlite")


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


_folder = temporary_folder()
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_database = _asked_for(sys.argv)
_postgres = _start_database(_database, _folder)
_redis = main_server()
os.environ.update(_redis.environment())
os.environ["REDIS_PREFIX"] = f"t{secrets.token_hex(3)}:"
if django_settings.configured:
    raise pytest.UsageError("the tests choose their settings: unset DJANGO_SETTINGS_MODULE")
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.patient_settings"
# Async-unsafe checks would fail tests that drive a browser: Playwright runs a loop of its own.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

import django

from config import messages

messages.compile_all()
django.setup()
del os.environ["DJANGO_SETTINGS_MODULE"]  # the workers of xdist inherit this environment

if _database == "sqlite":
    django_settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(_folder / "test.sqlite3")

from tests.support import flush, hashes, real_data, reruns
from tests.support.fixtures import (
    django_db_setup,
    environment,
    fresh,
    hurry,
    postgres,
    redis,
    redis_server,
    server,
    sqlite,
)

flush.install()
hashes.install()

__all__ = [
    "django_db_setup",
    "environment",
    "fresh",
    "hurry",
    "postgres",
    "redis",
    "redis_server",
    "server",
    "sqlite",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--on", choices=["sqlite", "postgres"], default=_database, help="which database")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--on") != _database:
        raise pytest.UsageError("give --on on the command line itself")
    config.pluginmanager.register(real_data.Plugin())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what says nothing on the database at hand; ``make test`` runs both."""
    other = "on_sqlite" if _database == "postgres" else "on_postgres"
    left_out = [item for item in items if item.get_closest_marker(other)]
    config.hook.pytest_deselected(items=left_out)
    kept = [item for item in items if not item.get_closest_marker(other)]
    reruns.mark(kept)
    # The slowest tests come first, so that no process is left alone with one at the end.
    items[:] = sorted(kept, key=_seconds, reverse=True)


def _seconds(item: pytest.Item) -> int:
    """About how long a test takes, if that is long."""
    marker = item.get_closest_marker("slow")
    return (marker.args or (10,))[0] if marker else 0


def pytest_collection_finish() -> None:
    """What is there now stays: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Show reruns. With CI set, a skipped test is a failure: nothing is left out in silence."""
    reruns.report(session)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped") and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("CI is set, and tests were skipped", red=True)


def pytest_report_header() -> str:
    return f"on {_database}, {_redis.binary} {_redis.folder}"
