"""Several schemas of PostgreSQL: tables that hide mirrored ones are noticed, and a schema of its own works."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection
from redis import Redis

from mirror import checks
from mirror.capture import install
from mirror.models import Change
from mirror.outbox.identity import forget_identity
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.warm import marker, triggers
from tests.projects.mirrortest.models import Group, Item, Label
from tests.support.mirror import world
from tests.support.mirror.outbox import run

pytestmark = [pytest.mark.only_on("postgres"), pytest.mark.usefixtures("committed", "no_hints")]
ITEM = Item._meta.db_table


@pytest.fixture
def tenant(committed: None) -> Iterator[None]:
    """Create an empty schema, and leave the original search path afterwards."""
    run("CREATE SCHEMA tenant")
    yield
    run("SET search_path TO DEFAULT", "DROP SCHEMA tenant CASCADE")
    triggers.forget()


def test_table_that_hides_a_mirrored_one_makes_its_mirrors_cold(tenant: None) -> None:
    world.warm_own()
    assert checks.check_schemas(databases=["default"]) == []
    run(f"CREATE TABLE tenant.{ITEM} (LIKE public.{ITEM} INCLUDING ALL)", "SET search_path TO tenant, public")
    Item.objects.create(name="elsewhere")
    assert not Change.objects.exclude(applied_at__isnull=False).exists()  # not captured
    triggers.check(relay_client())
    assert not marker.is_warm(relay_client(), "titem")
    assert marker.is_warm(relay_client(), "tfollow")
    [warning] = checks.check_schemas(databases=["default"])
    assert f"{ITEM} (tenant, public)" in warning.msg


def test_schema_of_its_own_is_mirrored(tenant: None, redis: Redis) -> None:
    run("SET search_path TO tenant")
    forget_identity()
    call_command("migrate", "mirror", verbosity=0)
    with connection.schema_editor() as editor:
        for model in (Group, Label, Item):
            editor.create_model(model)
    assert set(install.install()) >= {"titem", "tgroup", "latest"}
    assert checks.check_schemas(databases=["default"]) == []
    rebuild.rebuild(["titem"])
    Item.objects.create(pk=7, name="a")
    drains.drain_all()
    assert b'"a"' in (redis.get("titem:7") or b"")
    assert marker.is_warm(relay_client(), "titem")
    forget_identity()
