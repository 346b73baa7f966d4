"""``mirror uninstall``: nothing of the mirror is left, writes go on, and it can be installed again."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection
from redis import Redis

from mirror import uninstall
from mirror.capture import install
from mirror.outbox.identity import forget_identity
from mirror.read import reads
from mirror.redis import naming
from tests.projects.mirrortest.models import Item
from tests.projects.mirrortest.visits import look
from tests.support.mirror import world
from tests.support.mirror.command import run

pytestmark = pytest.mark.also_on("cluster")


@pytest.fixture
def installed(redis: Redis) -> Iterator[None]:
    """Fill SQL and Redis, and stop the relay. Install again afterwards."""
    Item.objects.create(name="a", score=2)
    world.warm_own()
    redis.delete(naming.heartbeat())
    redis.set("of another app", "1")
    yield
    call_command("migrate", verbosity=0)
    forget_identity()


@pytest.mark.usefixtures("committed", "installed")
def test_nothing_is_left_and_writes_go_on(redis: Redis) -> None:
    assert run("uninstall", "--yes").code == 0
    assert uninstall.find() == uninstall.Remains([], [], 0)
    assert redis.keys() == [b"of another app"]
    with connection.cursor() as cursor:
        assert not [table for table in connection.introspection.table_names(cursor) if table.startswith("mirror_")]
    item = Item.objects.create(name="b")
    Item.objects.bulk_create([Item(name="c")])
    item.name = "renamed"
    item.save()
    assert reads.read(["titem"], lambda pipe: pipe.get(f"titem:{item.pk}")) is None  # SQL answers
    item.delete()
    assert sorted(Item.objects.values_list("name", flat=True)) == ["a", "c"]


@pytest.mark.usefixtures("committed", "installed")
def test_mirror_can_be_installed_again(redis: Redis) -> None:
    assert run("uninstall", "--yes").code == 0
    Item.objects.create(name="written meanwhile")
    call_command("migrate", verbosity=0)
    forget_identity()
    assert install.missing() == []
    world.warm_own()
    assert {key: value for key, value in world.dump(redis).items() if key.startswith("titem")} == {
        key: value for key, value in world.by_orm().items() if key.startswith("titem")
    }


@pytest.mark.usefixtures("committed", "installed")
def test_without_yes_it_only_shows_what_it_would_remove(redis: Redis) -> None:
    before = redis.dbsize()
    found = run("uninstall", "--json").said
    assert found["removed"] is False
    assert len(found["triggers"]) == len(install.capture_for().found()) > 0
    assert found["tables"] == ["mirror_change", "mirror_identity", "mirror_job", "mirror_state"]
    assert found["keys"] == before - 1
    assert 'remove "mirror" from INSTALLED_APPS' in run("uninstall").out
    assert redis.dbsize() == before


@pytest.mark.usefixtures("committed", "installed")
def test_visits_that_wait_for_sql_are_not_lost(redis: Redis) -> None:
    look(redis, "a")
    found = run("uninstall", "--yes")
    assert (found.code, "all visits of tpage" in found.err) == (2, True)
    assert uninstall.find().triggers


@pytest.mark.usefixtures("committed", "installed")
def test_running_relay_is_not_left_without_its_tables(redis: Redis) -> None:
    redis.set(naming.heartbeat(), "1")
    found = run("uninstall", "--yes")
    assert (found.code, "stop `mirror run`" in found.err) == (2, True)
    assert uninstall.find().triggers
