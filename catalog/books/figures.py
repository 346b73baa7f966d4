"""Numbers for the home page of staff."""

from catalog.models import Book, Tag
from mirror.admin import count_rows


def count_books_without_year() -> int:
    """Return the number of books whose year of first publication is unknown."""
    return count_rows(Book.objects.filter(year=None))


def count_hidden_tags() -> int:
    """Return the number of hidden tags."""
    return count_rows(Tag.objects.filter(hidden=True))
