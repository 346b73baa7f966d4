"""The next ids of timelines below an id (None: the newest), newest first, in one query each.

The query for home timelines is ``queries.home.find_home_posts``.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.db import connections
from django.db.models import QuerySet

from common.ids import parse_ids
from mirror.conf import database
from mirror.utils import arrays
from social.models import Post
from social.queries.windows import IS_VISIBLE

NOT_RATINGS: Final = (Post.Kind.POST, Post.Kind.REVIEW)
_FIRST_REPLIES: Final = f"FROM social_post p WHERE p.parent_id = k.value AND {IS_VISIBLE} ORDER BY p.id LIMIT {{limit}}"


def find_posts(below: int | None, limit: int) -> list[int]:
    """Return the next ids of all posts without replies and ratings."""
    return _find_ids(below, limit, parent_id=None, is_quiet=False, kind__in=NOT_RATINGS)


def find_posts_about(book: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts about a book, without reviews and ratings."""
    return _find_ids(below, limit, book_id__in=parse_ids([book]), kind=Post.Kind.POST)


def find_posts_about_books_by(author: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts about an author's books, without ratings."""
    return _find_ids(below, limit, book__authors__in=parse_ids([author]), kind__in=NOT_RATINGS)


def find_posts_tagged(hashtag: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts with a hashtag (folded)."""
    return _find_ids(below, limit, hashtags__name=hashtag)


def find_posts_mentioning(user: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts that mention a user."""
    # Also by private accounts, which the user may follow.
    return _find_below(
        Post.objects.using(database()).shown().filter(mentions__user_id__in=parse_ids([user])), below, limit
    )


def find_first_replies(posts: Sequence[int], limit: int) -> dict[int, list[int]]:
    """Return the ids of the first ``limit`` direct replies to each of these posts, oldest first."""
    found: dict[int, list[int]] = {}
    source, values = arrays.list_values(posts, "bigint")
    replies = arrays.join_found("social_post", _FIRST_REPLIES.format(limit=int(limit)), "t")
    with connections[database()].cursor() as cursor:
        cursor.execute(f"SELECT k.value, t.id FROM {source} {replies} ORDER BY 1, 2", values)
        for parent, pk in cursor.fetchall():
            found.setdefault(parent, []).append(pk)
    return found


def _find_ids(below: int | None, limit: int, **wanted: Any) -> list[int]:
    return _find_below(Post.objects.using(database()).public().filter(**wanted), below, limit)


def _find_below(found: QuerySet[Post], below: int | None, limit: int) -> list[int]:
    if below is not None:
        found = found.filter(pk__lt=below)
    return list(found.order_by("-pk").values_list("pk", flat=True)[:limit])
