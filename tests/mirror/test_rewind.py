"""SQL that was restored from an older copy is noticed: SQL answers, and every mirror is rebuilt."""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Protocol
from zoneinfo import ZoneInfo

import psycopg
import pytest
from django.db import connection
from redis import Redis

from mirror import doctor, registry
from mirror.models import Change, Identity
from mirror.outbox import changes
from mirror.outbox.identity import database_identity, forget_identity
from mirror.read.prefetch import Asked, fetch
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import drains
from mirror.upkeep import heartbeat, rebuild, replay, sweeper
from mirror.warm import marker, rewind
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Item
from tests.support import warm_mirrors
from tests.support.mirror import world
from tests.support.mirror.command import run

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


class Backup(Protocol):
    """Copies of the database at some moments, by name."""

    def take(self, name: str = "older") -> None: ...

    def restore(self, name: str = "older") -> None: ...


class SqliteBackup:
    """Copies the file's content. SQLite's own means would increase the schema's version, which a copied file keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name = folder, connection.settings_dict["NAME"]

    def take(self, name: str = "older") -> None:
        self._copy(self.name, str(self.folder / name))

    def restore(self, name: str = "older") -> None:
        connection.close()
        self._copy(str(self.folder / name), self.name)

    def _copy(self, source: str, target: str) -> None:
        with closing(sqlite3.connect(source)) as from_file, closing(sqlite3.connect(target)) as to_file:
            from_file.backup(to_file)
            (version,) = from_file.execute("PRAGMA schema_version").fetchone()
            to_file.execute(f"PRAGMA schema_version = {version}")


class PostgresBackup:
    """Copies the database as a template, with all object ids."""

    def __init__(self) -> None:
        self.name = connection.settings_dict["NAME"]
        self.copies: set[str] = set()

    def take(self, name: str = "older") -> None:
        self.copies.add(name)
        self._run(f'CREATE DATABASE "{self.name}_{name}" TEMPLATE "{self.name}"')

    def restore(self, name: str = "older") -> None:
        self._run(f'DROP DATABASE "{self.name}"', f'CREATE DATABASE "{self.name}" TEMPLATE "{self.name}_{name}"')

    def remove(self) -> None:
        self._run(*(f'DROP DATABASE "{self.name}_{name}"' for name in self.copies))

    def _run(self, *statements: str) -> None:
        connection.close()
        parameters = connection.get_connection_params() | {"dbname": "postgres"}
        wanted = ("host", "port", "user", "password", "dbname")
        with psycopg.connect(**{name: parameters[name] for name in wanted}, autocommit=True) as server:
            for statement in statements:
                server.execute(statement.encode())


@pytest.fixture
def backup(committed: None, tmp_path: Path) -> Iterator[Backup]:
    """Return an object that copies the database and restores the copy."""
    if connection.vendor == "sqlite":
        yield SqliteBackup(tmp_path)
        return
    made = PostgresBackup()
    yield made
    made.remove()


@pytest.fixture
def item(backup: Backup) -> Item:
    """Create an item, warm all mirrors, copy the database, and rename the item afterwards."""
    item = Item.objects.create(pk=7, name="dumped", score=1)
    world.warm_own()
    sweeper.sweep()
    backup.take()
    Item.objects.update(name="later")
    Item.objects.create(pk=8, name="lost")
    drains.drain_all()
    return item


def rest() -> None:
    """Run sweeps, and rebuilds of the cold mirrors of these tests, until nothing is left to do."""
    for _ in range(2):
        sweeper.sweep()
        for name in sorted(warm_mirrors.OWN, key=lambda name: len(registry.all_ahead(name))):
            rebuild.rebuild_if_cold(name)
        drains.drain_all()


def restore_for_a_new_process(backup: Backup, name: str = "older") -> None:
    """Restore a copy. This process forgets what only a process that ran before the restore can know."""
    backup.restore(name)
    rewind.forget()
    forget_identity()


def is_any_warm() -> bool:
    return any(marker.is_warm(relay_client(), mirror.name) for mirror in registry.all_mirrors())


def name_in_redis() -> str:
    found = ItemMirror.get(7)
    assert found is not None
    return str(found["name"])


def assert_rebuilt(redis: Redis) -> None:
    """Assert that SQL answers now, and that the mirrors are warm and equal to SQL after a few sweeps."""
    assert not is_any_warm()
    with record() as seen:
        assert name_in_redis() == "dumped"
        assert ItemMirror.get(8) is None
    assert seen.sql
    rest()
    assert marker.is_warm(relay_client(), "titem")
    with record() as seen:
        assert name_in_redis() == "dumped"
    assert not seen.sql
    assert world.dump(redis) == world.by_orm()


def test_sweep_notices_an_older_database(item: Item, backup: Backup, redis: Redis) -> None:
    assert name_in_redis() == "later"
    backup.restore()
    replay.check(relay_client())
    assert_rebuilt(redis)


def test_older_database_is_noticed_after_its_ids_have_passed_the_mark(item: Item, backup: Backup, redis: Redis) -> None:
    sweeper.sweep()
    last = Change.objects.latest("id").id
    backup.restore()
    Item.objects.bulk_create(Item(pk=pk, name=str(pk)) for pk in range(100, 150))
    drains.drain_all()  # as a request of a site whose relay does not run
    assert Change.objects.latest("id").id > last
    replay.check(relay_client())
    assert_rebuilt(redis)


def test_heartbeat_notices_an_older_database(item: Item, backup: Backup, redis: Redis) -> None:
    assert heartbeat.beat()
    redis.delete(naming.heartbeat())
    backup.restore()
    assert not heartbeat.beat()
    assert not redis.exists(naming.heartbeat())
    assert_rebuilt(redis)
    assert heartbeat.beat()


def test_process_that_starts_after_the_restore_serves_nothing_stale(item: Item, backup: Backup, redis: Redis) -> None:
    restore_for_a_new_process(backup)
    assert name_in_redis() == "dumped"
    assert_rebuilt(redis)


def test_first_prefetch_after_the_restore_believes_no_mirror(item: Item, backup: Backup, redis: Redis) -> None:
    restore_for_a_new_process(backup)
    asked = Asked.of(["titem"], lambda pipe: pipe.get("titem:7"))
    assert fetch(asked, [Asked.of(["tgroup"], lambda pipe: pipe.get("tgroup:7"))]) is None
    assert_rebuilt(redis)


def test_first_command_after_the_restore_calls_every_mirror_cold(item: Item, backup: Backup, redis: Redis) -> None:
    restore_for_a_new_process(backup)
    assert {found["warm"] for found in run("status", "--json").said} == {False}
    assert_rebuilt(redis)


def test_doctor_names_every_mirror_cold_after_the_restore(item: Item, backup: Backup) -> None:
    restore_for_a_new_process(backup)
    (found,) = [message for message in doctor.examine() if message.id == "mirror.W040"]
    assert [name for name in warm_mirrors.OWN if name not in str(found.msg)] == []


@pytest.mark.parametrize("notice", [is_any_warm, sweeper.sweep], ids=["reader first", "relay first"])
def test_original_believes_no_marker_of_its_restored_copy(
    item: Item, backup: Backup, redis: Redis, notice: Callable[[], object]
) -> None:
    # Without strays, which the copy would remove by a change that the original does not have.
    Item.objects.filter(pk=8).delete()
    drains.drain_all()
    backup.take("original")
    restore_for_a_new_process(backup)
    notice()
    rest()
    assert name_in_redis() == "dumped"
    restore_for_a_new_process(backup, "original")
    with record() as seen:
        assert name_in_redis() == "later"
    assert seen.sql
    rest()
    with record() as seen:
        assert name_in_redis() == "later"
    assert not seen.sql
    assert world.dump(redis) == world.by_orm()


@pytest.mark.only_on("sqlite")
def test_database_with_another_identity_is_noticed(item: Item, backup: Backup, redis: Redis) -> None:
    backup.restore()
    Identity.objects.update(uuid=uuid.uuid4())
    sweeper.sweep()
    assert_rebuilt(redis)
    assert database_identity() == Identity.objects.get().uuid.hex


def test_flushed_identity_is_created_again_and_believes_no_marker(redis: Redis) -> None:
    Item.objects.create(name="a")
    world.warm_own()
    # A flush without the signal after it (``serialized_rollback``), or another program
    Identity.objects.all().delete()
    sweeper.sweep()
    assert not is_any_warm()
    rest()
    assert marker.is_warm(relay_client(), "titem")
    assert database_identity() == Identity.objects.get().uuid.hex


@pytest.mark.only_on("sqlite")
def test_restored_copy_without_later_changes_keeps_the_mirrors_warm(backup: Backup, redis: Redis) -> None:
    Item.objects.create(name="a")
    world.warm_own()
    rest()
    backup.take()
    before = redis.get(naming.marker("titem"))
    backup.restore()
    sweeper.sweep()
    assert redis.get(naming.marker("titem")) == before


@pytest.mark.only_on("sqlite")
def test_one_restore_leads_to_one_rebuild(item: Item, backup: Backup, redis: Redis) -> None:
    backup.restore()
    rest()
    before = redis.get(naming.marker("titem"))
    Item.objects.update(score=5)
    rest()
    assert redis.get(naming.marker("titem")) == before


@pytest.mark.only_on("sqlite")
def test_witness_is_kept_while_other_old_changes_are_purged(item: Item, redis: Redis) -> None:
    sweeper.sweep()
    Change.objects.update(applied_at="2020-01-01T00:00:00Z")
    sweeper.sweep()
    kept = Change.objects.get()
    assert (
        redis.zscore(naming.history(), next(m for m in redis.zrange(naming.history(), 0, -1) if b"witness" in m))
        == kept.id
    )
    Item.objects.update(score=6)
    sweeper.sweep()
    sweeper.sweep()
    assert Change.objects.filter(id=kept.id).exists()  # an older file of Redis may name it
    assert marker.is_warm(relay_client(), "titem")


@pytest.mark.only_on("sqlite")
def test_changes_of_another_database_in_the_same_redis_do_not_count(item: Item, redis: Redis) -> None:
    redis.zadd(naming.history(), {"applied|other|": 10**9, "witness|other|2020-01-01T00:00:00+00:00": 10**9})
    sweeper.sweep()
    assert is_any_warm()
    assert changes.newest_unapplied() is None


def test_another_time_zone_of_the_connection_is_no_restored_database(
    item: Item, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweeper.sweep()
    witness = Change.objects.filter(applied_at__isnull=False).latest("applied_at")
    there = witness.created_at.astimezone(ZoneInfo("America/New_York"))
    monkeypatch.setattr(rewind, "_read_sql", lambda pk: (witness.pk, there))
    assert not rewind.check(relay_client(), database_identity())
    monkeypatch.setattr(rewind, "_read_sql", lambda pk: (witness.pk, there + timedelta(seconds=1)))
    assert rewind.check(relay_client(), database_identity())
