"""Logical replication from one PostgreSQL server to another: all that arrives is captured, and once."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection
from redis import Redis

from mirror.capture import install
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from mirror.relay import drains
from mirror.verify import runs
from tests.projects.mirrortest.models import Follow, Item
from tests.support.mirror import world
from tests.support.mirror.outbox import changes, orders, run
from tests.support.servers import PostgresPublisher, wait_until

pytestmark = [pytest.mark.only_on("postgres"), pytest.mark.slow(20), pytest.mark.usefixtures("committed", "no_hints")]

ITEM, FOLLOW = Item._meta.db_table, Follow._meta.db_table


def url_of_test_database() -> str:
    given = connection.settings_dict
    return f"postgresql://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT']}/{given['NAME']}"


@pytest.fixture(scope="module")
def publisher(_database: None) -> Iterator[PostgresPublisher]:
    """A second server with the same tables, and triggers that fill an outbox of its own."""
    with PostgresPublisher() as server:
        server.copy_schema(url_of_test_database(), server.url())
        yield server


@pytest.fixture
def source(publisher: PostgresPublisher, committed: None) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """A connection to the publisher, whose tables are empty."""
    with psycopg.connect(publisher.url(), autocommit=True) as opened:
        yield opened
        opened.execute(f"TRUNCATE {ITEM}, {FOLLOW}, mirror_change, mirror_identity RESTART IDENTITY CASCADE")
        opened.execute("DROP PUBLICATION IF EXISTS all_of_it")


def subscribe(cursor: object, publisher: PostgresPublisher) -> None:
    there = urlsplit(publisher.url())
    words = f"host={there.hostname} port={there.port} user={there.username} password={there.password} dbname=postgres"
    cursor.execute(f"CREATE SUBSCRIPTION arriving CONNECTION '{words}' PUBLICATION all_of_it")  # type: ignore[attr-defined]


def unsubscribe(cursor: object) -> None:
    cursor.execute("DROP SUBSCRIPTION IF EXISTS arriving")  # type: ignore[attr-defined]


@pytest.fixture
def subscribed(publisher: PostgresPublisher, source: "psycopg.Connection[tuple[object, ...]]") -> Iterator[None]:
    """Let items and follows arrive in the test database, whose changes so far are deleted."""
    source.execute(f"INSERT INTO {ITEM} (name, score, hidden) VALUES ('copied', 1, FALSE), ('copied too', 2, FALSE)")
    source.execute(f"CREATE PUBLICATION all_of_it FOR TABLE {ITEM}, {FOLLOW}")
    changes()
    with connection.cursor() as cursor:
        subscribe(cursor, publisher)
        try:
            yield
        finally:
            unsubscribe(cursor)


def wait_for_items(*names: str) -> None:
    wait_until(lambda: sorted(Item.objects.values_list("name", flat=True)) == sorted(names), f"the arrival of {names}")


def keys(mirror: str) -> list[str]:
    """Return the keys of a mirror's changes, and empty the outbox."""
    return [key for name, _, key in changes() if name == mirror]


def assert_equal() -> None:
    drains.drain_all()
    assert not runs.verify(["titem", "tfollow"])


@pytest.mark.usefixtures("subscribed")
def test_replicated_rows_are_captured_once(source: "psycopg.Connection[tuple[object, ...]]", redis: Redis) -> None:
    wait_for_items("copied", "copied too")
    first, second = map(str, Item.objects.order_by("pk").values_list("pk", flat=True))
    assert keys("titem") == [first, second]  # the initial copy
    world.warm_own()
    changes()

    source.execute(f"INSERT INTO {ITEM} (name, score, hidden) VALUES ('new', 0, FALSE)")
    wait_for_items("copied", "copied too", "new")
    new = str(Item.objects.get(name="new").pk)
    assert keys("titem") == [new]

    source.execute(f"UPDATE {ITEM} SET name = 'renamed' WHERE name = 'new'")
    wait_for_items("copied", "copied too", "renamed")
    assert Change.objects.filter(mirror="titem", key=new).count() == 1
    drains.drain_all()
    assert b"renamed" in redis.get(f"titem:{new}")  # type: ignore[operator]

    changes()
    source.execute(f"DELETE FROM {ITEM} WHERE name = 'renamed'")
    wait_for_items("copied", "copied too")
    assert keys("titem") == [new]


@pytest.mark.usefixtures("subscribed")
def test_replicated_keys_of_an_edge_are_captured(source: "psycopg.Connection[tuple[object, ...]]") -> None:
    source.execute(f"INSERT INTO {FOLLOW} (follower, followed) VALUES (1, 2)")
    wait_until(Follow.objects.exists, "the arrival")
    assert keys("tfollow") == ["1:2"]
    source.execute(f"UPDATE {FOLLOW} SET followed = 3")
    wait_until(Follow.objects.filter(followed=3).exists, "the arrival")
    assert keys("tfollow") == ["1:2", "1:3"]


@pytest.mark.usefixtures("subscribed")
def test_replicated_truncate_appends_a_change_of_everything(source: "psycopg.Connection[tuple[object, ...]]") -> None:
    source.execute(f"INSERT INTO {FOLLOW} (follower, followed) VALUES (1, 2)")
    wait_until(Follow.objects.exists, "the arrival")
    changes()
    source.execute(f"TRUNCATE {FOLLOW}")
    wait_until(lambda: not Follow.objects.exists(), "the arrival")
    assert keys("tfollow") == [WHOLE]  # the initial copy of the items may arrive meanwhile


@pytest.mark.usefixtures("subscribed")
def test_mirrors_equal_their_replicated_rows(source: "psycopg.Connection[tuple[object, ...]]") -> None:
    wait_for_items("copied", "copied too")
    world.warm_own()
    source.execute(
        f"INSERT INTO {ITEM} (name, score, hidden) SELECT 'n' || n, n, n % 2 = 0 FROM generate_series(1, 40) n"
    )
    source.execute(f"UPDATE {ITEM} SET hidden = NOT hidden, score = score + 1 WHERE id % 3 = 0")
    source.execute(f"DELETE FROM {ITEM} WHERE id % 5 = 0")
    source.execute(f"INSERT INTO {ITEM} (name, score, hidden) VALUES ('last', 0, FALSE)")
    wait_until(Item.objects.filter(name="last").exists, "the arrival")
    assert_equal()


def test_ordinary_writes_in_a_session_for_replicas_are_captured_once() -> None:
    """Other programs import with ``session_replication_role = replica``."""
    run("SET session_replication_role = replica")
    try:
        item = Item.objects.create(name="a")
        assert keys("titem") == [str(item.pk)]
        Item.objects.update(name="b")
        assert keys("titem") == [str(item.pk)]
        Item.objects.update(name="c")
        assert drains.drain_all() > 0
        assert not Change.objects.filter(applied_at__isnull=True).exists()
    finally:
        run("RESET session_replication_role")


def test_all_tables_can_be_replicated_to_a_copy_of_the_schema(
    publisher: PostgresPublisher, source: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    """As for an upgrade of PostgreSQL: ``pg_dump -s``, then a subscription to all tables with the outbox."""
    source.execute("INSERT INTO mirror_identity (id, uuid) VALUES (1, gen_random_uuid())")
    source.execute(f"INSERT INTO {ITEM} (name, score, hidden) SELECT 'n' || n, n, FALSE FROM generate_series(1, 30) n")
    source.execute("CREATE PUBLICATION all_of_it FOR ALL TABLES")
    run("CREATE DATABASE upgraded")
    target = url_of_test_database().rpartition("/")[0] + "/upgraded"
    try:
        publisher.copy_schema(url_of_test_database(), target)
        with psycopg.connect(target, autocommit=True) as opened:
            subscribe(opened, publisher)
            ready = "SELECT count(*) FROM pg_subscription_rel WHERE srsubstate <> 'r'"
            wait_until(lambda: opened.execute(ready).fetchone() == (0,), "the initial copy")
            source.execute(f"UPDATE {ITEM} SET score = 100 WHERE id = 7")
            source.execute("UPDATE mirror_change SET applied_at = now()")
            source.execute("DELETE FROM mirror_change WHERE id < 10")
            source.execute(f"INSERT INTO {ITEM} (name, score, hidden) VALUES ('last', 0, FALSE)")
            last = f"SELECT count(*) FROM {ITEM} WHERE name = 'last'"
            wait_until(lambda: opened.execute(last).fetchone() == (1,), "the arrival")
            found = opened.execute(
                "SELECT key, count(*), count(applied_at) FROM mirror_change WHERE mirror = 'titem' GROUP BY key"
            ).fetchall()
            assert sorted(found) == sorted((str(n), 2 if n == 7 else 1, 0) for n in range(1, 32))
            assert opened.execute("SELECT count(*) FROM mirror_identity").fetchone() == (0,)
            unsubscribe(opened)
    finally:
        run("DROP DATABASE upgraded WITH (FORCE)")
    assert install.missing() == []
    assert orders() == []
