"""Compare a home page of 20 posts with the obvious query of the ORM."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from django.db import connection
from django.db.models import Q

from mirror import registry
from mirror.models import Change
from mirror.redis.clients import relay_client
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild
from mirror.windows import window
from mirror.windows.declare import WindowMirror
from social.models import Follow, Post
from social.selectors import get_home_timeline
from social.timelines.pages import PAGE_SIZE
from tests.bench.table import Comparison

PEOPLE, FOLLOWS, POSTS, ASKED = 10_000, 100_000, 200_000, 200
SIZES: Final = f"{PEOPLE:,} people, {FOLLOWS:,} follows, {POSTS:,} posts; {ASKED} readers, warm"
NEEDED: Final = ("user", "post", "follow", "shun", "timeline")
SHOWN: Final = ("id", "text", "created_at", "user_id", "user__username", "book_id", "book__title")


def comparisons() -> Iterator[Comparison]:
    """Yield comparisons on PostgreSQL, the database for which the promise is made."""
    if connection.vendor != "postgresql":
        return
    _fill()
    yield Comparison(
        f"a home page of {PAGE_SIZE} posts, read",
        "the ORM's values() with names and titles",
        SIZES,
        ours=lambda: [[post.fields for post in get_home_timeline(pk).posts] for pk in _asked()],
        theirs=lambda: [_by_orm(pk) for pk in _asked()],
        target=5,
    )
    yield Comparison(
        f"a home page of {PAGE_SIZE} posts, Redis away",
        "the ORM's values() with names and titles",
        SIZES,
        ours=lambda: [_by_sql(pk) for pk in _asked()],
        theirs=lambda: [_by_orm(pk) for pk in _asked()],
    )
    _clear()


def _by_orm(pk: int) -> list[dict[str, Any]]:
    """Return the posts by the obvious query, which is faster because it ignores mutes and blocks."""
    followed = Follow.objects.filter(follower_id=pk).values("followee_id")
    posts = Post.objects.shown().filter(Q(user_id__in=followed) | Q(user_id=pk))
    return list(posts.order_by("-pk").values(*SHOWN)[:PAGE_SIZE])


def _by_sql(pk: int) -> Any:
    with sql_only():
        return get_home_timeline(pk)


@cache
def _asked() -> list[int]:
    """Return readers with warm windows, after checking that both sides return the same posts."""
    mirror = registry.get("timeline")
    assert isinstance(mirror, WindowMirror)
    people = Follow.objects.order_by("follower_id").values_list("follower_id", flat=True).distinct()
    asked = list(people[: PEOPLE // 2 : PEOPLE // 2 // ASKED])
    for pk in asked:
        assert window.warm(mirror, str(pk))
        assert [post["id"] for post in get_home_timeline(pk).posts] == [post["id"] for post in _by_orm(pk)]
    return asked


def _fill() -> None:
    """Create users, skewed follows and posts, some about books, and warm the mirrors."""
    with connection.cursor() as cursor:
        cursor.execute(FILL)
        cursor.execute("VACUUM ANALYZE accounts_user, catalog_book, social_follow, social_post")
    rebuild(NEEDED)
    _asked()


# n: the number of a person. Some people are followed, and write, far more than others. Twice the needed follows are
# drawn, because duplicates are removed.
FILL: Final = f"""
    SELECT setseed(0.5);
    INSERT INTO accounts_user (username, name_key, name_skeleton, password, session_secret, first_name, last_name,
                               email, is_staff, is_active, is_superuser, date_joined, user_type)
    SELECT 'bench ' || n, 'bench ' || n, 'bench ' || n, '!', 's', '', '', '', false, true, false, now(), 'client'
      FROM generate_series(1, {PEOPLE}) n;
    CREATE TEMP TABLE person AS
    SELECT id, row_number() OVER (ORDER BY id) AS n FROM accounts_user WHERE username LIKE 'bench %';
    INSERT INTO catalog_book (title, popularity)
    SELECT 'Book ' || n || ' of the bench', 0 FROM generate_series(1, 1000) n;
    CREATE TEMP TABLE book AS
    SELECT id, row_number() OVER (ORDER BY id) AS n FROM catalog_book WHERE title LIKE 'Book % of the bench';
    CREATE TEMP TABLE dealt AS
    SELECT 1 + floor(random() * {PEOPLE})::bigint AS a, 1 + floor(random() * random() * {PEOPLE})::bigint AS b
      FROM generate_series(1, 2 * {FOLLOWS});
    INSERT INTO social_follow (follower_id, followee_id, created_at)
    SELECT DISTINCT a.id, b.id, now() FROM dealt JOIN person a ON a.n = dealt.a JOIN person b ON b.n = dealt.b
     WHERE a.id <> b.id LIMIT {FOLLOWS};
    CREATE TEMP TABLE said AS
    SELECT n, 1 + floor(random() * random() * {PEOPLE})::bigint AS a,
           CASE WHEN random() < 0.4 THEN 1 + floor(random() * 1000)::bigint END AS b
      FROM generate_series(1, {POSTS}) n;
    INSERT INTO social_post (user_id, text, book_id, created_at, is_hidden, is_pulled, key)
    SELECT person.id, 'What I have to say, for the ' || said.n || 'th time: ' || repeat('this is a good book. ', 5),
           book.id, now() - (said.n - {POSTS}) * interval '1 second', false, false, 'bench ' || said.n
      FROM said JOIN person ON person.n = said.a LEFT JOIN book ON book.n = said.b ORDER BY said.n;
    TRUNCATE mirror_change;
"""


def _clear() -> None:
    """Delete all changes and keys, for the next benchmark."""
    Change.objects.all()._raw_delete("default")
    relay_client().flushdb()
