"""SQL queries for the contents of feeds. Mirrors load from them, and pages use them as fallback.

Ids come newest first. Every function takes a fixed number of queries for any number of keys.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connections
from django.db.models import QuerySet

from catalog.models import Book
from mirror import Reached
from mirror.conf import setting
from social.home_sql import LARGEST_ID, delivered, home
from social.models import Follow, Hashtag, Mention, Post
from social.records import numbers

_SHOWN = "NOT p.is_hidden AND EXISTS (SELECT 1 FROM accounts_user u WHERE u.id = p.user_id AND u.is_active)"
_ABOUT = f"""
    SELECT p.id FROM social_post p WHERE p.book_id = {{key}} AND {_SHOWN} ORDER BY p.id DESC LIMIT {{limit}}
"""
_ABOUT_AUTHOR = f"""
    SELECT p.id FROM catalog_book_authors l JOIN social_post p ON p.book_id = l.book_id
     WHERE l.author_id = {{key}} AND {_SHOWN} ORDER BY p.id DESC LIMIT {{limit}}
"""
_MENTIONING = f"""
    SELECT p.id FROM social_mention m JOIN social_post p ON p.id = m.post_id
     WHERE m.user_id = {{key}} AND {_SHOWN} ORDER BY m.post_id DESC LIMIT {{limit}}
"""
_TAGGED = f"""
    SELECT p.id FROM social_hashtag h JOIN social_post p ON p.id = h.post_id
     WHERE h.name = {{key}} AND {_SHOWN} ORDER BY h.post_id DESC LIMIT {{limit}}
"""

__all__ = ["LARGEST_ID", "delivered", "home"]


def _each(one: str, keys: Sequence[Any], limit: int, kind: str = "bigint") -> dict[str, list[int]]:
    """Run the statement ``one`` for each of ``keys``, in one query. Return ids by key."""
    connection = connections[setting("DATABASE")]
    found: dict[str, list[int]] = defaultdict(list)
    if connection.vendor == "postgresql":
        inner = one.format(key="k.key", limit=int(limit))
        sql = f"SELECT k.key, t.id FROM unnest(%s::{kind}[]) AS k(key), LATERAL ({inner}) AS t ORDER BY 1, 2 DESC"
        given: Any = list(keys)
    else:
        inner = one.format(key="k.value", limit=int(limit))
        sql = f"SELECT k.value, t.id FROM json_each(%s) k JOIN social_post t ON t.id IN ({inner}) ORDER BY 1, 2 DESC"
        given = json.dumps(list(keys))
    with connection.cursor() as cursor:
        cursor.execute(sql, [given])
        for key, pk in cursor.fetchall():
            found[str(key)].append(pk)
    return found


def newest_of_all(limit: int) -> list[int]:
    """Return the ids of the newest posts on the site."""
    return _ids(_posts().shown(), limit)


def newest_about(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts about each of these books, by book id."""
    return _each(_ABOUT, numbers(pks), limit)


def newest_about_authors(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts about the books of each of these authors, by author id."""
    return _each(_ABOUT_AUTHOR, numbers(pks), limit)


def newest_mentioning(pks: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts that mention each of these users, by user id."""
    return _each(_MENTIONING, numbers(pks), limit)


def newest_tagged(names: Sequence[str], limit: int) -> Mapping[str, Sequence[int]]:
    """Return the ids of the newest posts with each of these hashtags, by hashtag."""
    return _each(_TAGGED, names, limit, "text")


def reach(rows: Sequence[str], after: str | None, limit: int) -> list[Reached]:
    """Return the home timelines that these posts ("id:author") concern: the authors' own, then followers' by user id.

    ``after`` is the last follower's id of the previous call. A pulled post concerns only its author's timeline.
    Inactive authors need no check here: they are in no reader's set of followed users, and a status change recomputes
    the windows.
    """
    posts = [(ends[0], ends[1]) for row in rows if len(ends := numbers(row.split(":"))) == 2]
    there = _posts().filter(pk__in=[pk for pk, _ in posts], is_hidden=False)
    pulled = dict(there.values_list("pk", "is_pulled"))
    by_author: dict[int, list[int]] = defaultdict(list)
    found: list[Reached] = []
    for pk, author in posts:
        if not pulled.get(pk, False):
            by_author[author].append(pk)
        if after is None:
            found.append(Reached(str(author), pk, "", pk in pulled))
    follows = Follow.objects.using(setting("DATABASE")).filter(followee_id__in=list(by_author))
    if after is not None:
        follows = follows.filter(follower_id__gt=int(after))
    for follower, author in follows.order_by("follower_id").values_list("follower_id", "followee_id")[:limit]:
        found += (Reached(str(follower), pk, str(author), pk in pulled) for pk in by_author[author])
    return found


def books_after(after: str | None, limit: int) -> list[str]:
    """Return the next ids of books that have posts."""
    return _next(_posts().exclude(book=None), "book_id", after, limit)


def authors_after(after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of books that have posts."""
    return _next(_authorships().filter(book__posts__isnull=False), "author_id", after, limit)


def authors_of_books(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of these books."""
    return _next(_authorships().filter(book_id__in=numbers(values)), "author_id", after, limit)


def authors_in_posts_of(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of authors of the books in these users' posts."""
    return _next(_authorships().filter(book__posts__user_id__in=numbers(values)), "author_id", after, limit)


def mentioned_after(after: str | None, limit: int) -> list[str]:
    """Return the next ids of mentioned users."""
    return _next(_mentions(), "user_id", after, limit)


def hashtags_after(after: str | None, limit: int) -> list[str]:
    """Return the next hashtags."""
    return _next(_hashtags(), "name", after, limit)


def books_of_authors(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of books in these users' posts."""
    return _next(_posts().filter(user_id__in=numbers(values)).exclude(book=None), "book_id", after, limit)


def mentioned_by_posts(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of users mentioned in these posts."""
    return _next(_mentions().filter(post_id__in=numbers(values)), "user_id", after, limit)


def mentioned_by_authors(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of users mentioned in these users' posts."""
    return _next(_mentions().filter(post__user_id__in=numbers(values)), "user_id", after, limit)


def hashtags_of_posts(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next hashtags of these posts."""
    return _next(_hashtags().filter(post_id__in=numbers(values)), "name", after, limit)


def hashtags_of_authors(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next hashtags in these users' posts."""
    return _next(_hashtags().filter(post__user_id__in=numbers(values)), "name", after, limit)


def _posts() -> Any:
    return Post.objects.using(setting("DATABASE"))


def _authorships() -> QuerySet[Any]:
    return Book.authors.through._base_manager.using(setting("DATABASE"))


def _mentions() -> QuerySet[Mention]:
    return Mention.objects.using(setting("DATABASE"))


def _hashtags() -> QuerySet[Hashtag]:
    return Hashtag.objects.using(setting("DATABASE"))


def _ids(found: QuerySet[Post], limit: int) -> list[int]:
    return list(found.order_by("-pk").values_list("pk", flat=True)[:limit])


def _next(found: QuerySet[Any], column: str, after: str | None, limit: int) -> list[str]:
    """Return the next distinct values of a column, ascending."""
    if after is not None:
        found = found.filter(**{f"{column}__gt": after})
    return [str(value) for value in found.order_by(column).values_list(column, flat=True).distinct()[:limit]]
