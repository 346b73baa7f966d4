"""What the mirror's tests share."""

from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from mirror import hints, registry, signals
from mirror.models import BackupState, Change, Identity, State
from tests.mirror.app.models import (
    Basket,
    Best,
    Follow,
    Group,
    Ignoring,
    Item,
    Label,
    Note,
    Odd,
    Reading,
    Writer,
)
from tests.mirror.backup_world import lives

__all__ = ["committed", "lives", "no_hints", "own_registry"]

OURS = (
    Item.labels.through,
    Item,
    Label,
    Group,
    Follow,
    Odd,
    Note,
    Reading,
    Ignoring,
    Writer,
    Best,
    Basket,
    BackupState,
    Change,
    State,
)  # the outbox last: triggers fill it


def _empty() -> None:
    with transaction.atomic():
        for model in OURS:
            model._base_manager.all()._raw_delete("default")
        Identity.objects.update_or_create(pk=1, defaults={"incarnation": "", "replay_from": None})


@pytest.fixture(scope="session")
def _database(request: pytest.FixtureRequest) -> None:
    """The test database, also when no test of this run has the mark that pytest-django looks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_django.fixtures._get_databases_for_setup", lambda items: ({"default"}, set()))
        request.getfixturevalue("django_db_setup")


@pytest.fixture
def committed(_database: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database with real commits and the mirror's own tables empty: what these tests write to, and no more.

    (``django_db(transaction=True)`` empties every table of the site after each test, which takes far longer.)
    """
    with django_db_blocker.unblock():
        _empty()
        yield
        if connection.in_atomic_block:  # a test that failed half way
            connection.close()
        hints._due.__init__()  # type: ignore[misc]  # what was rolled back, or silenced
        _empty()


@pytest.fixture
def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drained after a commit: changes wait until the test has them drained."""
    monkeypatch.setattr(hints, "flush", lambda: None)


@pytest.fixture
def own_registry() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    mirrors, refused = dict(registry._mirrors), list(registry._refused)
    yield
    registry._mirrors.clear()
    registry._mirrors.update(mirrors)
    registry._refused[:] = refused
    signals.connect()
