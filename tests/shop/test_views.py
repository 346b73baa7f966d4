"""Who looked at which book: counted in Redis at once, in SQL a second later."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from redis import Redis

from accounts.models import User
from catalog.models import Book
from mirror.backup import registry
from mirror.backup.flush import flush
from mirror.rebuild import rebuild
from mirror.recorder import record
from mirror.relay import drain_all
from shop import keys, popularity, viewing
from shop.models import View
from tests.catalog.make import make_book

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def book() -> Book:
    return make_book("The Ruby Programming Language")


def score(redis: Redis, book: Book) -> float | None:
    return redis.zscore(keys.viewed(), str(book.pk))


def seen_by(redis: Redis, digest: str) -> list[int]:
    return [int(pk) for pk in redis.zrevrange(keys.viewed_by(digest), 0, -1)]


def to_sql() -> None:
    flush(registry.get("view"))


def test_a_look_counts_once_in_half_an_hour(client: Client, redis: Redis, book: Book) -> None:
    client.get(f"/books/{book.pk}/")
    client.get(f"/books/{book.pk}/")
    assert score(redis, book) == -1
    to_sql()
    assert View.objects.count() == 1
    [name] = redis.keys(keys.viewed_once("*", book.pk).replace("{", "?").replace("}", "?"))
    assert 1700 < redis.ttl(name) <= 1800
    redis.delete(name)  # half an hour later
    client.get(f"/books/{book.pk}/")
    assert score(redis, book) == -2
    to_sql()
    assert View.objects.count() == 2


def test_who_is_logged_in_has_a_list_and_is_the_user_of_the_view(client: Client, redis: Redis, book: Book) -> None:
    user = User.objects.create_user("ken")
    client.force_login(user)
    client.get(f"/books/{book.pk}/")
    digest = client.session.digest  # type: ignore[attr-defined]
    assert seen_by(redis, digest) == [book.pk]
    to_sql()
    view = View.objects.get()
    assert (view.visitor, view.user, view.book) == (digest, user, book)
    assert timezone.now() - view.seen_at < timedelta(minutes=1)
