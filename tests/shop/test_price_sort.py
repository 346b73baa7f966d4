"""Books in the order by price, from the catalogue's index in the process and, with equal results, from SQL."""

from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from catalog import keys as catalog_keys
from catalog.local.index import local_copy
from catalog.models import Book
from catalog.selectors import find_books
from mirror import registry
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.upkeep.rebuild import rebuild
from mirror.verify.runs import verify
from shop.models import Product
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import find_all_pages, find_both_ways, own_copy, warm_up
from tests.support.shop.make import make_product, make_sale

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_copy"),
    pytest.mark.also_on("sqlite"),
]
__all__ = ["own_copy"]


@pytest.fixture
def shelf() -> dict[str, int]:
    """Ids by title: two books at one price, an expensive one, a withdrawn one and one that was never for sale."""
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
    """Drain, and return the titles by price from both engines."""
    drain_all()
    find_books("", "price")
    return [book["title"] for book in find_both_ways("", "price").books]


def test_the_cheapest_come_first_and_books_not_for_sale_last(shelf: dict[str, int]) -> None:
    assert titles() == ["cheap", "as cheap", "dear", "withdrawn", "never sold"]


def test_pages_by_price_continue_with_books_that_are_not_for_sale() -> None:
    books = Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(70))
    Product.objects.bulk_create(Product(book=book, price=book.pk * 7 % 5) for book in books[::2])
    warm_up()
    sold = sorted(books[::2], key=lambda book: (book.pk * 7 % 5, book.pk))
    assert find_all_pages("", "price") == [book.pk for book in (*sold, *books[1::2])]


def test_every_change_of_a_price_shows_at_once(shelf: dict[str, int]) -> None:
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


def test_deleted_and_new_books_show_at_once(shelf: dict[str, int]) -> None:
    Book.objects.get(pk=shelf["cheap"]).delete()
    make_product("new", price=1)
    assert titles() == ["new", "as cheap", "dear", "withdrawn", "never sold"]
    assert verify(["book", "product"], redis=relay_client()) == []


def test_a_sale_does_not_change_the_order(shelf: dict[str, int]) -> None:
    make_sale(Product.objects.get(pk=shelf["dear"]), price=1)
    assert titles() == ["cheap", "as cheap", "dear", "withdrawn", "never sold"]


def test_a_change_of_the_stock_is_not_sent_to_the_index(shelf: dict[str, int]) -> None:
    newest = relay_client().xrevrange(catalog_keys.changes(), count=1)
    Product.objects.update(stock=F("stock") - 1)
    drain_all()
    assert relay_client().xrevrange(catalog_keys.changes(), count=1) == newest
    with record() as seen:
        find_books("", "price")
    assert (seen.round_trips, seen.sql) == (1, [])


def test_sql_sorts_while_the_mirror_is_cold_and_the_index_afterwards(shelf: dict[str, int]) -> None:
    wanted = titles()
    relay_client().delete(naming.marker("product"))
    with record() as seen:
        page = find_books("", "price")
    assert seen.sql
    assert [book["title"] for book in page.books] == wanted
    rebuild(["product"])
    assert local_copy.ensure_loaded()
    assert titles() == wanted


def test_the_page_offers_the_order(client: Client, shelf: dict[str, int]) -> None:
    html = client.get("/books/", {"sort": "price"}).content.decode()
    assert '<a href="/books/?sort=price" aria-current="true">Price: low to high</a>' in html
    found = client.get("/books/", {"sort": "price"}, headers={"Accept": "application/json"}).json()
    assert [book["title"] for book in found["results"]][:2] == ["cheap", "as cheap"]


def test_prices_are_sent_to_the_index_of_the_catalogue() -> None:
    assert registry.get("product").feed() == registry.get("book").feed()
