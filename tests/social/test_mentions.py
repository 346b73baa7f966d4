"""Mentions: the mentioned readers, their pages, and the effect of blocks and mutes."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from social.content.mentions import MAX_MENTIONS, find_mentions
from social.models import Block, Mention, Mute
from social.selectors import get_mentions_of
from social.services.posts import create_post
from tests.support.social.timelines import ids_of, make_posts, make_users, read_all_ids, warm_up

JSON = "application/json"
pytestmark = pytest.mark.django_db(transaction=True)


def names(text: str, author: User | None = None) -> list[str]:
    """Return the names of mentioned readers as the text spells them."""
    return [name for _, name in find_mentions(text, author.pk if author else 0)]


@pytest.fixture
def kens() -> list[User]:
    """Create readers with common beginnings of names."""
    return make_users("ken", "ken thompson", "Ken Thompson-Li", "o'neil", "小明", "a.b")


TEXTS = [
    ("@ken", ["ken"]),
    ("@ken thompson says", ["ken thompson"]),
    ("@ken thompson-li", ["ken thompson-li"]),
    ("@ken thompso", ["ken"]),
    ("@ken thompsons", ["ken"]),
    ("@KEN  thompson", ["KEN"]),
    ("@ken\nthompson", ["ken"]),
    ("@ｋｅｎ THOMPSON!", ["ｋｅｎ THOMPSON"]),
    ("@kenneth", []),
    ("@ken's book", ["ken"]),
    ("@o'neil's book", ["o'neil"]),
    ("(@ken)", ["ken"]),
    ("@ken,@a.b.", ["ken", "a.b"]),
    ("＠ken", ["ken"]),
    ("问@小明好吗", ["小明"]),
    ("@ken你好", ["ken"]),
    ("mail a@ken.example", []),
    ("@@ken", ["ken"]),
    ("@ ken", []),
    ("@", []),
    ("@nobody here", []),
    ("https://example.com/@ken", []),
    ("https://example.com @ken", ["ken"]),
    ("@ken https://example.com", ["ken"]),
    ("@ken @KEN @ken thompson @ken", ["ken", "ken thompson"]),
]


def test_the_longest_existing_name_wins(kens: list[User]) -> None:
    for text, found in TEXTS:
        assert names(text) == found


def test_a_text_without_mentions_takes_no_query_and_others_one(kens: list[User]) -> None:
    for text, queries in (("hello ken", 0), ("@ken " * 100, 1), ("@小明" * 160, 1), ("@" + "a " * 30, 1)):
        with record() as seen:
            find_mentions(text, 1)
        assert len(seen.sql) == queries


def test_a_post_mentions_at_most_twenty_readers() -> None:
    everybody = make_users(*(f"reader {n:02}" for n in range(MAX_MENTIONS + 3)))
    found = find_mentions(" ".join(f"@{user.username}" for user in everybody), 0)
    assert [pk for pk, _ in found] == [user.pk for user in everybody[:MAX_MENTIONS]]


def test_a_mention_keeps_its_spelling_and_links_to_the_reader(client: Client) -> None:
    alice, ken = make_users("alice", "ken thompson")
    made = create_post(alice.pk, "hello @KEN Thompson, @ken thompson & @nobody")
    assert list(Mention.objects.values_list("user_id", "name")) == [(ken.pk, "KEN Thompson")]
    html = client.get(f"/posts/{made.pk}/").content.decode()
    assert '<a href="/u/KEN%20Thompson/">@KEN Thompson</a>' in html
    assert '<a href="/u/ken%20thompson/">@ken thompson</a>' in html
    assert "@nobody</p>" in html


def test_inactive_readers_and_shorter_names_are_not_mentioned(kens: list[User]) -> None:
    User.objects.filter(username="ken thompson").update(is_active=False)
    assert names("@ken thompson @ken") == ["ken"]


@pytest.mark.parametrize("is_blocker", [True, False])
def test_a_block_prevents_mentions_and_links(client: Client, is_blocker: bool) -> None:
    alice, bob = make_users("alice", "bob")
    Block.objects.create(blocker=alice if is_blocker else bob, blocked=bob if is_blocker else alice)
    made = create_post(alice.pk, "hello @bob")
    assert not Mention.objects.exists()
    assert "/u/bob/" not in client.get(f"/posts/{made.pk}/").content.decode()
    assert not get_mentions_of(bob.pk).posts


def test_a_mute_hides_mentions_without_revealing_it() -> None:
    alice, bob = make_users("alice", "bob")
    Mute.objects.create(user=bob, muted=alice)
    warm_up()
    made = create_post(alice.pk, "hello @bob")
    drain_all()
    assert made.mentions.get().user == bob
    assert read_all_ids(lambda after: get_mentions_of(bob.pk, after)) == []


def test_a_block_hides_older_mentions(client: Client) -> None:
    alice, bob = make_users("alice", "bob")
    warm_up()
    client.force_login(bob)
    made = create_post(alice.pk, "hello @bob")
    drain_all()
    assert ids_of(get_mentions_of(bob.pk)) == [made.pk]
    block = Block.objects.create(blocker=bob, blocked=alice)
    drain_all()
    assert read_all_ids(lambda after: get_mentions_of(bob.pk, after)) == []
    block.delete()
    drain_all()
    assert read_all_ids(lambda after: get_mentions_of(bob.pk, after)) == [made.pk]


def test_the_page_shows_posts_that_mention_the_reader(client: Client) -> None:
    alice, bob = make_users("alice", "bob")
    warm_up()
    made = create_post(alice.pk, "hello @bob")
    make_posts(alice)
    drain_all()
    client.force_login(bob)
    assert "hello" in client.get("/mentions/").content.decode()
    said: Any = client.get("/mentions/", headers={"Accept": JSON}).json()
    assert [each["id"] for each in said["results"]] == [made.pk]
    assert said["next"] is None
    client.force_login(alice)
    assert "No mentions yet." in client.get("/mentions/").content.decode()


def test_visitors_have_no_mentions(client: Client) -> None:
    assert client.get("/mentions/").headers["Location"] == "/accounts/login/?next=/mentions/"
    assert client.get("/mentions/", headers={"Accept": JSON}).status_code == 401
