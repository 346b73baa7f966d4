"""Structures in buckets: drains, rebuilds and verifications follow from the declaration."""

import pytest
from redis import Redis

from mirror import Alphabetical, Mirror, Names, Ranking, SetOf, Watch, register, registry
from mirror.capture import install
from mirror.declare.buckets import find_bucket_key, find_bucket_start, list_bucket_keys
from mirror.declare.paths import DeclarationError
from mirror.redis.clients import client
from mirror.upkeep import rebuild
from mirror.verify import repair, runs
from mirror.warm import marker
from tests.projects.mirrortest.models import Item
from tests.support.mirror.items import drained, make

pytestmark = pytest.mark.also_on("cluster")

NAME = "divided"


def declare(buckets: int) -> type[Mirror]:
    """Register the declaration with so many buckets, as a new version of the code would."""

    class Divided(Mirror):
        name = NAME
        model = Item
        key = "divided:{pk}"
        fields = ("score", Names("labels"))
        indexes = (
            Ranking("divided_scores", score="score", buckets=buckets),
            SetOf("{{divided}}:{value}", over="labels", buckets=buckets),
        )

    registry._mirrors.pop(NAME, None)
    register(Divided)
    install.install()
    return Divided


def find_keys(redis: Redis) -> set[str]:
    """Return all keys of the structures, of any layout."""
    found = {key.decode() for key in redis.scan_iter("*divided*")}
    return {key for key in found if "divided_scores" in key or key.endswith(":red")}


def test_key_of_a_bucket_is_stable_and_keeps_the_slot_of_its_tag() -> None:
    assert find_bucket_key("login:", "a digest", 1) == "login:"
    assert find_bucket_key("login:", "a digest", 16) == "{login:.bucket1}"
    assert find_bucket_key("{tag}:ruby", "7", 16) == "{tag.bucket2}:ruby"
    assert find_bucket_key("{tag}:web", "7", 16) == "{tag.bucket2}:web"
    assert all(key.startswith(find_bucket_start("{tag}:")) for key in list_bucket_keys("{tag}:ruby", 3))
    assert all(key.startswith(find_bucket_start("login:")) for key in list_bucket_keys("login:", 3))


def test_one_bucket_keeps_key_and_layout() -> None:
    assert "buckets" not in SetOf("all").describe()
    assert SetOf("all", buckets=2).describe() != SetOf("all", buckets=3).describe()


@pytest.mark.parametrize(
    "index",
    [
        SetOf("group:{value}", over="group", buckets=2),
        SetOf("uid:{{{value}}}:items", over="group", buckets=2),
        Alphabetical("names", by="name", buckets=2),
        SetOf("all", buckets=0),
    ],
)
def test_index_that_cannot_be_divided_is_refused(index: SetOf) -> None:
    with pytest.raises(DeclarationError, match="buckets="):
        index.check()


@pytest.mark.usefixtures("committed", "own_registry")
def test_buckets_of_an_own_index_are_part_of_the_layout() -> None:
    versions = set()
    for number in (1, 2, 3):

        class Divided(Mirror):
            name = NAME
            model = Item
            key = "divided:{pk}"
            watches = (Watch(Item),)
            buckets = number

        registry._mirrors.pop(NAME, None)
        versions.add(register(Divided).version)
        registry._mirrors.pop(NAME)
        assert register(Divided).version in versions  # registered again
    assert versions == {1, "1.b2", "1.b3"}


@pytest.mark.usefixtures("committed", "own_registry")
def test_new_number_of_buckets_makes_the_mirror_cold_and_removes_the_old_keys(redis: Redis) -> None:
    items = [make(f"item {n}", "red", score=n) for n in range(12)]
    for buckets in (1, 3, 2, 1):
        declared = declare(buckets)
        assert not marker.is_warm(client(), NAME)
        rebuild.rebuild([NAME])
        drained()
        names = ("divided_scores", "{divided}:red")
        scores, labels = (list_bucket_keys(key, buckets) for key in names)
        assert find_keys(redis) == {find_bucket_key(key, str(item.pk), buckets) for key in names for item in items}
        assert sum(map(redis.zcard, scores)) == sum(map(redis.scard, labels)) == len(items)
        assert declared.top("divided_scores", 3) == [item.pk for item in items[:-4:-1]]
        assert declared.members("{divided}:red") == {item.pk for item in items}
        assert runs.verify([NAME]) == []


@pytest.mark.usefixtures("committed", "own_registry")
def test_changes_and_strays_are_put_into_their_bucket(redis: Redis) -> None:
    declared = declare(3)
    items = [make(f"item {n}", "red", score=n) for n in range(6)]
    rebuild.rebuild([NAME])
    Item.objects.filter(pk=items[0].pk).update(score=100)
    items[5].delete()
    drained()
    assert declared.top("divided_scores", 9) == [items[n].pk for n in (0, 4, 3, 2, 1)]
    own = find_bucket_key("divided_scores", str(items[1].pk), 3)
    other = next(key for key in list_bucket_keys("divided_scores", 3) if key != own)
    redis.zadd(other, {str(items[1].pk): 5})
    redis.zadd("divided_scores", {str(items[1].pk): 5})  # of the layout without buckets
    found = runs.verify([NAME])
    assert {(difference.kind, difference.key) for difference in found} == {
        ("stray", other),
        ("stray", "divided_scores"),
    }
    repair.order(found)
    repair.carry_out(found)
    drained()
    assert runs.verify([NAME]) == []
