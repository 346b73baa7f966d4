"""Explain compares a row's record and entries in SQL and in Redis."""

import pytest
from redis import Redis

from mirror.comparison import scan
from mirror.comparison.explained import Explained
from mirror.relay import drains
from mirror.verify import explain
from mirror.verify.explain import NothingToExplain
from tests.projects.mirrortest.models import Follow, Item, Label

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture
def item() -> Item:
    item = Item.objects.create(pk=7, name="a", score=2)
    item.labels.add(Label.objects.create(name="red"))
    drains.drain_all()
    return item


def of_item(pk: str = "7") -> Explained:
    return next(found for found in explain.explain("mirrortest.Item", pk) if found.mirror == "titem")


def test_equal_row_has_no_differences(item: Item) -> None:
    found = of_item()
    assert found.key == "titem:7"
    assert found.sql == found.redis == '{"group":null,"id":7,"labels":["red"],"name":"a","score":2}'
    assert found.entries == [
        ("titems:score", "7", "2.0", "2.0"),
        ("titem:name:a", "", "7", "7"),
        ("{tlabel}:red", "7", "", ""),
    ]
    assert not found.differs


def test_missing_and_different_entries_are_shown(item: Item, redis: Redis) -> None:
    redis.zadd("titems:score", {"7": 5})
    redis.srem("{tlabel}:red", 7)
    found = of_item()
    assert ("titems:score", "7", "2.0", "5.0") in found.entries
    assert ("{tlabel}:red", "7", "", None) in found.entries
    assert found.differs


def test_entries_of_an_outdated_record_are_shown(item: Item) -> None:
    item.labels.clear()
    found = of_item()
    assert ("{tlabel}:red", "7", None, "") in found.entries
    assert found.pending


def test_unknown_row_is_empty_on_both_sides() -> None:
    found = of_item("8")
    assert (found.sql, found.redis, found.entries, found.differs) == (None, None, [], False)


def test_every_mirror_of_a_model_is_explained(item: Item) -> None:
    found = {pk: [one.mirror for one in explain.explain("mirrortest.Item", pk)] for pk in ("7", "")}
    assert found == {"7": ["titem"], "": ["latest"]}


@pytest.mark.parametrize("name", ["mirrortest.Item", "mirrortest.item", "item", "Item", "titem"])
def test_model_can_be_named_in_several_ways(name: str, item: Item) -> None:
    assert "titem" in {found.mirror for found in explain.explain(name, "7")}


def test_edge_is_found_by_both_its_ends() -> None:
    Follow.objects.create(follower=1, followed=2)
    drains.drain_all()
    (found,) = explain.explain("tfollow", "1:2")
    assert [entry[2:] for entry in found.entries] == [("", ""), ("", "")]


def test_stray_edge_is_shown(redis: Redis) -> None:
    redis.sadd("tuid:{1}:following", 2)
    (found,) = explain.explain("tfollow", "1:2")
    assert ("tuid:{1}:following", "2", None, "") in found.entries
    assert found.differs


def test_error_for_an_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(NothingToExplain, match=r"'shoes'.*mirrortest\.Item"):
        explain.explain("shoes", "1")


@pytest.mark.parametrize("pk", ["x", "", "1.5", "9" * 30, "7 "])
def test_impossible_key_is_refused(pk: str) -> None:
    with pytest.raises(NothingToExplain, match=r"cannot be the key of a mirrortest\.Item"):
        explain.explain("titem", pk)


def test_unreadable_record_is_shown_as_text(item: Item, redis: Redis) -> None:
    redis.set("titem:7", b"\xffnonsense")
    found = of_item()
    assert found.redis == "�nonsense"
    assert found.differs


def test_key_of_the_wrong_type_is_named(item: Item, redis: Redis) -> None:
    redis.delete("titems:score")
    redis.set("titems:score", "x")
    with pytest.raises(scan.WrongType, match="titems:score"):
        of_item()
