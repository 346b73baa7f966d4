"""Explain one row: what SQL says, which entries it should have, and which Redis has."""

import pytest
from redis import Redis

from mirror import explain, relay, scan
from mirror.explain import NothingToExplain
from mirror.naming import key
from tests.support.mirror.app.models import Follow, Item, Label

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture
def item() -> Item:
    item = Item.objects.create(pk=7, name="a", score=2)
    item.labels.add(Label.objects.create(name="red"))
    relay.drain_all()
    return item


def of_item(pk: str = "7") -> explain.Explained:
    return next(found for found in explain.explain("mirrortest.Item", pk) if found.mirror == "titem")


def test_where_both_agree_it_says_the_same_of_both(item: Item) -> None:
    found = of_item()
    assert found.key == key("titem:7")
    assert found.sql == found.redis == '{"group":null,"id":7,"labels":["red"],"name":"a","score":2}'
    assert found.entries == [
        (key("titems:score"), "7", "2.0", "2.0"),
        (key("titem:name:a"), "", "7", "7"),
        (key("{tlabel}:red"), "7", "", ""),
    ]
    assert not found.differs


def test_what_redis_lacks_has_too_much_of_or_says_differently_is_shown(item: Item, redis: Redis) -> None:
    redis.zadd(key("titems:score"), {"7": 5})
    redis.srem(key("{tlabel}:red"), 7)
    found = of_item()
    assert (key("titems:score"), "7", "2.0", "5.0") in found.entries
    assert (key("{tlabel}:red"), "7", "", None) in found.entries
    assert found.differs


def test_entries_that_an_old_record_accounts_for_are_shown_too(item: Item) -> None:
    item.labels.clear()
    found = of_item()
    assert (key("{tlabel}:red"), "7", None, "") in found.entries
    assert found.pending


def test_a_row_that_is_nowhere_is_nothing_on_both_sides() -> None:
    found = of_item("8")
    assert (found.sql, found.redis, found.entries, found.differs) == (None, None, [], False)


def test_every_mirror_of_the_model_has_its_say(item: Item) -> None:
    assert {found.mirror for found in explain.explain("mirrortest.Item", "7")} == {"titem", "latest"}


@pytest.mark.parametrize("name", ["mirrortest.Item", "mirrortest.item", "item", "Item", "titem"])
def test_a_model_has_many_names(name: str, item: Item) -> None:
    assert "titem" in {found.mirror for found in explain.explain(name, "7")}


def test_an_edge_is_found_by_both_its_ends() -> None:
    Follow.objects.create(follower=1, followed=2)
    relay.drain_all()
    (found,) = explain.explain("tfollow", "1:2")
    assert [entry[2:] for entry in found.entries] == [("", ""), ("", "")]


def test_an_edge_that_is_gone_from_sql_and_not_from_redis_is_shown(redis: Redis) -> None:
    redis.sadd(key("tuid:{1}:following"), 2)
    (found,) = explain.explain("tfollow", "1:2")
    assert (key("tuid:{1}:following"), "2", None, "") in found.entries
    assert found.differs


def test_a_model_that_nobody_mirrors_is_said_with_those_that_are() -> None:
    with pytest.raises(NothingToExplain, match=r"'shoes'.*mirrortest\.Item"):
        explain.explain("shoes", "1")


@pytest.mark.parametrize("pk", ["x", "", "1.5", "9" * 30, "7 "])
def test_a_key_that_no_row_can_have_is_said(pk: str) -> None:
    with pytest.raises(NothingToExplain, match=r"cannot be the key of a mirrortest\.Item"):
        explain.explain("item", pk)


def test_a_record_that_cannot_be_read_is_shown_as_it_is(item: Item, redis: Redis) -> None:
    redis.set(key("titem:7"), b"\xffnonsense")
    found = of_item()
    assert found.redis == "�nonsense"
    assert found.differs


def test_a_key_of_the_wrong_type_is_named(item: Item, redis: Redis) -> None:
    redis.delete(key("titems:score"))
    redis.set(key("titems:score"), "x")
    with pytest.raises(scan.WrongType, match="titems:score"):
        of_item()
