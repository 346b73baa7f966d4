"""A rebuild beside writers, failing rows, old layouts and strays."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import EdgeMirror, Watch, registry
from mirror.comparison import scan
from mirror.models import Change
from mirror.redis.clients import client, relay_client
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.verify import runs, strays
from mirror.warm import marker
from tests.projects.mirrortest.mirrors import GroupHash
from tests.projects.mirrortest.models import Group, Item, Label, Odd
from tests.support.mirror import world
from tests.support.mirror.items import make

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def chunks_of_ten(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 10}


def codes(count: int) -> None:
    Odd.objects.bulk_create(Odd(code=f"c{n:03}") for n in range(count))
    Change.objects.all()._raw_delete("default")


def arrived(redis: Redis) -> int:
    return len(redis.keys("*todd:*"))


def test_writes_during_a_rebuild_are_in_redis_in_the_end(redis: Redis) -> None:
    label = Label.objects.create(name="red")
    items = [Item.objects.create(name=f"n{n}") for n in range(30)]
    step = [0]

    def write(mirror: str, rows: int) -> None:
        step[0] += 1
        if step[0] > 3:
            return
        Item.objects.filter(pk=items[step[0]].pk).update(score=9)
        items[-step[0]].delete()
        Item.objects.create(name=f"new {step[0]}").labels.add(label)
        Label.objects.update(name=f"red {step[0]}")
        if step[0] == 2:
            drains.drain_all()

    rebuild.rebuild(["titem"], progress=write)
    rebuild.rebuild(["tgroup", "latest", "tfollow"])
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()
    assert runs.verify(["titem"], redis=relay_client()) == []


def test_failing_row_stays_pending_and_stops_no_rebuild(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    codes(25)
    mirror = registry.get("t'odd")
    record = mirror.record

    def bad(row: Odd) -> dict[str, Any]:
        if row.code == "c013":
            raise ZeroDivisionError
        return record(row)

    with monkeypatch.context() as patch:
        patch.setattr(mirror, "record", bad)
        rebuild.rebuild(["t'odd"])
        assert arrived(redis) == 24
        assert [change.key for change in Change.objects.pending()] == ["c013"]
        assert marker.is_warm(client(), "t'odd")
    drains.drain_all()
    assert arrived(redis) == 25


def test_unwritable_entry_is_written_once_it_can_be(redis: Redis) -> None:
    item = Item.objects.create(name="a", score=3)
    drains.drain_all()
    redis.delete("titems:score")
    redis.set("titems:score", "of the wrong type")
    with pytest.raises(scan.WrongType):
        rebuild.rebuild(["titem"])
    assert not marker.is_warm(client(), "titem")
    redis.delete("titems:score")
    drains.drain_all()
    assert redis.zscore("titems:score", item.pk) == 3


def test_new_layout_is_cold_until_its_rebuild_removes_the_old_keys(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = Group.objects.create(name="g")
    rebuild.rebuild(["tgroup"])
    mirror = registry.get("tgroup")
    monkeypatch.setattr(mirror, "version", 2)
    monkeypatch.setattr(GroupHash, "key", "tgroup2:{pk}")
    monkeypatch.setattr(GroupHash, "retired", lambda self: ["tgroup:"])
    assert not marker.is_warm(client(), "tgroup")
    rebuild.rebuild(["tgroup"])
    assert marker.is_warm(client(), "tgroup")
    assert not redis.exists(f"tgroup:{group.pk}")
    assert redis.hgetall(f"tgroup2:{group.pk}") == {b"name": b"g", b"items": b"0"}


def test_strays_are_removed(redis: Redis) -> None:
    item = Item.objects.create(name="a")
    redis.set("titem:999", "{}")
    redis.set("titem:name:ghost", "999")
    redis.zadd("titems:score", {"998": 1})
    redis.sadd("{tlabel}:ghost", "997", str(item.pk))
    redis.set("titemless", "not the mirror's own")
    done = rebuild.rebuild(["titem"])
    assert done[0].strays == 5
    assert redis.get("titemless") == b"not the mirror's own"
    redis.delete("titemless")
    rebuild.rebuild(["tgroup", "latest", "tfollow"])
    assert world.dump(redis) == world.by_orm()


@pytest.mark.parametrize("write", [lambda: Item.objects.update(score=9), lambda: Label.objects.update(name="blue")])
def test_strays_of_rows_with_pending_changes_are_removed(write: Callable[[], int], redis: Redis) -> None:
    item = make("a", "red")
    drains.drain_all()
    redis.sadd("{tlabel}:ghost", str(item.pk))  # no record names it, so no ordinary drain removes it
    write()
    strays.remove(registry.get("titem"), relay_client())
    assert not redis.exists("{tlabel}:ghost")


def test_edges_of_one_text_column_are_read_although_the_text_contains_the_separator() -> None:
    class Codes(EdgeMirror):
        name = "codes"
        model = Odd
        watches = (Watch(Odd, str(Odd._meta.get_field("code").column)),)

    codes = [f"http://{n}:80" for n in range(5)]
    Odd.objects.bulk_create(Odd(code=code) for code in codes)
    found: list[str] = []
    while page := Codes().keys_after(found[-1] if found else None, 2):
        found += page
    assert found == codes
