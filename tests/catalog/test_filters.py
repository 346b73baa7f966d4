"""Filters of the list of books: results from Redis and SQL, and answers to bad input."""

from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from catalog.listing import sql
from catalog.listing.filters import ChosenFilters, RangeNarrowing, read_filters
from catalog.models import Book
from catalog.query import parse
from catalog.selectors import find_books
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop.models import Product
from tests.support.catalog.make import make_book, make_books, make_links, make_products
from tests.support.catalog.queries import ORDERS
from tests.support.catalog.warm import find_all_pages, find_both_ways, own_copy, warm_up

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_copy")]
__all__ = ["own_copy"]
LANGUAGES = ["", "eng", "en-US", "EN", "fre", "zho", "zh-TW", "xx"]


@pytest.fixture
def shelf() -> list[Book]:
    """More than two pages of books that differ in all properties that have filters."""
    with transaction.atomic():
        made = make_books(
            Book(
                title=f"Book {n % 9}",
                popularity=n % 6,
                year=[None, -300, 0, 1999, 2004, 2011][n % 6],
                language=LANGUAGES[n % 8],
                rating=None if n % 4 == 0 else n % 5,
            )
            for n in range(55)
        )
        make_links((book, "even") for book in made[::2])
        make_products(made)
    warm_up()
    return made


def _found(given: dict[str, str], text: str = "") -> set[int]:
    chosen = read_filters(given)
    assert not chosen.errors
    return {book["id"] for book in find_both_ways(text, "", "", chosen, 10).books}


def _expected(**wanted: Any) -> set[int]:
    return set(Book.objects.filter(**wanted).values_list("pk", flat=True))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"language": "en"}, {"language__in": ["eng", "en-US", "EN"]}),
        ({"language": "ENG"}, {"language__in": ["eng", "en-US", "EN"]}),
        ({"language": "zh"}, {"language__in": ["zho", "zh-TW"]}),
        ({"language": "xx"}, {"language": "xx"}),
        ({"language": "de"}, {"language": "de"}),
        ({"year_from": "0"}, {"year__gte": 0}),
        ({"year_to": "0"}, {"year__lte": 0}),
        ({"year_from": "-300", "year_to": "1999"}, {"year__range": (-300, 1999)}),
        ({"year_from": "3000"}, {"year__gte": 3000}),
        ({"price_from": "2"}, {"product__is_active": True, "product__price__gte": 200}),
        ({"price_to": "2.50"}, {"product__is_active": True, "product__price__lte": 250}),
        ({"price_from": "1", "price_to": "3"}, {"product__is_active": True, "product__price__range": (100, 300)}),
        ({"in_stock": "1"}, {"product__is_active": True, "product__stock__gt": 0}),
        (
            {"in_stock": "1", "language": "en", "year_from": "1", "price_to": "4"},
            {
                "product__is_active": True,
                "product__stock__gt": 0,
                "product__price__lte": 400,
                "language__in": ["eng", "en-US", "EN"],
                "year__gte": 1,
            },
        ),
        ({"language": " ", "year_from": ""}, {}),
    ],
)
def test_each_filter_equals_a_check_of_each_book(
    shelf: list[Book], given: dict[str, str], wanted: dict[str, Any]
) -> None:
    assert _found(given) == _expected(**wanted)
    assert _found(given, "even") == _expected(**wanted, tags__name="even")


@pytest.mark.parametrize("order", ORDERS)
def test_filters_combine_with_every_order_and_with_paging(shelf: list[Book], order: str) -> None:
    chosen = read_filters({"year_from": "-400", "price_to": "9"})
    pages = find_all_pages("even | -even", order, chosen)
    assert len(pages) > 20
    assert len(pages) == len(set(pages)) == sql.filter_books(parse(""), chosen.narrowings).count()


def test_filters_see_new_writes(shelf: list[Book]) -> None:
    given = {"in_stock": "1", "language": "ja", "year_from": "2020", "price_to": "5"}
    book = make_book("New", language="jpn", year=2021)
    Product.objects.create(book=book, price=500, stock=1)
    drain_all()
    _take_in(given)
    assert _found(given) == {book.pk}
    Product.objects.filter(pk=book.pk).update(reserved=1)
    _take_in(given)
    assert _found(given) == set()
    Product.objects.filter(pk=book.pk).update(reserved=0)
    Book.objects.filter(pk=book.pk).update(language="eng")
    _take_in(given)
    assert _found(given) == set()
    assert book.pk in _found(given | {"language": "en"})


def _take_in(given: dict[str, str]) -> None:
    """Apply new changes to the copy."""
    drain_all()
    find_books("", "", "", read_filters(given))


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"year_from": "soon"}, "year_from"),
        ({"year_to": "99999"}, "year_to"),
        ({"year_from": "2000", "year_to": "1990"}, "year_from"),
        ({"price_from": "-1"}, "price_from"),
        ({"price_to": "1.999"}, "price_to"),
        ({"price_from": "9", "price_to": "1"}, "price_from"),
        ({"price_from": "NaN"}, "price_from"),
        ({"language": "<b>"}, "language"),
        ({"language": "e\0"}, "language"),
        ({"in_stock": "perhaps"}, "in_stock"),
        ({"year_to": "9" * 5000}, "year_to"),
    ],
)
def test_bad_input_names_the_parameter_and_needs_no_query(
    client: Client, given: dict[str, str], parameter: str
) -> None:
    with record() as seen:
        response = client.get("/books/", given, headers={"Accept": "application/json"})
    assert (seen.round_trips, seen.sql) == (0, [])
    assert response.status_code == 400
    assert response.json()["error"]["parameter"] == parameter
    assert response.json()["error"]["message"]
    html = client.get("/books/", given)
    assert html.status_code == 400
    content = html.content.decode()
    assert f'id="f-{parameter}-error"' in content
    assert "<b>" not in content.split("<main")[1]


def test_the_page_offers_filters_and_links_that_remove_each(client: Client, shelf: list[Book]) -> None:
    address = "/books/?q=even&language=en&year_from=1990&in_stock=1&sort=-title"
    client.get(address)
    with record() as seen:
        html = client.get(address).content.decode()
    assert (seen.round_trips, seen.sql) == (1, [])
    assert '<option value="en" selected>English</option>' in html
    assert 'name="year_from" value="1990"' in html
    for address in (
        "/books/?q=even&amp;year_from=1990&amp;in_stock=1&amp;sort=-title",
        "/books/?q=even&amp;language=en&amp;in_stock=1&amp;sort=-title",
        "/books/?language=en&amp;year_from=1990&amp;in_stock=1&amp;sort=-title",
        "/books/?q=even&amp;language=en&amp;year_from=1990&amp;in_stock=1&amp;sort=title",
    ):
        assert f'href="{address}"' in html, address


def test_equivalent_filters_are_equal() -> None:
    first, second = (read_filters({"year_from": text}).narrowings for text in ("1990", " 1990"))
    assert first == second
    assert hash(first) == hash(second)
    assert isinstance(first[0], RangeNarrowing)
    assert read_filters({}) == ChosenFilters()
