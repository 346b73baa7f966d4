"""The next ids of a timeline below an id, as SQL says it: newest first, one query each. Home's is ``feeds.home``."""

from typing import Any

from mirror.conf import setting
from social.models import Post


def posted(below: int, limit: int) -> list[int]:
    """By everybody."""
    return _ids(below, limit)


def posted_by(author: int, below: int, limit: int) -> list[int]:
    """By somebody."""
    return _ids(below, limit, user_id=author)


def posted_about(book: int, below: int, limit: int) -> list[int]:
    """About a book."""
    return _ids(below, limit, book_id=book)


def posted_about_books_by(author: int, below: int, limit: int) -> list[int]:
    """About the books of an author."""
    return _ids(below, limit, book__authors=author)


def posted_with(hashtag: str, below: int, limit: int) -> list[int]:
    """With a hashtag (folded)."""
    return _ids(below, limit, hashtags__name=hashtag)


def posted_to(user: int, below: int, limit: int) -> list[int]:
    """That mention somebody."""
    return _ids(below, limit, mentions__user_id=user)


def _ids(below: int, limit: int, **wanted: Any) -> list[int]:
    found = Post.objects.using(setting("DATABASE")).shown().filter(pk__lt=below, **wanted)
    return list(found.order_by("-pk").values_list("pk", flat=True)[:limit])
