"""The record of a book, as SQL yields it for pages and for Redis."""

import pytest

from catalog.books.records import load_book_records
from catalog.models import Book
from tests.support.catalog.make import make_book

pytestmark = pytest.mark.django_db


def test_a_record_holds_all_data_of_a_book() -> None:
    book = make_book("Tao Te Ching", tags="zen Classic 道", authors="Laozi, Ursula K. Le Guin", year=-350)
    Book.objects.filter(pk=book.pk).update(
        rating="4.30", popularity=12, language="eng", isbn="1590307445", pages=168, original_title="道德經"
    )
    plain = make_book("Plain")
    assert load_book_records([plain.pk, 10**12, book.pk]) == [
        {
            "id": plain.pk, "title": "Plain", "sort_title": "plain", "authors": [], "year": None,
            "original_title": "", "language": "", "isbn": "", "pages": None, "cover": "", "design": "", "popularity": 0,
            "rating": None,
            "tags": [], "top_tags": [], "hidden_tags": [],
            "author_ids": [], "series": [],
        },
        {
            "id": book.pk, "title": "Tao Te Ching", "sort_title": "tao te ching",
            "authors": ["Laozi", "Ursula K. Le Guin"], "original_title": "道德經", "year": -350,
            "language": "eng", "isbn": "9781590307441", "pages": 168, "cover": "", "design": "",
            "popularity": 12, "rating": 4.3, "tags": ["classic", "zen", "道"],
            "top_tags": [{"name": name, "count": 1} for name in ("classic", "zen", "道")], "hidden_tags": [],
            "author_ids": [author.pk for author in book.authors.order_by("pk")], "series": [],
        },
    ]  # fmt: skip
