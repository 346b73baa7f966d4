"""Fixtures that the mirror's tests share."""

from collections.abc import Iterator

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from mirror import registry
from mirror.capture import install
from mirror.models import Identity
from mirror.relay import hints, signals
from tests.mirror.schemas import declare, isolated, tables
from tests.support import flush
from tests.support.mirror.lives import lives
from tests.support.timings import Timings

__all__ = [
    "committed",
    "declare",
    "inline_deletes",
    "isolated",
    "lives",
    "no_hints",
    "own_registry",
    "tables",
    "unhurried",
]
UNHURRIED: dict[str, float] = {
    "SWEEP_BUDGET_SECONDS": 3600.0,
    "PUSH_BUDGET_SECONDS": 3600.0,
    "PUSH_LEASE_SECONDS": 3600.0,
    "LEASE_SECONDS": 3600.0,
    "COPY_RETRY_SECONDS": 3600.0,
    "PROGRESS_SECONDS": 3600.0,
    "RECHECK_PAUSE_SECONDS": 0.0,
    "TRIGGER_CHECK_SECONDS": 0.0,
}


def _empty() -> None:
    flush.empty()
    Identity.objects.create(pk=1)


@pytest.fixture(scope="session")
def _database(request: pytest.FixtureRequest) -> None:
    """Create the test database even if no test of this run has the mark that pytest-django looks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_django.fixtures._get_databases_for_setup", lambda items: ({"default"}, set()))
        request.getfixturevalue("django_db_setup")


@pytest.fixture
def committed(_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Give an empty database in which transactions really commit."""
    with django_db_blocker.unblock():
        _empty()
        yield
        if connection.in_atomic_block:  # the test failed inside a transaction
            connection.close()
        hints._due.__init__()  # type: ignore[misc]  # hints of rolled back or silenced changes
        _empty()


@pytest.fixture
def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drain nothing after a commit: changes stay pending until the test drains them."""
    monkeypatch.setattr(hints, "flush", lambda: None)


@pytest.fixture(autouse=True)
def unhurried(timings: Timings) -> None:
    """Extend the workers' budgets and leases to an hour, for slow machines; verifications do not pause."""
    timings(**UNHURRIED)


@pytest.fixture
def own_registry(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove the test's registrations after it, together with their triggers."""
    marked = request.node.get_closest_marker("django_db")
    base = "transactional_db" if marked is not None and marked.kwargs.get("transaction", False) else "committed"
    is_committed = base == "transactional_db" or base in request.fixturenames
    if is_committed:
        request.getfixturevalue(base)  # set up first, so that it is torn down last
    mirrors, refused = dict(registry._mirrors), list(registry._refused)
    yield
    registry._mirrors.clear()
    registry._mirrors.update(mirrors)
    registry._refused[:] = refused
    signals.connect()
    if is_committed:
        install.install()


@pytest.fixture
def inline_deletes() -> Iterator[None]:
    """Let all mirrors ask for hints of deletions and links."""
    with pytest.MonkeyPatch.context() as patch:
        for mirror in registry.all_mirrors():
            patch.setattr(type(mirror), "inline_deletes", True)
        signals.connect()
        yield
    signals.connect()
