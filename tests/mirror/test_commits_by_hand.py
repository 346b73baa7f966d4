"""Code that commits by hand (``set_autocommit(False)``): writes succeed, and only committed ones reach Redis."""

from collections.abc import Iterator

import pytest
from django.db import IntegrityError, connection, transaction
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import checks
from mirror.conf import database
from mirror.models import Change
from mirror.outbox.changes import InTransaction
from mirror.read import replica
from mirror.relay import drains, sql_only
from mirror.upkeep import sweeper
from mirror.verify import runs
from tests.projects.mirrortest.models import Item, Label
from tests.support.mirror import world
from tests.support.warm_mirrors import OWN

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("sqlite")]


@pytest.fixture
def by_hand(committed: None) -> Iterator[None]:
    """Switch autocommit off, with all mirrors of these tests warm."""
    world.warm_own()
    transaction.set_autocommit(False)
    yield
    transaction.rollback()
    transaction.set_autocommit(True)


@pytest.mark.usefixtures("by_hand")
def test_save_add_and_delete_work_and_the_relay_finds_them(redis: Redis) -> None:
    item = Item.objects.create(name="a")
    item.labels.add(Label.objects.create(name="red"))
    other = Item.objects.create(name="b")
    other.delete()
    assert not redis.exists(f"titem:{item.pk}")
    transaction.commit()
    transaction.set_autocommit(True)
    sweeper.sweep()
    assert b"red" in redis.get(f"titem:{item.pk}")  # type: ignore[operator]
    transaction.set_autocommit(False)


@pytest.mark.usefixtures("by_hand")
def test_rolled_back_write_is_never_drained(redis: Redis) -> None:
    item = Item.objects.create(name="a")
    with pytest.raises(InTransaction):
        drains.drain_keys("titem", [str(item.pk)])
    transaction.rollback()
    assert not redis.exists(f"titem:{item.pk}")


@pytest.mark.usefixtures("by_hand")
def test_keys_of_a_rolled_back_write_are_forgotten(redis: Redis) -> None:
    Item.objects.create(name="a")
    transaction.rollback()
    transaction.set_autocommit(True)
    last = Item.objects.create(name="b")
    assert b'"b"' in redis.get(f"titem:{last.pk}")  # type: ignore[operator]
    assert not Change.objects.filter(applied_at=None).exists()
    transaction.set_autocommit(False)


@pytest.mark.usefixtures("by_hand")
def test_atomic_block_is_drained_when_autocommit_is_back(redis: Redis) -> None:
    with transaction.atomic():
        item = Item.objects.create(name="a")
    transaction.commit()
    transaction.set_autocommit(True)
    assert redis.exists(f"titem:{item.pk}")
    transaction.set_autocommit(False)


def test_database_without_autocommit_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "AUTOCOMMIT", False)
    [error] = checks.check_connection(databases=["default"])
    assert error.id == "mirror.E027"
    assert "'default'" in error.msg


@pytest.mark.usefixtures("by_hand")
def test_replica_is_not_asked_within_a_transaction_by_hand(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "REPLICA": "standby"}
    Item.objects.create(name="a")
    with sql_only.request():
        assert replica.ask_sql(["titem"], database) == "default"


@pytest.mark.usefixtures("by_hand")
def test_rows_of_a_failed_transaction_are_in_neither(redis: Redis) -> None:
    kept = Item.objects.create(name="kept")
    transaction.commit()
    first = Item.objects.create(name="first")
    with pytest.raises(IntegrityError):
        Item(pk=first.pk, name="second").save(force_insert=True)
    transaction.rollback()
    Item.objects.filter(pk=kept.pk).delete()
    assert Item.objects.last() is None
    transaction.commit()
    transaction.set_autocommit(True)
    sweeper.sweep()
    assert runs.verify(OWN) == []
    assert not redis.exists(f"titem:{first.pk}", f"titem:{kept.pk}")
    transaction.set_autocommit(False)
