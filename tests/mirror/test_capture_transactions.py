"""A change is committed together with its write, and never without it."""

import threading

import pytest
from django.db import connection, transaction

from mirror.capture import install
from mirror.models import Change
from tests.projects.mirrortest.models import Item
from tests.support.locks import has_lock_wait
from tests.support.mirror.outbox import changes, of_items, orders, run
from tests.support.servers import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]


@pytest.fixture
def item() -> Item:
    item = Item.objects.create(name="old")
    changes()
    return item


class Oops(Exception):
    """Roll back a transaction."""


def test_rolled_back_writes_leave_no_change(item: Item) -> None:
    with pytest.raises(Oops), transaction.atomic():
        Item.objects.update(score=1)
        Item.objects.create(name="never")
        assert changes()
        raise Oops
    assert changes() == []


def test_rolled_back_savepoint_leaves_no_change() -> None:
    with transaction.atomic():
        first = Item.objects.create(name="first")
        with pytest.raises(Oops), transaction.atomic():
            Item.objects.create(name="never")
            raise Oops
        last = Item.objects.create(name="last")
    assert changes() == of_items(first, last)


@pytest.mark.django_db(transaction=True)
def test_change_becomes_visible_together_with_its_write(item: Item) -> None:
    other = connection.copy()
    sql = (
        f"SELECT (SELECT score FROM {Item._meta.db_table}), (SELECT count(*) FROM mirror_change WHERE mirror = 'titem')"
    )

    def seen() -> tuple[int, int]:
        with other.cursor() as cursor:
            cursor.execute(sql)
            return tuple(cursor.fetchone())

    try:
        with transaction.atomic():
            Item.objects.update(score=9)
            assert Change.objects.filter(mirror="titem").count() == 1
            assert seen() == (0, 0)
        assert seen() == (9, 1)
    finally:
        other.close()


@pytest.mark.only_on("postgres")
@pytest.mark.django_db(transaction=True)
def test_order_to_rebuild_waits_for_writers_without_the_trigger() -> None:
    run(f"DROP TRIGGER mirror_{Item._meta.db_table}_insert ON {Item._meta.db_table}")
    changes()
    installing = threading.Thread(target=_install_and_hang_up)
    with transaction.atomic():
        run(f"INSERT INTO {Item._meta.db_table} (name, score, hidden) VALUES ('missed', 0, FALSE)")
        installing.start()
        wait_until(has_lock_wait, "waiting for the writer")
        assert changes() == []
    installing.join()
    assert orders() == ["titem", "tgroup", "latest"]


def _install_and_hang_up() -> None:
    install.install()
    connection.close()
