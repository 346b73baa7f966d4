"""Reads ahead of the session save round trips and never decide about the content of a page."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.test import Client, RequestFactory
from redis import Redis

from accounts.models import Session, User
from accounts.sessions.rows import hash_token
from catalog import keys as catalog_keys
from mirror.read import Asked
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop import keys
from shop.models import Product
from shop.pagecache import readers as page_readers
from shop.visits import views
from social import keys as social_keys
from social.models import Block, Post
from tests.support.shop.make import make_product
from tests.support.shop.page_cache import get_page, made, page_path, product, warm_page_mirrors

__all__ = ["made", "product"]
pytestmark = pytest.mark.django_db(transaction=True)


def logged_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_user(name))
    return client


def digest(client: Client) -> str:
    """Return the digest of the client's session."""
    return hash_token(client.cookies["sessionid"].value)


@pytest.fixture
def readers(product: Product, redis: Redis) -> tuple[Client, Client]:
    """Two users. The first has seen the page, the second another page, and both pages have a post."""
    bob, stone = User.objects.create_user("bob"), make_product("The Book of Stone")
    for book in (product.book, stone.book):
        Post.objects.create(user=bob, book=book, text="Endless.")
    alice, carol = logged_in("alice"), logged_in("carol")
    warm_page_mirrors()
    redis.zadd(keys.popularity(), {str(stone.pk): -3})
    for client, path in ((alice, page_path(product)), (carol, page_path(stone))):
        get_page(client, path)
    return alice, carol


def test_reads_for_one_user_are_made_ahead_for_the_next(readers: tuple[Client, Client], product: Product) -> None:
    with record() as seen:
        assert "carol" in get_page(readers[1], page_path(product))
    assert (seen.round_trips, seen.sql) == (1, [])


def test_blocks_apply_to_each_user_despite_reads_ahead(readers: tuple[Client, Client], product: Product) -> None:
    """The reads that were made ahead have no influence."""
    names = ("alice", "carol")
    Block.objects.create(blocker=User.objects.get(username="alice"), blocked=User.objects.get(username="bob"))
    drain_all()
    for _ in range(3):
        pages = [get_page(client, page_path(product)) for client in readers]
        assert ["Endless." in page for page in pages] == [False, True]
        assert [[name in page for name in names] for page in pages] == [[True, False], [False, True]]


def test_a_view_counted_ahead_belongs_to_the_user(
    readers: tuple[Client, Client], product: Product, redis: Redis
) -> None:
    carol, pk = User.objects.get(username="carol").pk, str(product.pk)
    before = redis.zscore(keys.popularity(), pk) or 0
    for _ in range(2):
        get_page(readers[1], page_path(product))
    assert redis.zscore(keys.popularity(), pk) == before - 1
    assert redis.zscore(keys.last_viewed(digest(readers[1])), pk)
    entries = [fields for _, fields in redis.xrange(views.keys[0])]
    own = {b"visitor": digest(readers[1]).encode(), b"user": str(carol).encode(), b"book": pk.encode()}
    assert sum(fields.items() >= own.items() for fields in entries) == 1


def test_an_ended_session_becomes_anonymous_and_is_forgotten(readers: tuple[Client, Client], product: Product) -> None:
    token, was = readers[1].cookies["sessionid"].value, digest(readers[1])
    assert page_readers._sessions.get(was)
    Session.objects.filter(pk=was).delete()
    drain_all()
    page = get_page(readers[1], page_path(product))
    assert "carol" not in page
    assert "/accounts/login/" in page
    assert page_readers._sessions.get(was) is None
    readers[1].cookies["sessionid"] = token
    assert "carol" not in get_page(readers[1], page_path(product))


def test_a_deactivated_user_is_not_remembered(readers: tuple[Client, Client], product: Product) -> None:
    User.objects.filter(username="carol").update(is_active=False)
    drain_all()
    get_page(readers[1], page_path(product))
    known = page_readers._sessions.get(digest(readers[1])) if "sessionid" in readers[1].cookies else None
    assert known is None or known.user is None


def test_a_forged_token_creates_no_list_of_viewed_books(product: Product, redis: Redis) -> None:
    """The token belongs to no session."""
    liar = Client()
    for _ in range(3):
        liar.cookies["sessionid"] = "a" * 32
        get_page(liar, page_path(product))
    assert not redis.exists(keys.last_viewed(hash_token("a" * 32)))


def ask_for(*names: str) -> list[Asked]:
    return [Asked.of(["book"], lambda pipe, name=name: pipe.get(name)) for name in names]  # type: ignore[misc]


def test_a_plan_has_what_two_visits_have_in_common_for_any_reader(made: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the posts and books of the last reader, and the keys of the next reader in place of those of the last one."""
    monkeypatch.setattr(page_readers, "PLAN_SECONDS", 0.0)

    def visit(user: int, *names: str) -> None:
        request: Any = RequestFactory().get("/")
        request.session, request.user = SimpleNamespace(digest=f"digest of {user}"), SimpleNamespace(pk=user)
        own = (catalog_keys.shelf_of(user, "read"), catalog_keys.shelf_settings(user), social_keys.following(user))
        reader = page_readers.Reader(f"digest of {user}", Asked((), ()))
        page_readers.remember_visit("front", reader, request, ask_for(*own, "books:popular", *names))

    def list_planned(user: int) -> list[str]:
        reader = page_readers.Reader(f"digest of {user}", Asked((), ()), user, is_known=True)
        planned = cast("list[Asked]", page_readers.get_planned_reads("front", reader))
        return sorted(args[1] for one in planned for args, _ in one.commands)

    visit(7, "post:1", "book:8")
    assert {"post:1", "shelf:read:{9}", "shelves:9", "uid:{9}:following", "books:popular"} <= set(list_planned(9))
    visit(8, "post:2", "book:8")
    # The book has the id of the second reader, so it looks like a key of that reader.
    assert list_planned(9) == ["books:popular", "shelf:read:{9}", "shelves:9", "uid:{9}:following"]
    visit(9, "post:2", "book:8")
    assert list_planned(5) == ["books:popular", "post:2", "shelf:read:{5}", "shelves:5", "uid:{5}:following"]
