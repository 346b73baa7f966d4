"""The sort text of titles, without leading punctuation and articles. SQL computes it, also for Redis."""

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from catalog.models import Book
from catalog.sort_titles import sort_title
from tests.support.catalog.make import make_book

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]

TABLE = [
    ("Emma", "emma"),
    ("The Hobbit", "hobbit"),
    ("A Tale of Two Cities", "tale of two cities"),
    ("An Abundance of Katherines", "abundance of katherines"),
    ("Theogony", "theogony"),
    ("Angels & Demons", "angels & demons"),
    ("A", "a"),
    ("The", "the"),
    ("The ", "the "),
    ('"The Quiet Heron"', 'quiet heron"'),
    ("“A Paper Lantern”", "paper lantern”"),
    ("...And Then", "and then"),
    ("#GIRLBOSS", "girlboss"),
    ("¿Quién?", "quién?"),
    ("The 'A' List", "a' list"),
    ("A The The", "the the"),
    ("1984", "1984"),
    ("!!!", "!!!"),
    ("《三体》", "三体》"),
    ("L'amant", "l'amant"),
]


def test_titles_sort_without_leading_punctuation_and_articles() -> None:
    for title, expected in TABLE:
        book = make_book(title)
        book.refresh_from_db()
        assert book.sort_title == expected


def test_no_write_leaves_the_sort_text_stale() -> None:
    books = Book.objects.bulk_create([Book(title="The First"), Book(title="The Second")])
    Book.objects.filter(pk=books[0].pk).update(title="A Third")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_book SET title = 'An Orchard' WHERE id = %s", [books[1].pk])
    assert [*Book.objects.order_by("sort_title").values_list("sort_title", flat=True)] == ["orchard", "third"]


def test_a_setting_names_the_articles_of_other_languages(settings: Settings) -> None:
    settings.CATALOG_ARTICLES = ["Le", "l'"]
    for title in ("Le Rouge", "L'or", "The Hobbit"):
        make_book(title)
    found = Book.objects.annotate(found=sort_title()).order_by("pk").values_list("found", flat=True)
    assert [*found] == ["rouge", "or", "the hobbit"]
