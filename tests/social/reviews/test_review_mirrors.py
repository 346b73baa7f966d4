"""Mirrors of reviews: Redis equals SQL, and both equal plain rows, after any operations in any order."""

from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from redis import Redis

from accounts.models import User
from catalog.models import Book
from catalog.shelves import services as shelves
from catalog.shelves.models import Privacy, Shelf, ShelfEntry, ShelfSettings
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social import selectors
from social.models import Block, Follow, Like, Mute, Post
from social.reviews.models import Review
from social.reviews.selectors import Order, get_reviews
from social.reviews.services import Draft, write_review
from social.services import posts
from tests.support.state_machines import SEEDS
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]

MIRRORS = ["review", "ranked_review", "rated_post", "post", "like"]
TODAY = date(2026, 5, 4)
PAGE = 3


class World:
    """Readers, books, and what the pages should show, computed from plain rows."""

    def __init__(self) -> None:
        self.readers = User.objects.bulk_create(User(username=f"reader {n}", name_key=f"reader {n}") for n in range(6))
        self.books = Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(2))

    def find_stars(self, user: int, book: int | None) -> int | None:
        entry = ShelfEntry.objects.filter(user=user, book=book).first()
        settings = ShelfSettings.objects.filter(pk=user).first()
        if entry is None:
            return None
        column = {"want-to-read": "want", "reading": "reading", "read": "read"}[entry.shelf]
        is_public = settings is None or getattr(settings, f"{column}_privacy") == Privacy.PUBLIC
        return entry.stars if is_public else None

    def expect(self, book: int, viewer: int | None, order: Order, stars: int | None) -> list[tuple[Any, ...]]:
        """Return id, stars and likes of each review that the viewer should see, in their order."""
        blocked_and_muted = set(Mute.objects.filter(user=viewer).values_list("muted", flat=True))
        blocked_and_muted |= set(Block.objects.filter(blocker=viewer).values_list("blocked", flat=True))
        blocked_and_muted |= set(Block.objects.filter(blocked=viewer).values_list("blocker", flat=True))
        followed = set(Follow.objects.filter(follower=viewer).values_list("followee", flat=True))
        found = []
        for review in Review.objects.filter(book=book).exclude(text="").select_related("post", "user"):
            if review.user.is_active and not review.post.is_hidden and review.user_id not in blocked_and_muted:
                likes = Like.objects.filter(post=review.pk, user__is_active=True).count()
                halves = self.find_stars(review.user_id, book)
                found.append((review.pk, halves, likes, review.user_id in followed))
        if stars is not None:
            found = [one for one in found if one[1] == stars]
            order = Order.NEWEST
        if order == Order.STARS:
            found = [one for one in found if one[1]]
        ranks: dict[Order, Callable[[Any], Any]] = {
            Order.NEWEST: lambda one: one[0],
            Order.HELPFUL: lambda one: (one[2], one[0]),
            Order.STARS: lambda one: (one[1], one[0]),
            Order.FOLLOWED: lambda one: (one[3], 0 if one[3] else one[2], one[0]),
        }
        return [one[:3] for one in sorted(found, key=ranks[order], reverse=True)]

    def read(self, book: int, viewer: int | None, order: Order, stars: int | None) -> list[tuple[Any, ...]]:
        """Return the same from the pages."""
        found: list[tuple[Any, ...]] = []
        after = None
        while True:
            page = get_reviews(book, viewer, order, stars, after, PAGE).page
            found += [(post["id"], post.tally.stars, post.tally.likes) for post in page.posts]
            if page.after is None:
                return found
            after = page.after

    def read_everything(self) -> list[Any]:
        people = [None, *(reader.pk for reader in self.readers[:2])]
        found: list[Any] = []
        for book in self.books:
            for viewer in people:
                found += [self.read(book.pk, viewer, order, None) for order in Order]
                found += [self.read(book.pk, viewer, Order.HELPFUL, stars) for stars in (1, 7, 10)]
            found.append(get_reviews(book.pk, self.readers[0].pk)[1:])
        for reader in self.readers:
            page = selectors.get_posts_by(reader.pk, None)
            found.append([(post["id"], post["kind"], post["text"], post.tally.stars) for post in page.posts])
        return found

    def check(self) -> None:
        with record() as seen:
            from_redis = self.read_everything()
        assert [sql for sql in seen.sql if "social_block" not in sql] == []
        with sql_only():
            assert self.read_everything() == from_redis
        for book in self.books:
            for viewer in (None, self.readers[0].pk):
                for order in Order:
                    assert self.read(book.pk, viewer, order, None) == self.expect(book.pk, viewer, order, None)
                assert self.read(book.pk, viewer, Order.HELPFUL, 7) == self.expect(book.pk, viewer, Order.HELPFUL, 7)
        assert verify(MIRRORS) == []


@pytest.fixture
def world() -> World:
    return World()


def _write(random: Random, user: int, book: int) -> None:
    draft = Draft(f"*Text* {random.random()}", random.choice([None, 1, 7, 7, 10]), random.choice(["", "note"]))
    write_review(user, book, draft, TODAY)


def _rate(random: Random, user: int, book: int) -> None:
    shelves.rate_book(user, book, random.choice([None, 1, 7, 10]), TODAY)


def _remove(random: Random, user: int, book: int) -> None:
    shelves.remove_from_shelf(user, book)


def _shelve(random: Random, user: int, book: int) -> None:
    shelves.put_on_shelf(user, book, random.choice(list(Shelf)), TODAY)


def _set_privacy(random: Random, user: int, book: int) -> None:
    shelves.set_privacy(user, random.choice(list(Shelf)), random.choice(list(Privacy)))


def _like(random: Random, user: int, book: int) -> None:
    wanted = random.sample(list(Post.objects.values_list("pk", flat=True)), min(3, Post.objects.count()))
    Like.objects.bulk_create([Like(user_id=user, post_id=pk) for pk in wanted], ignore_conflicts=True)


def _unlike(random: Random, user: int, book: int) -> None:
    Like.objects.filter(user=user).delete()


def _delete(random: Random, user: int, book: int) -> None:
    review = Review.objects.filter(user=user, book=book).first()
    if review is not None:
        posts.delete_post(review.pk, by=user)


def _hide(random: Random, user: int, book: int) -> None:
    Post.objects.filter(user=user, book=book).update(is_hidden=random.random() < 0.5)


def _deactivate(random: Random, user: int, book: int) -> None:
    User.objects.filter(pk=user).update(is_active=random.random() < 0.6)


def _relate(random: Random, user: int, book: int) -> None:
    other = random.choice(list(User.objects.exclude(pk=user).values_list("pk", flat=True)))
    match random.randrange(4):
        case 0:
            Mute.objects.get_or_create(user_id=user, muted_id=other)
        case 1:
            Block.objects.get_or_create(blocker_id=user, blocked_id=other)
        case 2:
            Mute.objects.all().delete()
            Block.objects.all().delete()
        case _:
            Follow.objects.get_or_create(follower_id=user, followee_id=other)


def _update_in_bulk(random: Random, user: int, book: int) -> None:
    ShelfEntry.objects.filter(book=book).update(stars=random.choice([None, 7]))


def _delete_by_raw_sql(random: Random, user: int, book: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM reviews_review WHERE user_id = %s", [user])


def _roll_back(random: Random, user: int, book: int) -> None:
    with transaction.atomic():
        _write(random, user, book)
        _rate(random, user, book)
        transaction.set_rollback(True)


OPERATIONS: list[Callable[[Random, int, int], None]] = [
    _write, _write, _write, _write, _rate, _rate, _remove, _shelve, _set_privacy, _like, _like, _unlike, _delete,
    _hide, _deactivate, _relate, _update_in_bulk, _delete_by_raw_sql, _roll_back,
]  # fmt: skip


@pytest.mark.slow(20)
@pytest.mark.parametrize("seed", SEEDS)
def test_redis_equals_sql_and_a_rebuild_after_any_operations(seed: int, world: World, redis: Redis) -> None:
    rebuild()
    random = Random(seed)
    for number in range(80):
        random.choice(OPERATIONS)(random, random.choice(world.readers).pk, random.choice(world.books).pk)
        if number % 16 == 15:
            drain_all()
            world.check()
    live = world.read_everything()
    redis.flushall()
    rebuild()
    assert world.read_everything() == live


def test_a_review_outlives_its_book(world: World, redis: Redis) -> None:
    rebuild()
    book, reader = world.books.pop(), world.readers[0]
    review = write_review(reader.pk, book.pk, Draft("Fine", 7), TODAY)
    book.delete()
    drain_all()
    world.check()
    assert Review.objects.get().text == "Fine"
    post = selectors.get_post(review.pk, None)
    assert post is not None
    assert (post["kind"], post["book"], post.tally.stars) == ("review", None, None)
