"""Triggers are there after every migrate, and in nobody's way during it."""

import pytest
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal, emit_pre_migrate_signal
from django.db import connection, models
from django.db.migrations import Migration

from mirror import capture, marker, registry
from mirror.models import Change, Identity
from tests.support.mirror.app.models import Item, Odd
from tests.support.mirror.outbox import orders, run

pytestmark = pytest.mark.usefixtures("own_registry")

ITEM = Item._meta.db_table
OURS = ["titem", "tgroup", "latest"]  # what watches the table of items, in the order of registration
ALL = [mirror.name for mirror in registry.all_mirrors()]


def make_anew(model: type[models.Model]) -> None:
    """Do to a table what SQLite needs for most alterations: copy, drop, rename."""
    with connection.schema_editor() as editor:
        editor._remake_table(model)  # type: ignore[attr-defined]


@pytest.mark.on_sqlite
@pytest.mark.django_db(transaction=True)
def test_a_table_that_a_migration_makes_anew_has_its_triggers_again_after_it() -> None:
    Item.objects.create(name="kept")
    Change.objects.all().delete()
    make_anew(Item)
    assert [str(fault) for fault in capture.missing()] == [
        f"missing: {operation} on {ITEM}" for operation in ("insert", "update", "delete")
    ]
    Item.objects.update(score=1)  # missed
    call_command("migrate", verbosity=0)
    assert orders() == OURS
    call_command("migrate", verbosity=0)
    assert orders() == OURS  # the second time there was nothing to do
    Item.objects.update(score=2)
    assert Change.objects.exclude(key="*").count() == 2


@pytest.mark.django_db(transaction=True)
def test_writes_go_on_while_the_outbox_is_migrated_away_and_all_is_rebuilt_when_it_is_back() -> None:
    call_command("migrate", "mirror", "zero", verbosity=0)
    try:
        Item.objects.bulk_create([Item(name="written meanwhile")])
    finally:
        call_command("migrate", verbosity=0)
    assert orders() == ALL
    assert capture.missing() == []


@pytest.mark.on_sqlite
@pytest.mark.django_db(transaction=True)
def test_the_outbox_itself_can_be_made_anew_by_a_migration() -> None:
    emit_pre_migrate_signal(0, False, "default", plan=[(Migration("0002", "mirror"), False)])
    make_anew(Change)
    call_command("migrate", verbosity=0)
    assert orders() == ALL


@pytest.mark.django_db
def test_a_column_that_is_no_longer_watched_can_be_dropped_and_the_table_written_in_one_migrate() -> None:
    registry.unregister("t'odd")
    emit_pre_migrate_signal(0, False, "default", plan=[(Migration("0002", "mirrortest"), False)])
    quote = connection.ops.quote_name
    table, column = quote(Odd._meta.db_table), quote("c'ödé; --")
    run(f"ALTER TABLE {table} DROP COLUMN {column}", f"INSERT INTO {table} (id) VALUES (1)")
    assert capture.install() == []  # nobody else lost a trigger
    assert not Change.objects.exists()


@pytest.mark.django_db
def test_a_migrate_with_nothing_to_do_leaves_the_triggers_where_they_are() -> None:
    registry.unregister("t'odd")
    emit_pre_migrate_signal(0, False, "default", plan=[])
    assert {fault.problem for fault in capture.missing()} == {"left over"}


@pytest.mark.django_db(transaction=True)
def test_a_flush_makes_another_database_of_it_and_the_process_knows() -> None:
    before = marker.database_identity()
    Identity.objects.all().delete()
    emit_post_migrate_signal(verbosity=0, interactive=False, db="default")  # as a flush ends
    assert Identity.objects.get().uuid.hex == marker.database_identity() != before
