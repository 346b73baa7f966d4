"""Views of books: counted in Redis at once, and in SQL a second later."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from accounts.sessions.rows import hash_token
from catalog.models import Book
from common import clock
from mirror.metrics import counted
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.visits import consume
from shop.book_views import popularity, visits
from shop.models import View
from shop.visits import views
from tests.support.catalog.make import make_book
from tests.support.servers import RedisServer
from tests.support.shop.book_views import (
    consume_views,
    count_unsaved_views,
    forget_counted_views,
    read_scores,
    read_viewed_books,
)
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"User-Agent": "Mozilla/5.0 (Phone)"}


@pytest.fixture
def book() -> Book:
    return make_book("The Ruby Programming Language")


def look(client: Client, book: Book, **headers: str) -> None:
    assert client.get(f"/books/{book.pk}/", headers=headers or None).status_code == 200


def own_digest(client: Client) -> str:
    return hash_token(client.cookies["sessionid"].value)


def test_a_view_counts_once_in_half_an_hour(client: Client, redis: Redis, book: Book) -> None:
    look(client, book)
    look(client, book)
    assert read_scores(redis) == {book.pk: 1}
    consume_views()
    assert View.objects.count() == 1
    [name] = redis.scan_iter(match=f"*:once:*:{book.pk}", count=1000)
    assert 1700 < redis.ttl(name) <= 1800
    forget_counted_views(redis)
    look(client, book)
    consume_views()
    assert read_scores(redis) == {book.pk: 2}
    assert View.objects.count() == 2
    assert count_unsaved_views(redis) == 0


def test_a_view_takes_one_round_trip_and_no_sql(client: Client, book: Book) -> None:
    popularity.count_view("a" * 64, book.pk, user_id=7)
    with record() as seen:
        popularity.count_view("b" * 64, book.pk, user_id=7)
    assert (seen.round_trips, seen.sql) == (1, [])


def test_a_logged_in_visitor_has_a_list_and_is_the_user_of_the_view(client: Client, redis: Redis, book: Book) -> None:
    user = User.objects.create_user("ken")
    client.force_login(user)
    look(client, book)
    assert read_viewed_books(redis, own_digest(client)) == [book.pk]
    consume_views()
    view = View.objects.get()
    assert (view.visitor, view.user, view.book) == (own_digest(client), user, book)
    assert timezone.now() - view.seen_at < timedelta(minutes=1)


def test_anonymous_visitors_are_distinguished_by_an_irreversible_id(client: Client, redis: Redis, book: Book) -> None:
    for address in ("192.0.2.1", "192.0.2.2"):
        client.get(f"/books/{book.pk}/", REMOTE_ADDR=address)
        client.get(f"/books/{book.pk}/", REMOTE_ADDR=address)
    client.get(f"/books/{book.pk}/", REMOTE_ADDR="192.0.2.1", headers=PHONE)
    consume_views()
    assert read_scores(redis) == {book.pk: 3}
    visitors = set(View.objects.values_list("visitor", flat=True))
    assert len(visitors) == 3
    assert not any(read_viewed_books(redis, visitor) for visitor in visitors)
    assert "sessionid" not in client.cookies
    assert not list(redis.scan_iter(match="*192.0.2*", count=1000))


def test_the_id_of_an_anonymous_visitor_depends_on_day_and_secret(
    client: Client, book: Book, settings: Settings
) -> None:
    request, now = client.get(f"/books/{book.pk}/").wsgi_request, clock.now()
    today = visits.make_visitor_id(request)
    assert visits.make_visitor_id(request) == today
    settings.CLOCK = lambda: now + timedelta(days=1)
    assert visits.make_visitor_id(request) != today
    settings.CLOCK = lambda: now
    settings.SECRET_KEY = "another"
    assert visits.make_visitor_id(request) != today


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
        {"User-Agent": "Some Spider"},
        {"User-Agent": "facebookexternalhit/1.1"},
    ],
)
def test_robots_and_prefetches_do_not_count(client: Client, redis: Redis, book: Book, headers: dict[str, str]) -> None:
    look(client, book, **headers)
    assert read_scores(redis) == {}
    look(client, book)
    assert read_scores(redis) == {book.pk: 1}


def test_head_requests_and_missing_books_do_not_count(client: Client, redis: Redis, book: Book) -> None:
    client.head(f"/books/{book.pk}/")
    client.get("/books/999999/")
    assert (read_scores(redis), count_unsaved_views(redis)) == ({}, 0)


def test_a_deleted_book_with_a_cached_page_does_not_count(client: Client, redis: Redis, book: Book) -> None:
    rebuild()
    popularity.count_view("a" * 64, book.pk)
    drain_all()
    look(Client(), book)
    pk = book.pk
    book.delete()
    drain_all()
    for _ in range(2):
        assert client.get(f"/books/{pk}/", headers=PHONE).status_code == 404
        assert read_scores(redis) == {}
    consume_views()
    assert not View.objects.exists()


def test_views_of_deleted_books_do_not_stop_the_others(redis: Redis, book: Book) -> None:
    gone, user = make_book("Gone"), User.objects.create_user("ken")
    popularity.count_view("a" * 64, gone.pk)
    popularity.count_view("b" * 64, book.pk, user_id=user.pk)
    Book.objects.filter(pk=gone.pk).delete()
    user.delete()
    assert consume_views() == 2
    view = View.objects.get()
    assert (view.book, view.user) == (book, None)
    assert count_unsaved_views(redis) == 0


def kill_before_removal(step: str) -> None:
    if step == "remove":
        raise KeyboardInterrupt


def test_a_view_is_written_once_even_if_its_session_moved_before_the_entry_was_removed(
    redis: Redis, book: Book
) -> None:
    """The consumer was killed after its commit, and then a login rotated the token."""
    popularity.count_view("a" * 64, book.pk)
    with pytest.raises(KeyboardInterrupt):
        consume(views, step=kill_before_removal)
    visits.move_views("a" * 64, "b" * 64)
    popularity.count_view("c" * 64, book.pk)
    assert consume_views() == 2
    assert sorted(View.objects.values_list("visitor", flat=True)) == ["b" * 64, "c" * 64]
    assert count_unsaved_views(redis) == 0


def test_a_malformed_view_is_dropped_and_the_others_are_written(redis: Redis, book: Book) -> None:
    stream, good = views.keys[0], {"visitor": "b" * 64, "user": "", "book": book.pk, "at": 10**15}
    popularity.count_view("a" * 64, book.pk)
    for fields in ({"some": "thing"}, good | {"at": "today"}, good | {"book": "x"}, good | {"at": 10**30}, good):
        redis.xadd(stream, fields)  # type: ignore[arg-type]
    redis.xadd(stream, good | {"visitor": "too long" * 10})  # type: ignore[arg-type]
    assert consume_views() == 7
    assert set(View.objects.values_list("visitor", flat=True)) >= {"a" * 64, "b" * 64}
    assert count_unsaved_views(redis) == 0


def test_with_redis_away_the_page_stays_fast_and_the_view_is_dropped_and_counted(
    redis_server: RedisServer, client: Client, book: Book
) -> None:
    dropped = list[dict[str, str]]()

    def add(*, name: str, labels: dict[str, str], **kwargs: object) -> None:
        if name == "visits_dropped":
            dropped.append(labels)

    redis_server.kill()
    counted.connect(add)
    look(client, book)
    with record() as seen:
        popularity.count_view("a" * 64, book.pk)
    counted.disconnect(add)
    assert (seen.round_trips, seen.sql) == (0, [])
    assert [labels["reason"] for labels in dropped if labels["kind"] == "view"] == ["unavailable"] * 2
    assert View.objects.count() == 0
