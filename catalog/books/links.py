"""The books that tags and authors belong to, for the watches of mirrors."""

from collections.abc import Sequence

from django.db.models import Model

from catalog.models import Book, Tagging
from common.ids import parse_ids
from mirror.conf import setting


def _find_book_ids(links: type[Model], column: str, values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ``limit`` distinct ids, ascending, of books that ``links`` joins to one of ``values``."""
    found = links._base_manager.using(setting("DATABASE")).filter(**{f"{column}__in": parse_ids(values)})
    # By keyset: a popular tag has thousands of books, and an offset would read all before the page.
    if after is not None:
        found = found.filter(book_id__gt=after)
    return [str(pk) for pk in found.order_by("book_id").values_list("book_id", flat=True).distinct()[:limit]]


def find_books_with_tags(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of books with one of these tags."""
    return _find_book_ids(Tagging, "tag_id", values, after, limit)


def find_books_by_authors(values: Sequence[str], after: str | None, limit: int) -> list[str]:
    """Return the next ids of books by one of these authors."""
    return _find_book_ids(Book.authors.through, "author_id", values, after, limit)
