"""An import is killed in the middle of its bulk load: the mirrors stay cold, and the relay rebuilds them."""

import pytest
from redis import Redis

from catalog.models import ShelfEntry
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from mirror.redis.clients import relay_client
from mirror.relay import drains, send
from mirror.upkeep import bulk_load, rebuild, sweeper
from mirror.verify import runs
from mirror.warm import marker
from tests.projects.mirrortest.models import Item
from tests.support import samples
from tests.support.faults.crew import Crew
from tests.support.mirror import world
from tests.support.servers import RedisServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("moment", "has_rows"),
    [
        pytest.param("shop.importer.history.insert_rows 4", False, id="in its first transaction"),
        pytest.param("mirror.upkeep.loads._rebuild 2", True, id="before the rebuild"),
    ],
)
def test_killed_import_leaves_its_mirrors_cold_until_the_relay_rebuilds_them(
    moment: str, has_rows: bool, crew: Crew, state: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: set[str] = set()
    monkeypatch.setattr(send, "rebuild", requested.add)
    world.warm()
    # Views and orders are written before the shelves, and users are a load of their own.
    crew.kill_standing("load", f"django import_goodbooks {samples.GOODBOOKS}", moment)
    assert ShelfEntry.objects.exists() == has_rows
    assert Change.objects.filter(mirror="shelf_entry").exclude(key=WHOLE).count() == 0
    assert marker.list_cold(relay_client(), ["shelf_entry"]) == ["shelf_entry"]
    sweeper.sweep()
    assert "shelf_entry" in requested
    assert marker.list_cold(relay_client(), ["shelf_entry"]) == ["shelf_entry"]
    drains.drain_all()
    rebuild.rebuild_if_cold("shelf_entry")
    assert marker.list_cold(relay_client(), ["shelf_entry"]) == []
    assert runs.verify(["shelf_entry"]) == []


def test_without_redis_rows_are_loaded_and_the_relay_rebuilds_their_mirrors_later(redis_server: RedisServer) -> None:
    world.warm()
    redis_server.kill()
    with bulk_load(Item) as load, load.atomic():
        Item.objects.bulk_create([Item(name="loaded")])
    redis_server.start()
    drains.drain_all()
    assert marker.list_cold(relay_client(), ["titem"]) == ["titem"]
    rebuild.rebuild_if_cold("titem")
    assert runs.verify(["titem"]) == []
