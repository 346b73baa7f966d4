"""A change is committed with its write, and only with it."""

import threading

import pytest
from django.db import connection, transaction

from mirror import capture
from mirror.models import Change
from tests.support.locks import somebody_waits
from tests.support.mirror.app.models import Item
from tests.support.mirror.outbox import changes, of_items, orders, run
from tests.support.servers import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def item() -> Item:
    item = Item.objects.create(name="old")
    changes()
    return item


class Oops(Exception):
    """Ends a transaction."""


def test_what_is_rolled_back_leaves_no_change(item: Item) -> None:
    with pytest.raises(Oops), transaction.atomic():
        Item.objects.update(score=1)
        Item.objects.create(name="never")
        assert changes()
        raise Oops
    assert changes() == []


def test_only_what_survives_its_savepoint_is_a_change() -> None:
    with transaction.atomic():
        first = Item.objects.create(name="first")
        with pytest.raises(Oops), transaction.atomic():
            Item.objects.create(name="never")
            raise Oops
        last = Item.objects.create(name="last")
    assert changes() == of_items(first, last)


@pytest.mark.django_db(transaction=True)
def test_a_change_is_seen_by_others_exactly_when_its_write_is(item: Item) -> None:
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


@pytest.mark.on_postgres
@pytest.mark.django_db(transaction=True)
def test_an_order_to_rebuild_comes_after_those_who_began_to_write_without_the_trigger() -> None:
    run(f"DROP TRIGGER mirror_{Item._meta.db_table}_insert ON {Item._meta.db_table}")
    changes()
    installing = threading.Thread(target=_install_and_hang_up)
    with transaction.atomic():
        run(f"INSERT INTO {Item._meta.db_table} (name, score, hidden) VALUES ('missed', 0, FALSE)")
        installing.start()
        wait_until(somebody_waits, "waiting for the writer")
        assert changes() == []
    installing.join()
    assert orders() == ["titem", "tgroup", "latest"]


def _install_and_hang_up() -> None:
    capture.install()
    connection.close()
