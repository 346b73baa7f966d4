"""Mirrors of notifications: the rows follow from the facts, and Redis from the rows, after any operations."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from random import Random

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from redis import Redis

from accounts.models import User
from accounts.notifications import services, tables
from accounts.notifications.models import Notification, Preference, Way
from catalog.models import Book
from catalog.shelves.models import Shelf, ShelfEntry
from catalog.shelves.services import put_on_shelf
from common import clock
from mirror import registry
from mirror.kinds import kind_of
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from social.models import Block, Follow, Like, Mention, Mute, Post
from social.reviews.models import Review
from social.reviews.services import Draft, write_review
from social.services.posts import create_post
from tests.support.social.notifications import KINDS, MIRRORS, read_all, read_both_ways
from tests.support.social.timelines import make_users
from tests.support.state_machines import SEEDS
from tests.support.warm_mirrors import rebuild

TODAY = date(2026, 5, 4)
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture
def readers() -> list[User]:
    return make_users("alice", "bob", "carol")


def _pick_post(random: Random) -> Post | None:
    found = list(Post.objects.order_by("pk"))
    return random.choice(found) if found else None


def _write(random: Random, one: User, other: User) -> None:
    create_post(one.pk, f"Ask @{other.username} {random.random()}")


def _reply(random: Random, one: User, other: User) -> None:
    if post := _pick_post(random):
        with suppress(ValidationError):  # a hidden post, or one across a block
            create_post(one.pk, f"Indeed {random.random()}", parent_id=post.pk)


def _like(random: Random, one: User, other: User) -> None:
    if post := _pick_post(random):
        Like.objects.bulk_create([Like(user=one, post=post)], ignore_conflicts=True)


def _unlike(random: Random, one: User, other: User) -> None:
    Like.objects.filter(user=one).delete()


def _follow(random: Random, one: User, other: User) -> None:
    if one != other:
        Follow.objects.get_or_create(follower=one, followee=other)


def _unfollow(random: Random, one: User, other: User) -> None:
    Follow.objects.filter(follower=one).delete()


def _shelve(random: Random, one: User, other: User) -> None:
    put_on_shelf(one.pk, Book.objects.get_or_create(title="Emma")[0].pk, Shelf.READ, TODAY)


def _review(random: Random, one: User, other: User) -> None:
    book = Book.objects.get_or_create(title="Emma")[0]
    write_review(one.pk, book.pk, Draft(f"A good book {random.random()}", 8), TODAY)


def _unshelve(random: Random, one: User, other: User) -> None:
    ShelfEntry.objects.filter(user=one).delete()


def _block(random: Random, one: User, other: User) -> None:
    if one != other:
        Block.objects.get_or_create(blocker=one, blocked=other)


def _mute(random: Random, one: User, other: User) -> None:
    if one != other:
        Mute.objects.get_or_create(user=one, muted=other)


def _reconcile(random: Random, one: User, other: User) -> None:
    Block.objects.filter(blocker=one).delete()
    Mute.objects.all().delete()


def _deactivate(random: Random, one: User, other: User) -> None:
    User.objects.filter(pk=one.pk).update(is_active=random.random() < 0.6)


def _hide(random: Random, one: User, other: User) -> None:
    if post := _pick_post(random):
        Post.objects.filter(pk=post.pk).update(is_hidden=random.random() < 0.5)


def _delete(random: Random, one: User, other: User) -> None:
    if (post := _pick_post(random)) and random.random() < 0.4:
        post.delete()


def _edit_by_raw_sql(random: Random, one: User, other: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM social_mention WHERE user_id = %s", [one.pk])


def _read(random: Random, one: User, other: User) -> None:
    services.mark_all_read(one.pk, clock.now())


def _choose(random: Random, one: User, other: User) -> None:
    services.set_ways(one.pk, {random.choice(KINDS): random.choice(list(Way))})


def _roll_back(random: Random, one: User, other: User) -> None:
    with transaction.atomic():
        _like(random, one, other)
        transaction.set_rollback(True)


OPERATIONS: list[Callable[[Random, User, User], None]] = [
    _write, _write, _reply, _reply, _like, _like, _like, _unlike, _follow, _follow, _unfollow, _block, _mute,
    _shelve, _review, _review, _unshelve,
    _reconcile, _deactivate, _hide, _delete, _edit_by_raw_sql, _read, _choose, _roll_back,
]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_and_redis_equal_the_facts_after_any_operations(seed: int, readers: list[User], redis: Redis) -> None:
    rebuild()
    random = Random(seed)
    for number in range(120):
        random.choice(OPERATIONS)(random, *random.choices(readers, k=2))
        if number % 20 == 19:
            drain_all()
            assert verify(MIRRORS) == []
            rows = set(Notification.objects.values_list("kind", "key"))
            heard = _find_expected()
            assert heard <= rows
            assert rows == _find_expected(with_silenced=True)
            silent = Notification.objects.filter(way=Way.OFF).values_list("kind", "key")
            assert rows - heard <= set(silent)
            with record() as seen:
                list(map(read_all, readers))
            assert seen.sql == []
            list(map(read_both_ways, readers))
    columns = ["kind", "key", *tables.COLUMNS]
    live = set(Notification.objects.values_list(*columns))
    shown = [(found, unread) for found, unread in map(read_both_ways, readers)]
    redis.flushall()
    rebuild()
    assert [(found, unread) for found, unread in map(read_both_ways, readers)] == shown
    Notification.objects.all().delete()
    for kind in KINDS:
        table = _get_table(kind)
        kind_of(table).replace_rows(_list_keys(table))
    assert set(Notification.objects.values_list(*columns)) == live


def _find_expected(*, with_silenced: bool = False) -> set[tuple[str, str]]:
    """Return the kinds and keys that follow from the facts, found one by one and without the statements of the site.

    with_silenced: also those of muted and blocked readers.
    """
    active = set(User.objects.filter(is_active=True).values_list("pk", flat=True))
    mutes = set(Mute.objects.values_list("user_id", "muted_id"))
    blocks = set(Block.objects.values_list("blocker_id", "blocked_id"))

    def is_heard(actor: int, reader: int) -> bool:
        is_blocked = (actor, reader) in blocks or (reader, actor) in blocks
        is_silenced = (reader, actor) in mutes or is_blocked
        return actor != reader and actor in active and (with_silenced or not is_silenced)

    found: set[tuple[str, str]] = set()
    posts = {post.pk: post for post in Post.objects.filter(is_hidden=False)}
    for mention in Mention.objects.filter(post__in=posts):
        post = posts[mention.post_id]
        if post.parent_author_id != mention.user_id and is_heard(post.user_id, mention.user_id):
            found.add(("mention", f"{mention.user_id}:{post.pk}"))
    for post in posts.values():
        if post.parent_author_id and is_heard(post.user_id, post.parent_author_id):
            found.add(("reply", str(post.parent_id)))
    for like in Like.objects.filter(post__in=posts):
        if is_heard(like.user_id, posts[like.post_id].user_id):
            found.add(("like", str(like.post_id)))
    follows = list(Follow.objects.all())
    for follow in follows:
        if is_heard(follow.follower_id, follow.followee_id):
            found.add(("follow", str(follow.followee_id)))
    for review in Review.objects.filter(post__in=posts, post__kind=Post.Kind.REVIEW):
        for follow in follows:
            reader, is_own = follow.follower_id, follow.followee_id == review.user_id
            has_book = ShelfEntry.objects.filter(user=reader, book=review.book_id).exists()
            if is_own and has_book and is_heard(review.user_id, reader):
                found.add(("review", f"{reader}:{review.book_id}"))
    return found


def _get_table(kind: str) -> tables.NotificationTable:
    found = registry.get(f"notified_{kind}")
    assert isinstance(found, tables.NotificationTable)
    return found


def _list_keys(table: tables.NotificationTable) -> list[str]:
    """Return all keys, in small pages."""
    found: list[str] = []
    while page := table.keys_after(found[-1] if found else None, 2):
        found += page
    return found


def test_switched_off_kinds_are_not_shown(readers: list[User]) -> None:
    alice, bob, _ = readers
    rebuild()
    create_post(bob.pk, "Ask @alice")
    drain_all()
    services.set_ways(alice.pk, {"mention": Way.OFF})
    drain_all()
    assert read_both_ways(alice) == ([], 0)
    assert Preference.objects.get().way == Way.OFF
    services.set_ways(alice.pk, {"mention": Way.SITE})
    drain_all()
    (shown,), unread = read_both_ways(alice)
    assert (shown.is_unread, unread) == (False, 0)


def test_deleting_a_reader_removes_the_notifications(readers: list[User]) -> None:
    alice, bob, _ = readers
    rebuild()
    create_post(bob.pk, "Ask @alice")
    drain_all()
    services.set_ways(alice.pk, {"mention": Way.EMAIL})
    alice.delete()
    drain_all()
    assert verify(MIRRORS) == []
    assert not Notification.objects.exists()
    assert Mention.objects.count() == 0


def test_a_page_takes_four_round_trips_and_no_sql(readers: list[User]) -> None:
    alice, bob, carol = readers
    rebuild()
    post = create_post(alice.pk, "A good book")
    for reader in (bob, carol):
        Like.objects.create(user=reader, post=post)
        Follow.objects.create(follower=reader, followee=alice)
        create_post(reader.pk, "Ask @alice")
    drain_all()
    with record() as seen:
        assert len(read_all(alice)) == 4
    assert (seen.round_trips, seen.sql) == (3, [])
