"""Paging during a hundred posts per second: no duplicates and no gaps, above and below the floors."""

import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.models import User
from mirror import registry
from mirror.models import Change
from mirror.outbox import changes
from mirror.relay import drains
from mirror.upkeep import rebuild
from mirror.windows import push, window
from social import selectors
from social.models import Follow, Post
from social.services import posts
from social.timelines import pages as reading
from tests.support.faults.tools import again_and_again
from tests.support.servers import wait_until
from tests.support.social import town
from tests.support.social.naive import facts

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.only_on("postgres")]

AUTHORS, PAGE, WINDOW, WALKS = 4, 10, 40, 4
RATE = 100  # posts per second, of all authors together


class Talk:
    """Authors that post all the time. ``said`` has the committed posts."""

    def __init__(self, authors: list[int]) -> None:
        self.authors, self.said, self.count, self.is_over = authors, set[int](), 0, False
        self.lock, self.started = threading.Lock(), time.monotonic()

    def post(self, author: int) -> None:
        """Create one post at its time."""
        self._wait_for_the_turn()
        self._note(posts.create_post(author, "something").pk)

    def post_late(self, author: int) -> None:
        """Commit a post after others with higher ids (only on PostgreSQL, since SQLite has one writer)."""
        self._wait_for_the_turn()
        with transaction.atomic():
            made = posts.create_post(author, "something that takes a while").pk
            if connection.vendor == "postgresql":
                count = len(self.said)
                wait_until(lambda: self.is_over or len(self.said) > count + 5, "posts that come between")
        self._note(made)

    def _wait_for_the_turn(self) -> None:
        with self.lock:
            self.count += 1
            turn = self.started + self.count / RATE
        time.sleep(max(0.0, turn - time.monotonic()))  # keep to the rate

    def _note(self, pk: int) -> None:
        with self.lock:
            self.said.add(pk)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrink windows, so that a few pages go below their floors."""
    monkeypatch.setattr(reading, "PAGE_SIZE", PAGE)
    for name in town.WINDOWS:
        monkeypatch.setattr(type(registry.get(name)), "length", WINDOW)


@pytest.fixture
def talk(small: None) -> Iterator[Talk]:
    """Create readers with earlier posts; the first reader follows all others."""
    reader, *authors = User.objects.bulk_create(User(username=f"p{n}") for n in range(AUTHORS + 1))
    Follow.objects.bulk_create(Follow(follower=reader, followee=author) for author in authors)
    Post.objects.bulk_create(Post(user=authors[n % AUTHORS], text="long ago") for n in range(3 * WINDOW))
    rebuild.rebuild(town.MIRRORS)
    drains.drain_all()
    assert window.warm(town.TIMELINE, str(reader.pk))
    yield Talk([author.pk for author in authors])
    Post.objects.all()._raw_delete("default")


def _relay() -> None:
    drains.drain_all(0.2)
    push.push_all()


def _is_at_rest() -> bool:
    _relay()
    return not Change.objects.pending().exists()


def _arrived(talk: Talk) -> set[int]:
    """Return the posts so far, after the mirrors have them."""
    said, last = set(talk.said), changes.newest_unapplied()
    if last is not None:
        wait_until(lambda: not changes.is_unapplied_up_to(last), "what was posted")
    return said


def test_pages_have_no_duplicates_and_no_gaps_while_posts_arrive(talk: Talk) -> None:
    """``read_all_posts`` fails on duplicates and on a wrong order."""
    reader, old = User.objects.get(username="p0").pk, set(Post.objects.values_list("pk", flat=True))
    first, *others = talk.authors
    pages: dict[str, Any] = {
        "home": partial(selectors.get_home_timeline, reader),
        "global": partial(selectors.get_global_timeline, reader),
        "profile": partial(selectors.get_posts_by, first, reader),
    }
    writers = [partial(talk.post, author) for author in others] + [partial(talk.post_late, first)]
    with again_and_again(*writers, _relay):
        for walk in range(1, WALKS + 1):
            # When the last of them arrives, the first ones are already below the floors.
            wait_until(lambda: len(talk.said) > WINDOW * walk // WALKS, "posts")  # noqa: B023
            for name, page in pages.items():
                should = old | _arrived(talk)
                seen = {post["id"] for post in town.read_all_posts(page)}
                if name == "profile":
                    should &= set(Post.objects.filter(user_id=first).values_list("pk", flat=True))
                assert should <= seen, f"{name} skipped {sorted(should - seen)}"
        talk.is_over = True
    wait_until(_is_at_rest, "coming to rest")
    assert [post["id"] for post in town.read_all_posts(pages["home"])] == facts().home(reader)
