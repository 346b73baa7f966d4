"""Mean ratings of books: from 0 to 5, for staff and imports."""

import pytest
from django.test import Client

from accounts.models import User
from catalog.importer import clean
from catalog.models import Book
from tests.support.catalog.make import NO_DETAILS, make_book

pytestmark = pytest.mark.django_db
IMPOSSIBLE = ["-0.01", "-1", "5.01", "7.5", "9", "9.99"]


def _save(client: Client, book: Book, rating: str) -> str:
    client.force_login(User.objects.create_superuser("carol"))
    form = {"title": book.title, "popularity": "0", "rating": rating}
    form |= {"tagging_set-TOTAL_FORMS": "0", "tagging_set-INITIAL_FORMS": "0"} | NO_DETAILS
    return client.post(f"/admin/catalog/book/{book.pk}/change/", form, follow=True).content.decode()


@pytest.mark.parametrize("rating", ["0", "0.01", "4.25", "5", "5.00", ""])
def test_staff_and_imports_store_a_possible_rating(client: Client, rating: str) -> None:
    book = make_book("Salt")
    _save(client, book, rating)
    book.refresh_from_db()
    assert book.rating == clean.parse_rating(rating)


@pytest.mark.parametrize("rating", IMPOSSIBLE)
def test_an_impossible_rating_is_refused(client: Client, rating: str) -> None:
    book = make_book("Salt")
    assert "Enter a mean rating from 0 to 5." in _save(client, book, rating)
    book.refresh_from_db()
    assert book.rating is None
    assert clean.parse_rating(rating) is None


def test_the_refusal_is_in_the_language_of_the_staff_member(client: Client) -> None:
    client.cookies["django_language"] = "zh-hans"
    assert "平均分须在 0 到 5 之间。" in _save(client, make_book("Salt"), "9")
