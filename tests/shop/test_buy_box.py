"""The shop on book pages: the buy box, the JSON fields and prices on cards."""

from datetime import timedelta

import orjson
import pytest
from django.conf import settings
from django.test import Client, RequestFactory

from catalog.models import Book
from common import clock
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from shop.catalog_hooks.buy_box import render_buy_box
from shop.models import Product, Sale
from tests.support.catalog.make import make_book
from tests.support.catalog.warm import own_copy, warm_up
from tests.support.shop.make import make_product, make_sale
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["own_copy"]
JSON = {"Accept": "application/json"}


def page_of(client: Client, book: Product | Book) -> str:
    """Return the book's page, served from SQL."""
    with sql_only():
        return client.get(f"/books/{book.pk}/").content.decode()


def box_of(client: Client, book: Product | Book) -> str:
    """Return the buy box of the page, or ""."""
    _, start, rest = page_of(client, book).partition('<section class="buy-box sheet stack"')
    return start + rest.partition("</section>")[0]


def test_the_box_shows_the_price_and_adds_to_the_cart(client: Client) -> None:
    product = make_product(price=1250, stock=6)
    box = box_of(client, product)
    for words in ("€12.50", "In stock", 'action="/shop/cart/" method="post"', 'name="add" value="1"', 'max="99"'):
        assert words in box
    assert f'name="product" value="{product.pk}"' in box
    assert "csrfmiddlewaretoken" in box
    assert ">was " not in box
    assert find_policy_violations(page_of(client, product)) == []


def test_search_engines_learn_price_and_stock(client: Client) -> None:
    def offer_of(product: Product) -> dict[str, str]:
        _, _, rest = page_of(client, product).partition('<script type="application/ld+json">')
        return dict(orjson.loads(rest.partition("</script>")[0]).get("offers", {}))

    product = make_product(price=1250, stock=1)
    expected = {
        "@type": "Offer", "price": "12.50", "priceCurrency": "EUR", "availability": "https://schema.org/InStock",
        "url": f"{settings.SITE_URL}/books/{product.pk}/",
    }  # fmt: skip
    assert offer_of(product) == expected
    sale = make_sale(product, price=999)
    assert offer_of(product) == expected | {"price": "9.99", "priceValidUntil": sale.ends_at.isoformat()}
    assert offer_of(make_product(stock=0))["availability"] == "https://schema.org/OutOfStock"
    assert offer_of(make_product(is_active=False)) == {}


@pytest.mark.parametrize(
    ("stock", "reserved", "says", "can_buy"),
    [(9, 3, "In stock", True), (9, 4, "Only 5 left", True), (2, 1, "Only 1 left", True), (3, 3, "Sold out", False)],
)
def test_the_box_shows_the_copies_left(client: Client, stock: int, reserved: int, says: str, can_buy: bool) -> None:
    box = box_of(client, make_product(stock=stock, reserved=reserved))
    assert says in box
    assert ('action="/shop/cart/"' in box) is can_buy


def test_a_book_that_is_not_for_sale_has_no_box(client: Client) -> None:
    withdrawn = box_of(client, make_product(is_active=False))
    assert "We do not sell this book any more." in withdrawn
    assert "<form" not in withdrawn
    assert box_of(client, make_book("Not sold")) == ""


def test_the_box_shows_a_sale_only_during_its_period(client: Client) -> None:
    product = make_product(price=1250)
    sale = make_sale(product, price=900)
    box = box_of(client, product)
    assert '<span class="now">€9.00</span>' in box
    assert "€12.50" in box
    assert f'<time data-local="soon" datetime="{sale.ends_at.isoformat(timespec="seconds")[:19]}' in box
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    assert "特卖截止 <time" in box_of(client, product)
    Sale.objects.update(ends_at=clock.now() - timedelta(seconds=1))
    assert '<span class="now">€12.50</span>' in box_of(client, product)
    assert "<time" not in box_of(client, product)


def test_the_box_can_be_rendered_on_any_page(client: Client) -> None:
    product = make_product(price=1250)
    request = RequestFactory().get("/")
    with sql_only():
        assert "€12.50" in render_buy_box(request, product.pk, None)
        assert render_buy_box(request, product.pk + 1, None) == ""


@pytest.mark.parametrize("by_sql", [False, True])
def test_the_json_of_a_book_has_price_and_stock(client: Client, by_sql: bool) -> None:
    sold, withdrawn = make_product("Emma", price=1250, stock=3, reserved=1), make_product(is_active=False)
    make_sale(sold, price=900)
    drain_all()
    if not by_sql:
        warm_up()
    wanted = {sold: (900, 1250, 2), withdrawn: (None, None, 0), make_book("Not sold"): (None, None, 0)}
    for book, (price, was, stock) in wanted.items():
        said = client.get(f"/books/{book.pk}/", headers=JSON).json()
        assert (said["price"], said["was"], said["stock"]) == (price, was, stock)
        assert {"id", "title", "authors", "tags"} <= set(said)


def test_a_book_and_its_shop_data_take_one_round_trip(client: Client) -> None:
    product = make_product(price=1250)
    warm_up()
    from catalog.selectors import get_book_page

    with record() as seen:
        page = get_book_page(product.pk)
    assert (seen.round_trips, seen.sql) == (1, [])
    assert page is not None
    assert page.extras["product"].now.cents == 1250
    with sql_only():
        by_sql = get_book_page(product.pk)
    assert by_sql is not None
    assert by_sql.json == page.json


# --- cards ----------------------------------------------------------------------------------------


def cards(client: Client) -> str:
    return client.get("/books/").content.decode().partition('<ol class="cards">')[2]


@pytest.mark.usefixtures("own_copy")
def test_prices_on_cards_take_no_round_trip_and_equal_those_from_sql(client: Client) -> None:
    emma = make_product("Emma", price=1250)
    make_sale(emma, price=900)
    make_product("Gone", price=777, stock=0)
    make_product("Withdrawn", price=555, is_active=False)
    make_book("Never sold")
    warm_up()
    client.get("/books/")
    with record() as seen:
        html = cards(client)
    assert (seen.round_trips, seen.sql) == (1, [])
    for words in ('<span class="now">€9.00</span>', "€12.50", "€7.77", "Sold out"):
        assert words in html
    assert "€5.55" not in html
    with sql_only():
        assert cards(client) == html


@pytest.mark.usefixtures("own_copy")
def test_a_changed_price_shows_on_the_card_at_once(client: Client) -> None:
    product = make_product(price=1250)
    warm_up()
    assert "€12.50" in cards(client)
    Product.objects.filter(pk=product.pk).update(price=990)
    drain_all()
    assert "€9.90" in cards(client)
