"""Books by price: the shop's order in the catalogue, from the copy in the process and, the same, from SQL."""

from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from catalog import keys as catalog_keys
from catalog.index import copy
from catalog.models import Book
from catalog.selectors import find_books
from mirror import naming, registry
from mirror.rebuild import rebuild
from mirror.recorder import record
from mirror.redis import relay_client
from mirror.relay import drain_all
from mirror.verify import verify
from shop.models import Product
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import all_pages, both, own_copy, warm_up
from tests.support.shop.make import make_product, make_sale

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_copy")]
__all__ = ["own_copy"]


@pytest.fixture
def shelf() -> dict[str, int]:
    """By title: two at one price, a dear one, one that is not for sale any more, and one that never was."""
    made: dict[str, Any] = {
        "dear": make_product("dear", price=2000),
        "cheap": make_product("cheap", price=700),
        "as cheap": make_product("as cheap", price=700),
        "withdrawn": make_product("withdrawn", price=1, is_active=False),
        "never sold": make_book("never sold"),
    }
    warm_up()
    return {title: row.pk for title, row in made.items()}


def titles() -> list[str]:
    """By price, both ways, once what is new has been taken in."""
    drain_all()
    find_books("", "price")
    return [book["title"] for book in both("", "price").books]


def test_the_cheapest_come_first_and_what_is_not_for_sale_last(shelf: dict[str, int]) -> None:
    assert titles() == ["cheap", "as cheap", "dear", "withdrawn", "never sold"]


def test_pages_by_price_go_on_from_those_that_are_for_sale_to_those_that_are_not() -> None:
    books = Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(70))
    Product.objects.bulk_create(Product(book=book, price=book.pk * 7 % 5) for book in books[::2])
    warm_up()
    sold = sorted(books[::2], key=lambda book: (book.pk * 7 % 5, book.pk))
    assert all_pages("", "price") == [book.pk for book in (*sold, *books[1::2])]


def test_whatever_changes_a_price_shows_in_the_next_answer(shelf: dict[str, int]) -> None:
    product = Product.objects.filter(pk=shelf["dear"])
    product.update(price=5)
    assert titles()[0] == "dear"
    product.update(is_active=False)
    assert titles() == ["cheap", "as cheap", "dear", "withdrawn", "never sold"]
    product.update(is_active=True, price=700)
    assert titles() == ["dear", "cheap", "as cheap", "withdrawn", "never sold"]
    product.delete()
    assert titles() == ["cheap", "as cheap", "dear", "withdrawn", "never sold"]
    Product.objects.create(book_id=shelf["never sold"], price=1)
    assert titles() == ["never sold", "cheap", "as cheap", "dear", "withdrawn"]


def test_a_book_that_goes_or_comes_with_its_product_is_news_as_well(shelf: dict[str, int]) -> None:
    Book.objects.get(pk=shelf["cheap"]).delete()
    make_product("new", price=1)
    assert titles() == ["new", "as cheap", "dear", "withdrawn", "never sold"]
    assert verify(["book", "product"], redis=relay_client()) == []


def test_a_sale_changes_no_place(shelf: dict[str, int]) -> None:
    make_sale(Product.objects.get(pk=shelf["dear"]), price=1)
    assert titles() == ["cheap", "as cheap", "dear", "withdrawn", "never sold"]


def test_what_is_bought_is_no_news_for_the_copies(shelf: dict[str, int]) -> None:
    newest = relay_client().xrevrange(catalog_keys.changes(), count=1)
    Product.objects.update(stock=F("stock") - 1)
    drain_all()
    assert relay_client().xrevrange(catalog_keys.changes(), count=1) == newest
    with record() as seen:
        find_books("", "price")
    assert (seen.round_trips, seen.sql) == (1, [])


def test_without_products_in_redis_sql_sorts_and_afterwards_the_copy_does_again(shelf: dict[str, int]) -> None:
    wanted = titles()
    relay_client().delete(naming.marker("product"))
    with record() as seen:
        page = find_books("", "price")
    assert seen.sql
    assert [book["title"] for book in page.books] == wanted
    rebuild(["product"])
    assert copy.ensure_loaded()
    assert titles() == wanted


def test_the_page_offers_the_order(client: Client, shelf: dict[str, int]) -> None:
    html = client.get("/books/", {"sort": "price"}).content.decode()
    assert '<a href="/books/?sort=price" aria-current="true">By price</a>' in html
    found = client.get("/books/", {"sort": "price"}, headers={"Accept": "application/json"}).json()
    assert [book["title"] for book in found["results"]][:2] == ["cheap", "as cheap"]


def test_prices_are_fed_to_the_copies_of_the_catalogue() -> None:
    assert registry.get("product").feed() == registry.get("book").feed()
