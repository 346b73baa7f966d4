"""A to Z: the order of Unicode's collation, the same in Redis and in SQL, however titles were written."""

import random
from collections.abc import Callable

import pytest
from django.db import connection

from catalog.models import Book
from catalog.selectors import find_books
from catalog.values.collation import MAX_KEY_LENGTH, make_sort_key
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.repair import carry_out, order
from mirror.verify.runs import verify
from tests.support.catalog.make import make_book, make_books
from tests.support.catalog.warm import find_both_ways, own_copy, warm_up
from tests.support.warm_mirrors import rebuild

__all__ = ["own_copy"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_copy"),
    pytest.mark.also_on("sqlite"),
]

A_TO_Z = [
    "1984",
    "Aeneid",
    "Æneis",
    "Âge of Reason",
    "Agnes Grey",
    "Änglar",
    "Ansel",
    "Ärger",
    "Čapek",
    "Cat",
    "Đa Vinci",
    "The Ðelta",
    "Dog",
    "eclair",
    "éclair",
    "Éclair",
    "Ecru",
    "Émile",
    "Emma",
    "Ħal",
    "Hat",
    "İzmir",
    "Ízmis",
    "Łódź",
    "Lož",
    "Ñandú",
    "Night",
    "Ŋora",
    "Œdipus",
    "“Ofelia”",
    "Orb",
    "Øre",
    "Straße",
    "Strast",
    "Ünder",
    "Unter",
    "Zebra",
    "Žena",
    "Zoo",
    "Þórr",
    "Οδύσσεια",
    "Война и мир",
    "ゆき国",
    "雪国",
]


def _find_titles(sort: str) -> list[str]:
    """Return the titles that both engines list in an order, on all pages."""
    find_books("", sort)  # takes the news of the last drain in
    found, after = list[str](), ""
    while True:
        page = find_both_ways("", sort, after)
        found += [book["title"] for book in page.books]
        if not page.next:
            return found
        after = page.next


def test_letters_of_latin_script_sort_with_their_base_letters() -> None:
    shuffled = random.Random(5).sample(A_TO_Z, len(A_TO_Z))
    make_books(Book(title=title) for title in shuffled)
    drain_all()
    warm_up()
    assert _find_titles("title") == A_TO_Z
    assert _find_titles("-title") == A_TO_Z[::-1]


def _save() -> None:
    book = Book.objects.get(title="Night")
    book.title = "Éclair"
    book.save()


def _update() -> None:
    Book.objects.filter(title="Night").update(title="Éclair")


def _write_raw_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_book SET title = 'Éclair' WHERE title = 'Night'")


def _insert_raw_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM catalog_book WHERE title = 'Night'")
        cursor.execute("INSERT INTO catalog_book (title, popularity) VALUES ('Éclair', 0)")


def _create_in_bulk() -> None:
    Book.objects.filter(title="Night").delete()
    Book.objects.bulk_create([Book(title="Éclair")])


@pytest.mark.parametrize("write", [_save, _update, _write_raw_sql, _insert_raw_sql, _create_in_bulk])
def test_any_write_of_a_title_moves_the_book(write: Callable[[], None]) -> None:
    for title in ("Dog", "Emma", "Night"):
        make_book(title)
    drain_all()
    rebuild(["title_key"])
    warm_up()
    write()
    with sql_only():  # before the relay has run
        assert [book["title"] for book in find_books("", "title").books] == ["Dog", "Éclair", "Emma"]
    drain_all()
    assert _find_titles("title") == ["Dog", "Éclair", "Emma"]
    assert verify(["title_key", "book"]) == []


def test_a_key_that_was_changed_by_hand_is_found_and_repaired() -> None:
    make_book("Emma")
    drain_all()
    rebuild(["title_key"])
    Book.objects.update(title_key="by hand")
    found = verify(["title_key"])
    assert [difference.kind for difference in found] == ["stale"]
    order(found)
    carry_out(found)
    assert Book.objects.get().title_key == make_sort_key("emma")
    assert verify(["title_key"]) == []


@pytest.mark.parametrize("title", ["x" * 500, "Ω" * 500, "雪" * 500, "\ufdfa" * 500, "é" * 500, "!", "🦊", "\u0301"])
def test_any_title_has_a_key_that_databases_store(title: str) -> None:
    make_book(title)
    drain_all()
    key = Book.objects.get().title_key
    assert key.isascii()
    assert 0 < len(key) <= MAX_KEY_LENGTH
