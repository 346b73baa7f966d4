"""What is asked for somebody before their session is read: it saves round trips, and shows nobody anything."""

import pytest
from django.test import Client
from redis import Redis

from accounts.models import Session, User
from accounts.session_rows import digest_of
from mirror.recorder import record
from mirror.relay import drain_all
from shop import keys
from shop.models import Product
from shop.pagecache import people
from social.models import Block, Post
from tests.support.shop.cached import made, path_of, product, text, warm
from tests.support.shop.make import make_product

__all__ = ["made", "product"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_sqlite]


def logged_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name))
    return client


def digest(client: Client) -> str:
    """What their session is known by."""
    return digest_of(client.cookies["sessionid"].value)


@pytest.fixture
def readers(product: Product, redis: Redis) -> tuple[Client, Client]:
    """Two people, of whom the first has been at the page, and the second at another one. There is a post on both."""
    bob, stone = User.objects.create_user("bob"), make_product("The Book of Stone")
    for book in (product.book, stone.book):
        Post.objects.create(user=bob, book=book, text="Endless.")
    alice, carol = logged_in("alice"), logged_in("carol")
    warm()
    redis.zadd(keys.viewed(), {str(stone.pk): -3})
    for client, path in ((alice, path_of(product)), (carol, path_of(stone))):
        text(client, path)
    return alice, carol


def test_what_a_page_asked_of_one_person_is_asked_ahead_of_the_next(
    readers: tuple[Client, Client], product: Product
) -> None:
    with record() as seen:
        assert "carol" in text(readers[1], path_of(product))
    assert (seen.round_trips, seen.sql) == (1, [])


def test_each_is_shown_what_they_may_see(readers: tuple[Client, Client], product: Product) -> None:
    """Whatever was asked for whom before."""
    names = ("alice", "carol")
    Block.objects.create(blocker=User.objects.get(username="alice"), blocked=User.objects.get(username="bob"))
    drain_all()
    for _ in range(3):
        pages = [text(client, path_of(product)) for client in readers]
        assert ["Endless." in page for page in pages] == [False, True]
        assert [[name in page for name in names] for page in pages] == [[True, False], [False, True]]


def test_a_view_that_is_counted_on_the_way_is_theirs(
    readers: tuple[Client, Client], product: Product, redis: Redis
) -> None:
    carol, pk = User.objects.get(username="carol").pk, str(product.pk)
    before = redis.zscore(keys.viewed(), pk) or 0
    for _ in range(2):
        text(readers[1], path_of(product))
    assert redis.zscore(keys.viewed(), pk) == before - 1
    assert redis.zscore(keys.viewed_by(digest(readers[1])), pk)
    marks = [mark.decode() for mark in redis.zrange(keys.viewed_marks(), 0, -1)]
    assert sum(mark.startswith(f"{digest(readers[1])}|{carol}|{pk}|") for mark in marks) == 1


def test_whose_session_ended_meanwhile_is_a_stranger_and_known_no_more(
    readers: tuple[Client, Client], product: Product
) -> None:
    token, was = readers[1].cookies["sessionid"].value, digest(readers[1])
    assert people._known.get(was)
    Session.objects.filter(pk=was).delete()
    drain_all()
    page = text(readers[1], path_of(product))
    assert "carol" not in page
    assert "/accounts/login/" in page
    assert people._known.get(was) is None
    readers[1].cookies["sessionid"] = token
    assert "carol" not in text(readers[1], path_of(product))


def test_who_is_no_user_any_more_is_not_counted_as_one(readers: tuple[Client, Client], product: Product) -> None:
    User.objects.filter(username="carol").update(is_active=False)
    drain_all()
    text(readers[1], path_of(product))
    known = people._known.get(digest(readers[1])) if "sessionid" in readers[1].cookies else None
    assert known is None or known.user is None


def test_nobody_is_counted_as_whoever_they_say_they_are(product: Product, redis: Redis) -> None:
    """A token that is nobody's makes no list of what was seen under it."""
    liar = Client()
    for _ in range(3):
        liar.cookies["sessionid"] = "a" * 32
        text(liar, path_of(product))
    assert not redis.exists(keys.viewed_by(digest_of("a" * 32)))
