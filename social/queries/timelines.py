"""The next ids of timelines below an id (None: the newest), newest first, in one query each.

The query for home timelines is ``queries.home.find_home_posts``.
"""

from typing import Any

from common.ids import parse_ids
from mirror.conf import database
from social.models import Post


def find_posts(below: int | None, limit: int) -> list[int]:
    """Return the next ids of all posts."""
    return _find_ids(below, limit)


def find_posts_about(book: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts about a book."""
    return _find_ids(below, limit, book_id__in=parse_ids([book]))


def find_posts_about_books_by(author: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts about an author's books."""
    return _find_ids(below, limit, book__authors__in=parse_ids([author]))


def find_posts_tagged(hashtag: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts with a hashtag (folded)."""
    return _find_ids(below, limit, hashtags__name=hashtag)


def find_posts_mentioning(user: str, below: int | None, limit: int) -> list[int]:
    """Return the next ids of posts that mention a user."""
    return _find_ids(below, limit, mentions__user_id__in=parse_ids([user]))


def _find_ids(below: int | None, limit: int, **wanted: Any) -> list[int]:
    found = Post.objects.using(database()).shown().filter(**wanted)
    if below is not None:
        found = found.filter(pk__lt=below)
    return list(found.order_by("-pk").values_list("pk", flat=True)[:limit])
