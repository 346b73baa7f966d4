"""A deleted post disappears from every page at the next request, even while windows still have its id."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from redis import Redis

from accounts.models import User
from mirror.redis.clients import breaker
from mirror.relay import drains
from social import keys
from social.models import Post
from social.services.posts import create_post
from tests.support.catalog.make import make_book
from tests.support.servers import RedisServer
from tests.support.social.timelines import follow, make_users, warm_up

JSON = "application/json"
TEXT = "What I regret"
pytestmark = pytest.mark.django_db(transaction=True)


class Town:
    """bob follows alice, who has mentioned him in a post about a book."""

    def __init__(self) -> None:
        self.alice, self.bob = make_users("alice", "bob")
        follow(self.bob, self.alice)
        self.book = make_book("Emma")
        self.post = create_post(self.alice.pk, f"{TEXT}, @bob #oh", book_id=self.book.pk)
        create_post(self.alice.pk, "What I said before, @bob #oh", book_id=self.book.pk)
        warm_up(self.alice, self.bob)
        self.pages = ["/", "/home/", "/global/", "/u/alice/", f"/books/{self.book.pk}/", "/tags/oh/", "/mentions/",
                      f"/books/{self.book.pk}/posts/"]  # fmt: skip

    def where_it_is(self, reader: User) -> list[str]:
        """Return the pages that show the post to a reader, in HTML or JSON."""
        client = Client()
        client.force_login(reader)
        one = f"/posts/{self.post.pk}/"
        return [
            f"{path} {accept}"
            for path in (one, *self.pages)
            for accept in ("text/html", JSON)
            if TEXT in client.get(path, headers={"Accept": accept}).content.decode()
        ]


@pytest.fixture
def town() -> Town:
    return Town()


def _by_its_author(town: Town) -> None:
    client = Client()
    client.force_login(town.alice)
    assert client.post(f"/posts/{town.post.pk}/delete/").status_code == 302


def _by_orm(town: Town) -> None:
    Post.objects.filter(pk=town.post.pk).delete()
    drains.drain_all()


def _with_its_author(town: Town) -> None:
    User.objects.filter(pk=town.alice.pk).update(is_active=False)
    drains.drain_all()


def _with_raw_sql(town: Town) -> None:
    with connection.cursor() as cursor:
        for table, column in (("mention", "post_id"), ("hashtag", "post_id"), ("post", "id")):
            cursor.execute(f"DELETE FROM social_{table} WHERE {column} = %s", [town.post.pk])
    drains.drain_all()


@pytest.mark.parametrize("delete", [_by_its_author, _by_orm, _with_its_author, _with_raw_sql])
def test_a_deleted_post_disappears_from_every_page(town: Town, delete: Callable[[Town], None]) -> None:
    assert len(town.where_it_is(town.bob)) == 17  # nine pages in both formats; the JSON of a book has no posts
    delete(town)
    assert town.where_it_is(town.bob) == []


def test_ids_of_deleted_posts_in_windows_are_skipped(town: Town, redis: Redis) -> None:
    _by_its_author(town)
    drains.drain_all()
    windows = (keys.timeline(town.bob.pk), keys.global_timeline(), keys.book_posts(town.book.pk), keys.hashtag("oh"),
               keys.mentions_of(town.bob.pk), keys.posts_of(town.alice.pk))  # fmt: skip
    for window in windows:
        assert redis.exists(window)
        redis.zadd(window, {str(town.post.pk): town.post.pk})
    assert town.where_it_is(town.bob) == []


def test_a_deleted_post_disappears_for_its_author_without_redis(town: Town, redis_server: RedisServer) -> None:
    redis_server.kill()
    breaker.reset()
    _by_its_author(town)
    for reader in (town.alice, town.bob):
        assert town.where_it_is(reader) == []


def test_a_hidden_post_disappears_and_comes_back(town: Town) -> None:
    Post.objects.filter(pk=town.post.pk).update(is_hidden=True)
    drains.drain_all()
    assert town.where_it_is(town.alice) == town.where_it_is(town.bob) == []
    Post.objects.filter(pk=town.post.pk).update(is_hidden=False)
    drains.drain_all()
    assert town.where_it_is(town.bob)
