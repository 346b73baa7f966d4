"""A bulk load appends no change for each row. Its mirrors are cold from the first row until they are complete."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, connections, transaction
from redis import Redis

from mirror.models import Change
from mirror.outbox import changes
from mirror.outbox.changes import WHOLE, InTransaction
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay import drains, send
from mirror.upkeep import bulk_load, rebuild, sweeper
from mirror.warm import marker
from tests.projects.mirrortest.models import Follow, Item
from tests.support.killed import Killed
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("sqlite", "cluster")]

LOADED = ["titem", "latest"]  # the mirrors that watch the insertion of items without a group


@pytest.fixture(autouse=True)
def warm(committed: None) -> None:
    world.warm_own()
    Change.objects.all().delete()


def add_items(*names: str) -> None:
    Item.objects.bulk_create(Item(name=name, score=len(name)) for name in names)


def list_keys(name: str = "titem") -> list[str]:
    return list(Change.objects.filter(mirror=name).order_by("id").values_list("key", flat=True))


def list_cold(*names: str) -> list[str]:
    return marker.list_cold(relay_client(), names)


def in_thread(work: Callable[[], object]) -> None:
    def run() -> None:
        work()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def assert_rows_arrived(redis: Redis) -> None:
    assert list_cold(*LOADED) == []
    assert not Change.objects.pending().exists()
    assert world.dump(redis) == world.by_orm()


def test_loaded_rows_are_in_redis_at_the_end_without_a_change_of_their_own(redis: Redis) -> None:
    add_items("before")
    drains.drain_all()
    with bulk_load(Item) as load:
        for number in range(3):
            with load.atomic():
                add_items(*(f"{number}.{each}" for each in range(20)))
    keys = list_keys()
    assert keys.count(WHOLE) == 4  # one at the beginning, and one for each transaction
    assert len(keys) == 5
    assert_rows_arrived(redis)


@pytest.mark.only_on("sqlite")
def test_earlier_transactions_of_a_load_make_no_insertion_slower() -> None:
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    taken = []
    with bulk_load(Item) as load:
        for number in range(30):
            with load.atomic():
                steps = 0
                connection.connection.set_progress_handler(count, 1)
                add_items(f"item {number}")
                connection.connection.set_progress_handler(None, 1)
            taken.append(steps)
    assert taken[0] > 0
    assert max(taken[1:]) < taken[1] + 30, "fewer than one step for each earlier transaction"


def test_mirrors_are_cold_before_the_first_row_and_others_stay_warm() -> None:
    with bulk_load(Item) as load:
        assert sorted(list_cold(*LOADED, "tfollow")) == sorted(LOADED)
        with load.atomic():
            add_items("new")
    assert list_cold(*LOADED) == []


def test_another_process_rebuilds_nothing_during_the_load() -> None:
    with bulk_load(Item):
        (done,) = rebuild.rebuild(["titem"])
        assert done.skipped
        assert list_cold("titem") == ["titem"]


def test_mirror_that_became_warm_too_early_is_made_cold_by_the_next_transaction(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send, "rebuild", lambda name: None)
    with pytest.raises(Killed), bulk_load(Item) as load:
        with load.atomic():
            add_items("first")
        for name in LOADED:
            redis.delete(naming.lease(rebuild.name_lease(name)))
        rebuild.rebuild(LOADED)
        assert list_cold(*LOADED) == []
        with load.atomic():
            add_items("second")
        drains.drain_all()
        assert sorted(list_cold(*LOADED)) == sorted(LOADED)
        raise Killed
    for name in LOADED:
        rebuild.rebuild_if_cold(name)
    assert_rows_arrived(redis)


def test_interrupted_load_leaves_its_mirrors_cold_until_a_sweep_requests_rebuilds(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[str] = []
    monkeypatch.setattr(send, "rebuild", requested.append)
    with pytest.raises(Killed), bulk_load(Item) as load:
        with load.atomic():
            add_items("first")
        raise Killed
    assert sorted(list_cold(*LOADED)) == sorted(LOADED)
    sweeper.sweep()
    assert set(LOADED) <= set(requested)
    for name in LOADED:
        rebuild.rebuild_if_cold(name)
    assert_rows_arrived(redis)


def test_other_writers_of_the_table_are_captured_as_usual(redis: Redis) -> None:
    with bulk_load(Item) as load:
        with load.atomic():
            add_items("loaded")
            # SQLite has one writer at a time.
            if connection.vendor == "postgresql":
                in_thread(lambda: add_items("theirs"))
        in_thread(lambda: add_items("between"))
        others = Item.objects.exclude(name="loaded").order_by("pk").values_list("pk", flat=True)
        assert [key for key in list_keys() if key != WHOLE] == list(map(str, others))
    assert_rows_arrived(redis)


def test_write_that_commits_after_the_load_is_pending(redis: Redis) -> None:
    with bulk_load(Item) as load, load.atomic():
        add_items("loaded")
    add_items("later")
    assert [key for key in list_keys() if key != WHOLE] == [str(Item.objects.get(name="later").pk)]
    drains.drain_all()
    assert_rows_arrived(redis)


def test_updates_and_deletions_of_the_load_and_other_tables_are_captured_by_row(redis: Redis) -> None:
    add_items("kept", "gone")
    drains.drain_all()
    Change.objects.all().delete()
    kept, gone = (Item.objects.get(name=name) for name in ("kept", "gone"))
    gone_pk = str(gone.pk)
    with bulk_load(Item) as load:
        with load.atomic():
            Item.objects.filter(pk=kept.pk).update(score=99)
            gone.delete()
            Follow.objects.bulk_create([Follow(follower=1, followed=2)])
        assert [key for key in list_keys() if key != WHOLE] == [str(kept.pk), gone_pk]
        assert list_keys("tfollow") == ["1:2"]
    drains.drain_all()
    assert_rows_arrived(redis)


def test_statement_without_new_rows_appends_no_change_on_postgresql() -> None:
    # SQLite appends the change at the beginning of the transaction.
    expected = [] if connection.vendor == "postgresql" else [WHOLE]
    with bulk_load(Item) as load:
        Change.objects.all().delete()
        with load.atomic():
            Item.objects.bulk_create([])
            with connection.cursor() as cursor:
                table = Item._meta.db_table
                cursor.execute(f"INSERT INTO {table} (name, score, hidden) SELECT name, score, hidden FROM {table}")
        assert list_keys() == expected


def test_rolled_back_load_leaves_nothing_behind() -> None:
    with bulk_load(Item) as load, transaction.atomic():
        Change.objects.all().delete()
        with pytest.raises(ZeroDivisionError), load.atomic():
            add_items("lost")
            raise ZeroDivisionError
        add_items("kept")
        assert list_keys() == [str(Item.objects.get().pk)]


def test_rest_of_a_callers_transaction_is_captured_by_row() -> None:
    with bulk_load(Item) as load, transaction.atomic():
        with load.atomic():
            add_items("loaded")
        add_items("after")
        assert [key for key in list_keys() if key != WHOLE] == [str(Item.objects.get(name="after").pk)]


def test_load_inside_of_a_transaction_is_refused() -> None:
    with transaction.atomic(), pytest.raises(InTransaction), bulk_load(Item):
        pass


def test_thousands_of_statements_need_one_rebuild(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MOST", 3)
    with bulk_load(Item) as load:
        for number in range(8):
            with load.atomic():
                add_items(str(number))
    assert_rows_arrived(redis)
