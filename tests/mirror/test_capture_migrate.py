"""Triggers are installed after every migrate and do not disturb the migrations."""

import importlib
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import connection, models
from django.db.migrations import AddField, Migration, RemoveField
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.fixtures import Settings

from mirror import registry
from mirror.capture import install
from mirror.models import Change, Identity
from mirror.outbox.changes import WHOLE
from mirror.outbox.identity import database_identity
from tests.projects.mirrortest.models import Item, Odd
from tests.support.mirror.outbox import orders, run

pytestmark = [pytest.mark.usefixtures("own_registry"), pytest.mark.also_on("sqlite")]

ITEM = Item._meta.db_table
OURS = ["titem", "tgroup", "latest"]  # the mirrors that watch the table of items, in the order of registration
ALL = [mirror.name for mirror in registry.all_mirrors()]


def make_anew(model: type[models.Model]) -> None:
    """Recreate a table as SQLite does for most alterations: copy, drop, rename."""
    with connection.schema_editor() as editor:
        editor._remake_table(model)  # type: ignore[attr-defined]


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db(transaction=True)
def test_triggers_are_reinstalled_after_a_migration_recreates_the_table() -> None:
    Item.objects.create(name="kept")
    Change.objects.all().delete()
    make_anew(Item)
    assert [str(fault) for fault in install.missing()] == [
        f"missing: {operation} on {ITEM}" for operation in ("insert", "update", "delete")
    ]
    Item.objects.update(score=1)  # not captured
    call_command("migrate", verbosity=0)
    assert orders() == OURS
    call_command("migrate", verbosity=0)
    assert orders() == OURS  # the second migrate had nothing to do
    Item.objects.update(score=2)
    assert Change.objects.exclude(key=WHOLE).count() == 2


@pytest.mark.django_db(transaction=True)
def test_writes_succeed_without_the_outbox_and_all_mirrors_are_rebuilt_later() -> None:
    call_command("migrate", "mirror", "zero", verbosity=0)
    try:
        Item.objects.bulk_create([Item(name="written meanwhile")])
    finally:
        call_command("migrate", verbosity=0)
    assert orders() == ALL
    assert install.missing() == []


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db(transaction=True)
def test_migration_can_recreate_the_outbox() -> None:
    emit_pre_migrate_signal(0, False, "default", plan=[(Migration("0002", "mirror"), False)])
    make_anew(Change)
    call_command("migrate", verbosity=0)
    assert orders() == ALL


@pytest.mark.django_db
def test_migration_can_drop_an_unwatched_column_and_write_to_its_table() -> None:
    registry.unregister("t'odd")
    emit_pre_migrate_signal(0, False, "default", plan=[(Migration("0002", "mirrortest"), False)])
    quote = connection.ops.quote_name
    table, column = quote(Odd._meta.db_table), quote("c'ödé; --")
    run(f"ALTER TABLE {table} DROP COLUMN {column}", f"INSERT INTO {table} (id) VALUES (1)")
    assert install.install() == []  # no other mirror lost a trigger
    assert not Change.objects.exists()


@pytest.mark.only_on("sqlite")
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("operation", "is_backwards"),
    [(RemoveField("item", "score"), False), (AddField("item", "score", models.IntegerField(default=3)), True)],
    ids=["forwards", "backwards"],
)
def test_migration_can_drop_a_watched_column_and_add_it_again(
    operation: RemoveField | AddField, is_backwards: bool
) -> None:
    migration = type("Migration", (Migration,), {"operations": [operation]})("0002", "mirrortest")
    emit_pre_migrate_signal(0, False, "default", plan=[(migration, is_backwards)])
    run(f"ALTER TABLE {ITEM} DROP COLUMN score", f"ALTER TABLE {ITEM} ADD COLUMN score integer NOT NULL DEFAULT 3")
    assert set(install.install()) >= set(OURS)  # they are rebuilt
    assert install.missing() == []


@pytest.mark.django_db
def test_migrate_with_an_empty_plan_keeps_the_triggers() -> None:
    registry.unregister("t'odd")
    emit_pre_migrate_signal(0, False, "default", plan=[])
    assert {fault.problem for fault in install.missing()} == {"left over"}


@pytest.mark.django_db(transaction=True)
def test_flush_gives_the_database_a_new_identity() -> None:
    before = database_identity()
    Identity.objects.all().delete()
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")  # sent at the end of ``manage.py flush``
    assert Identity.objects.get().uuid.hex == database_identity() != before


@pytest.mark.django_db(transaction=True)
def test_squashed_migrations_change_no_trigger_and_rebuild_nothing(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "squashed").mkdir()
    (tmp_path / "squashed" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    settings.MIGRATION_MODULES = {**settings.MIGRATION_MODULES, "mirrortest": "squashed"}
    try:
        call_command("makemigrations", "mirrortest", verbosity=0)
        importlib.invalidate_caches()
        call_command("migrate", "mirrortest", fake=True, verbosity=0)
        call_command("makemigrations", "mirrortest", empty=True, name="second", verbosity=0)
        importlib.invalidate_caches()
        call_command("migrate", verbosity=0)
        call_command("squashmigrations", "mirrortest", "0002", interactive=False, squashed_name="all", verbosity=0)
        importlib.invalidate_caches()
        call_command("migrate", verbosity=0)
        applied = MigrationRecorder.Migration.objects.filter(app="mirrortest").values_list("name", flat=True)
        assert set(applied) == {"0001_initial", "0002_second", "0001_all"}
        assert install.missing() == []
        assert orders() == []
    finally:
        MigrationRecorder.Migration.objects.filter(app="mirrortest").delete()
