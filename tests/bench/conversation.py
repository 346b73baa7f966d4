"""Compare the pages of a viral post and of a long thread with those of a post that has few likes and replies."""

from collections.abc import Iterator
from typing import Final

from django.db import connection

from accounts.models import User
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from social.models import Like, Post
from social.selectors import get_thread
from social.services.likes import like_post, unlike_post
from social.timelines.threads import REPLIES_PER_PAGE, Cursor
from tests.bench.table import Comparison

LIKES, REPLIES, TIMES = 100_000, 10_000, 100
FIRST: Final = Cursor()


def comparisons() -> Iterator[Comparison]:
    """Yield comparisons on PostgreSQL. A target of 0.8 means: at most 1.25 times the time."""
    if connection.vendor != "postgresql":
        return
    reader = User.objects.create_user("bench reader")
    viral, plain = (_make_post(reader) for _ in range(2))
    _add_likes(viral)
    _add_replies(reader, viral, REPLIES)
    _add_replies(reader, plain, REPLIES_PER_PAGE + 1)
    rebuild(["user", "post", "like", "shun"])
    middle = Post.objects.filter(parent_id=viral.pk).order_by("pk")[REPLIES // 2].pk
    sizes = f"{LIKES:,} likes, {REPLIES:,} replies; {TIMES} times"
    yield Comparison(
        "the page of a viral post",
        "the page of a post with few replies and no likes",
        sizes,
        ours=lambda: _read(viral, reader, FIRST),
        theirs=lambda: _read(plain, reader, FIRST),
        target=0.8,
    )
    yield Comparison(
        "the middle of a long thread",
        "the page of a post with few replies and no likes",
        sizes,
        ours=lambda: _read(viral, reader, Cursor(middle)),
        theirs=lambda: _read(plain, reader, FIRST),
        target=0.8,
    )
    yield Comparison(
        "a like of a viral post, in Redis when it returns",
        "a like of a post without likes",
        sizes,
        ours=lambda: _like(viral, reader),
        theirs=lambda: _like(plain, reader),
        target=0.8,
        afterwards=drain_all,
    )
    for model in (Like, Post, Change):
        model._base_manager.all()._raw_delete("default")
    relay_client().flushdb()


def _read(post: Post, reader: User, cursor: Cursor) -> None:
    for _ in range(TIMES):
        thread = get_thread(post.pk, reader.pk, cursor)
        assert thread
        assert len(thread.branches) == REPLIES_PER_PAGE


def _like(post: Post, reader: User) -> None:
    for _ in range(TIMES):
        assert like_post(reader.pk, post.pk)
        assert unlike_post(reader.pk, post.pk)


def _make_post(author: User) -> Post:
    return Post.objects.create(user=author, text="a post of the bench")


def _add_replies(author: User, parent: Post, number: int) -> None:
    above = str(parent.pk)
    rows = [
        Post(user=author, text=f"reply {n}", parent_id=parent.pk, parent_author=author, ancestors=above)
        for n in range(number)
    ]
    Post.objects.bulk_create(rows, batch_size=1000)


def _add_likes(post: Post) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL, [post.pk])
        cursor.execute("VACUUM ANALYZE accounts_user, social_post, social_like")


# The changes are removed, because the mirrors are rebuilt.
FILL: Final = f"""
    INSERT INTO accounts_user (username, name_key, name_skeleton, password, session_secret, first_name, last_name,
                               email, is_staff, is_active, is_superuser, date_joined, user_type)
    SELECT 'liker ' || n, 'liker ' || n, 'liker ' || n, '!', 's', '', '', '', false, true, false, now(), 'client'
      FROM generate_series(1, {LIKES}) n;
    INSERT INTO social_like (user_id, post_id, created_at)
    SELECT id, %s, now() FROM accounts_user WHERE username LIKE 'liker %%';
    TRUNCATE mirror_change;
"""
