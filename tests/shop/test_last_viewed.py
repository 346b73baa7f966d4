"""A visitor's last viewed books: visible to that visitor only, and restored after Redis has lost them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from redis import Redis

from accounts.models import Session, User
from accounts.sessions.rows import hash_token
from accounts.sessions.services import end_all_sessions
from catalog.models import Book
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from shop import keys
from shop.book_views import popularity, visits
from shop.models import View
from tests.support.catalog.make import make_book
from tests.support.servers import RedisServer
from tests.support.shop.book_views import consume_views, read_viewed_books
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
ME = "a" * 64


@pytest.fixture
def books() -> list[Book]:
    """More books than a list holds, with a warm mirror."""
    made = [make_book(f"Book {n}") for n in range(popularity.MAX_LAST_VIEWED + 3)]
    rebuild(["book"])
    return made


def titles(digest: str | None = ME, count: int = popularity.MAX_LAST_VIEWED) -> list[str]:
    return [book["title"] for book in visits.get_last_viewed(digest, count)]


def look_at(*books: Book, digest: str = ME) -> None:
    for book in books:
        popularity.count_view(digest, book.pk)


def test_the_last_25_are_kept_and_the_latest_comes_first(redis: Redis, books: list[Book]) -> None:
    look_at(*books, books[10])
    expected = [books[10].pk, *(book.pk for book in reversed(books) if book != books[10])]
    assert read_viewed_books(redis, ME) == expected[:25]
    assert titles(count=2) == ["Book 10", "Book 27"]
    assert [book["title"] for book in visits.get_last_viewed(ME, 2, but=books[10].pk)] == ["Book 27", "Book 26"]
    assert 0 < redis.ttl(keys.last_viewed(ME)) <= 14 * 86_400


def test_a_complete_list_takes_two_round_trips_and_no_sql(books: list[Book]) -> None:
    look_at(*books[:3])
    assert len(titles()) == 3
    with record() as seen:
        assert titles() == ["Book 2", "Book 1", "Book 0"]
    assert (seen.round_trips, seen.sql) == (2, [])
    with record() as seen:
        assert titles(None) == []
    assert (seen.round_trips, seen.sql) == (0, [])


def test_a_lost_list_is_restored_and_merged_with_newer_views(redis: Redis, books: list[Book]) -> None:
    look_at(*books)
    consume_views()
    assert titles()[0] == "Book 27"
    redis.flushdb()
    look_at(books[0])
    rebuild(["book"])
    assert titles() == ["Book 0", *(f"Book {n}" for n in range(27, 3, -1))]
    assert len(read_viewed_books(redis, ME)) == 25
    with record() as seen:
        titles()
    assert seen.sql == []


def test_a_list_of_another_incarnation_is_not_trusted(redis: Redis, books: list[Book]) -> None:
    look_at(books[0], books[1])
    consume_views()
    titles()
    redis.zrem(keys.last_viewed(ME), str(books[1].pk))  # Redis restarted from an older file ...
    assert titles() == ["Book 0"]
    redis.delete(keys.last_viewed_marker(ME))  # ... as the marker shows
    assert titles() == ["Book 1", "Book 0"]


def test_sql_has_the_same_list_after_its_views_were_consumed(redis_server: RedisServer, books: list[Book]) -> None:
    look_at(*books[:5])
    consume_views()
    with sql_only():
        assert titles() == [f"Book {n}" for n in range(4, -1, -1)]
    redis_server.kill()
    assert titles() == [f"Book {n}" for n in range(4, -1, -1)]


def test_a_login_keeps_the_viewed_books(client: Client, redis: Redis, books: list[Book]) -> None:
    user = User.objects.create_user("ken", password="a long password")
    session = client.session
    session.save()
    client.cookies["sessionid"] = str(session.session_key)
    for book in books[:2]:
        client.get(f"/books/{book.pk}/")
    old = hash_token(str(session.session_key))
    consume_views()
    assert read_viewed_books(redis, old) == [books[1].pk, books[0].pk]
    client.post("/accounts/login/", {"username": "ken", "password": "a long password"})
    new = hash_token(client.cookies["sessionid"].value)
    assert new != old
    assert read_viewed_books(redis, new) == [books[1].pk, books[0].pk]
    assert not redis.exists(keys.last_viewed(old))
    assert set(View.objects.values_list("visitor", "user")) == {(new, user.pk)}
    redis.delete(keys.last_viewed(new))
    assert titles(new) == ["Book 1", "Book 0"]


def test_the_list_ends_with_its_session(redis: Redis, books: list[Book]) -> None:
    user = User.objects.create_user("ken")
    Session.objects.create(pk=ME, user=user, session_data="", expire_date=timezone.now() + timedelta(days=1))
    look_at(*books[:2])
    titles()
    end_all_sessions(user)
    assert not redis.exists(keys.last_viewed(ME), keys.last_viewed_marker(ME))


def test_deleting_a_user_deletes_the_list_and_anonymises_the_views(redis: Redis, books: list[Book]) -> None:
    user = User.objects.create_user("ken")
    Session.objects.create(pk=ME, user=user, session_data="", expire_date=timezone.now() + timedelta(days=1))
    look_at(books[0])
    consume_views()
    look_at(books[1])
    titles()
    user.delete()
    assert not redis.exists(keys.last_viewed(ME), keys.last_viewed_marker(ME))
    consume_views()
    assert set(View.objects.values_list("book", "user")) == {(books[0].pk, None), (books[1].pk, None)}


def test_only_its_owner_sees_it_on_the_front_page(client: Client, books: list[Book]) -> None:
    client.force_login(User.objects.create_user("ken"))
    client.get(f"/books/{books[0].pk}/")
    assert "Recently viewed" in client.get("/").content.decode()
    assert "Recently viewed" not in Client().get("/").content.decode()
    other = Client()
    other.force_login(User.objects.create_user("dennis"))
    assert "Recently viewed" not in other.get("/").content.decode()
