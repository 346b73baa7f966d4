"""``dumpdata``, ``flush`` and ``loaddata``, with the mirror's own tables: nothing collides, and nothing is missed."""

from io import StringIO
from pathlib import Path

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from redis import Redis

from mirror.models import Change, Identity, State
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.verify import runs
from mirror.warm import marker
from tests.projects.mirrortest.models import Follow, Item, Label
from tests.support import flush
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("sqlite")]
OWN = ["titem", "tgroup", "tfollow"]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Write a dump of five items with all tables of the mirror, whose outbox is longer than the loaded rows make it."""
    label = Label.objects.create(name="red")
    for n in range(1, 6):
        Item.objects.create(pk=n, name=f"item {n}").labels.add(label)
    Follow.objects.create(follower=1, followed=2)
    for n in range(20):
        Item.objects.update(score=n)
    drains.drain_all()
    world.warm_own()
    path = tmp_path / "dump.json"
    with path.open("w") as file:
        call_command("dumpdata", "mirror", "mirrortest", stdout=file)
    return path


def load(path: Path) -> None:
    call_command("loaddata", str(path), verbosity=0, stdout=StringIO())


def assert_equal() -> None:
    world.rest()
    assert not runs.verify(OWN)
    assert all(marker.is_warm(relay_client(), name) for name in OWN)


@pytest.mark.slow(10)
def test_dump_is_loaded_after_a_flush(dump: Path, redis: Redis, postgres: bool) -> None:
    if postgres:
        call_command("flush", interactive=False, verbosity=0)
    else:  # Django's own flush cannot quote the odd name of a table of these tests
        flush.empty()
        emit_post_migrate_signal(verbosity=0, interactive=False, db="default")
    ContentType.objects.clear_cache()
    identity = Identity.objects.get().uuid
    load(dump)
    assert Identity.objects.get().uuid == identity
    Item.objects.create(name="written after it")
    assert_equal()
    assert redis.exists("titem:3")


def test_dump_is_loaded_over_the_present_rows(dump: Path, redis: Redis) -> None:
    Item.objects.filter(pk=3).update(name="changed")
    Item.objects.create(pk=6, name="new")
    pending = set(Change.objects.filter(applied_at=None).values_list("pk", "mirror", "key"))
    load(dump)
    assert pending <= set(Change.objects.filter(applied_at=None).values_list("pk", "mirror", "key"))
    drains.drain_all()
    assert b"item 3" in redis.get("titem:3")  # type: ignore[operator]
    assert_equal()


def test_loaded_state_of_an_older_layout_stops_no_relay(dump: Path) -> None:
    text = dump.read_text()
    State.objects.update_or_create(mirror="titem", defaults={"layout": "1"})
    call_command("dumpdata", "mirror.State", output=str(dump), verbosity=0)
    assert dump.read_text() != text
    State.objects.all().delete()
    load(dump)
    assert State.objects.get(mirror="titem").layout == ""
