"""With several buckets the site answers as with one, from divided keys."""

import pytest
from django.test import Client
from redis import Redis

from accounts import keys as accounts_keys
from accounts.models import Session, User
from catalog import keys
from catalog.local.index import local_copy
from catalog.models import Book
from catalog.search.selectors import search
from catalog.selectors import find_books
from mirror import registry
from mirror.declare.buckets import find_bucket_key, list_bucket_keys
from mirror.relay import drains
from mirror.verify import runs
from tests.support import warm_mirrors
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import own_copy

__all__ = ["own_copy"]
pytestmark = pytest.mark.django_db(transaction=True)
BUCKETS = 3


@pytest.fixture(autouse=True)
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("book", "session"):
        monkeypatch.setattr(registry.get(name), "buckets", BUCKETS)


@pytest.mark.usefixtures("own_copy")
def test_books_are_found_by_tags_in_buckets(redis: Redis) -> None:
    books = [make_book(f"Book {n}", tags="ruby web" if n % 2 else "ruby") for n in range(8)]
    warm_mirrors.rebuild()
    assert local_copy.ensure_loaded()
    sets = list_bucket_keys(keys.tag("ruby"), BUCKETS)
    used = {find_bucket_key(keys.tag("ruby"), str(book.pk), BUCKETS) for book in books}  # some ids leave one empty
    assert {key for key in (*sets, keys.tag("ruby")) if redis.exists(key)} == used
    pairs = zip(sets, list_bucket_keys(keys.tag("web"), BUCKETS), strict=True)
    both = {int(pk) for pair in pairs for pk in redis.sinter(list(pair))}  # bucket by bucket, each in one slot
    assert both == {book.pk for book in books[1::2]}
    assert {book["id"] for book in find_books("ruby & web").books} == both
    books[1].tags.clear()
    Book.objects.filter(pk=books[3].pk).delete()
    drains.drain_all()
    assert {book["id"] for book in find_books("ruby & web").books} == {books[5].pk, books[7].pk}
    assert [(tag.name, tag.weight) for tag in search("ruby").tags] == [("ruby", 6)]
    assert runs.verify(["book"]) == []


def test_tokens_are_in_the_bucket_of_their_digest(redis: Redis) -> None:
    reader = User.objects.create_user("reader", "reader@example.com", "a long password")
    warm_mirrors.rebuild()
    clients = [Client() for _ in range(8)]
    for client in clients:
        client.force_login(reader)
    drains.drain_all()
    tokens = [redis.hgetall(key) for key in list_bucket_keys(accounts_keys.tokens(), BUCKETS)]
    for key, part in zip(list_bucket_keys(accounts_keys.tokens(), BUCKETS), tokens, strict=True):
        assert {find_bucket_key(accounts_keys.tokens(), digest.decode(), BUCKETS) for digest in part} <= {key}
    assert {digest.decode() for part in tokens for digest in part} == set(Session.objects.values_list("pk", flat=True))
    assert {pk for part in tokens for pk in part.values()} == {str(reader.pk).encode()}
    clients[0].logout()
    drains.drain_all()
    assert sum(redis.hlen(key) for key in list_bucket_keys(accounts_keys.tokens(), BUCKETS)) == 7
    assert not redis.exists(accounts_keys.tokens())
    assert runs.verify(["session"]) == []
