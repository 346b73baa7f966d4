"""The sale page: prices, periods and stock, never from an expired row."""

import re
import time
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from catalog.models import Author, Book
from common.public_pages import measure_life
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from shop import keys
from shop.models import Product, Sale
from shop.products.records import MAX_PRODUCTS_PER_SALE
from shop.rowcache import rows
from shop.rowcache.daemon import run_once
from shop.selectors.sales import get_sales
from shop.template_functions import offers as offer_cards
from shop.template_functions.viewed import countdown
from tests.support.servers import RedisServer
from tests.support.shop.make import make_product, make_sale
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([A-Za-z0-9]{64})"')
JSON = {"Accept": "application/json"}
PART = {"HX-Request": "true"}


DELAY = 300.0


@pytest.fixture(autouse=True)
def slow_rows(settings: Settings) -> None:
    """Settings with which rows do not expire during a test."""
    settings.SHOP_SALE_ROW_SECONDS = DELAY
    settings.SHOP_ROW_SECONDS = 2 * DELAY


@pytest.fixture
def warm() -> None:
    """Warm mirrors of the page."""
    rebuild(["book", "product", "sale"])


def cached() -> None:
    """Drain all changes and cache all due rows."""
    drain_all()
    run_once()


def text_of(client: Client, path: str = "/shop/sale/", **headers: str) -> str:
    response = client.get(path, headers=headers or None)
    assert response.status_code == 200
    return response.content.decode()


def offers(client: Client) -> list[dict[str, Any]]:
    [sale] = client.get("/shop/sale/", headers=JSON).json()["sales"]
    found: list[dict[str, Any]] = sale["products"]
    return found


def cache_again(product: Product) -> None:
    """Refresh the cached row from SQL."""
    drain_all()
    rows.schedule_row(product.pk, DELAY)
    run_once()


def poll_url(page: str) -> str:
    return page.partition('hx-get="/shop/sale/?version=')[2].partition('"')[0]


def test_the_page_takes_one_round_trip_and_no_sql(client: Client, warm: None) -> None:
    product = make_product("Programming Erlang", price=1250, stock=7)
    make_sale(product, price=900)
    cached()
    text_of(client)
    with record() as seen:
        page = text_of(client)
    assert (seen.round_trips, seen.sql) == (1, [])
    for said in ("Programming Erlang", "€9.00", "€12.50", "Only 7 left", "−28%", "Ends", "Add to cart"):
        assert said in page
    assert "sessionid" not in client.cookies


def test_offers_lead_to_authors_and_show_the_series_below_the_title(client: Client, warm: None, redis: Redis) -> None:
    product = make_product("Salt (Roads, #2)", stock=7)
    product.book.authors.add(author := Author.objects.create(name="Ann"))
    make_sale(product)
    cached()
    page = text_of(client)
    by = f'<a href="/authors/{author.pk}/"><bdi>Ann</bdi></a>'
    for said in (">Salt</a></h3>", '<p class="card-series" dir="auto">#2 Roads</p>', by):
        assert said in page
    # A row written by older code: the records supply the missing fields.
    older = orjson.loads(redis.get(keys.cached_row(product.pk)) or b"")
    del older["author_ids"]
    redis.set(keys.cached_row(product.pk), orjson.dumps(older), keepttl=True)
    assert by in text_of(client)


def test_a_new_process_takes_three_round_trips(client: Client, warm: None) -> None:
    make_sale(make_product(stock=7))
    cached()
    text_of(client)
    other = make_product("Another", stock=3)
    make_sale(other, hours=2)
    cached()
    with record() as seen:
        assert "Another" in client.get("/shop/sale/", headers=JSON).content.decode()
    assert (seen.round_trips, seen.sql) == (3, [])


def test_the_json_equals_the_page(client: Client, warm: None) -> None:
    product = make_product("Programming Erlang", price=1250, stock=7)
    sale = make_sale(product, price=900)
    cached()
    response = client.get("/shop/sale/", headers=JSON)
    [said] = response.json()["sales"]
    assert said["is_on"] is True
    assert (said["id"], said["name"], said["ends"]) == (sale.pk, "Spring", sale.ends_at.timestamp())
    assert 3500 < said["seconds_left"] <= 3600
    [offer] = said["products"]
    assert (offer["id"], offer["price"], offer["was"], offer["available"]) == (product.pk, 900, 1250, 7)
    assert time.time() - offer["as_of"] < 60
    assert "Accept" in response.headers["Vary"]


def test_pages_read_only_the_shown_products_of_a_large_sale(client: Client, warm: None, redis: Redis) -> None:
    products = [make_product(f"Book {number}") for number in range(MAX_PRODUCTS_PER_SALE + 3)]
    sale, small = make_sale(*products), make_sale(make_product("One"), hours=2)
    cached()
    shown = [product.pk for product in products[:MAX_PRODUCTS_PER_SALE]]
    stored = orjson.loads(redis.get(keys.sale(sale.pk)) or b"")
    assert ([item["id"] for item in stored["products"]], stored["more"]) == (shown, 3)
    found = get_sales()
    with sql_only():
        by_sql = get_sales()
    for large, other in (found, by_sql):
        assert ([offer.id for offer in large.offers], large.more) == (shown, 3)
        assert (other.id, len(other.offers), other.more) == (small.pk, 1, 0)
    # A product that the record leaves out changes the number of the others.
    sale.items.get(product=products[-1]).delete()
    drain_all()
    assert get_sales()[0].more == 2


def test_a_remembered_offer_has_the_token_of_its_visitor(warm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second visitor's page renders no offer, and the token of the first one is not in it."""
    make_sale(make_product("Kept {{ csrf_input }}"))
    cached()
    first, second = Client(), Client()
    token = TOKEN.findall(text_of(first))
    monkeypatch.setattr(offer_cards, "render_to_string", lambda *args: pytest.fail("rendered again"))
    page = text_of(second)
    other = TOKEN.findall(page)
    assert (len(token), len(other), set(token) & set(other)) == (1, 1, set())
    assert "Kept {{ csrf_input }}" in page
    response = second.post("/shop/cart/", {"product": "0", "csrfmiddlewaretoken": other[0]})
    assert response.status_code != 403


def test_a_coming_sale_shows_its_start_and_prices(client: Client, warm: None) -> None:
    make_sale(make_product("Hunger", price=1750, stock=2), price=600, starts_in=30, hours=40)
    cached()
    page = text_of(client)
    for said in ("Starts", "1 day", "€17.50", "then €6.00", "Only 2 left"):
        assert said in page
    assert "Add to cart" not in page
    assert "reduced" not in page


def test_without_a_sale_the_page_links_onwards(client: Client, warm: None) -> None:
    make_sale(make_product(), starts_in=-3, hours=-1)
    drain_all()
    page = text_of(client)
    assert "There is no sale right now" in page
    assert 'href="/books/"' in page
    assert client.get("/shop/sale/", headers=JSON).json() == {"sales": []}


def test_sold_out_products_have_no_button_and_withdrawn_ones_are_missing(client: Client, warm: None) -> None:
    gone, hidden = make_product("Sold", stock=0), make_product("Hidden", is_active=False)
    make_sale(gone, hidden)
    cached()
    page = text_of(client)
    assert "Sold out" in page
    assert "Add to cart" not in page
    assert "Hidden" not in page


def test_a_missing_row_is_read_from_the_mirrors(client: Client, warm: None) -> None:
    make_sale(make_product("Emma", price=1250, stock=4), price=900)
    drain_all()
    client.get("/shop/sale/", headers=JSON)
    with record() as seen:
        client.get("/shop/sale/", headers=JSON)
    assert (seen.round_trips, seen.sql) == (2, [])  # for the records of products and books
    page = text_of(client)
    assert "Emma" in page
    assert "Only 4 left" in page


def test_an_expired_row_is_not_used(client: Client, redis: Redis, warm: None) -> None:
    product = make_product(stock=4)
    make_sale(product)
    cached()
    row = orjson.loads(redis.get(keys.cached_row(product.pk)))  # type: ignore[arg-type]
    redis.set(keys.cached_row(product.pk), orjson.dumps({**row, "available": 3}))
    assert [offer["available"] for offer in offers(client)] == [3]  # the page reads the row
    redis.set(
        keys.cached_row(product.pk),
        orjson.dumps({**row, "available": 3, "cached_at": row["cached_at"] - 3 * DELAY - 1}),
    )
    [offer] = offers(client)
    assert offer["available"] == 4
    assert time.time() - offer["as_of"] < DELAY


@pytest.mark.parametrize(("hours", "is_last_day"), [(50, False), (5, True)])
def test_seconds_are_counted_on_the_last_day_alone(client: Client, warm: None, hours: float, is_last_day: bool) -> None:
    make_sale(make_product(stock=4), hours=hours)
    drain_all()
    page = text_of(client)
    assert ("2 days left" in page, "data-clock" in page) == (not is_last_day, is_last_day)
    # A stored page is used until it would show something else.
    with measure_life() as life:
        countdown(get_sales()[0])
    assert (life.seconds == 1.0) == is_last_day


def test_the_page_shows_the_time_of_its_stock(client: Client, redis: Redis, warm: None) -> None:
    product = make_product(stock=4)
    make_sale(product)
    cached()
    row = orjson.loads(redis.get(keys.cached_row(product.pk)))  # type: ignore[arg-type]
    moment = datetime.fromtimestamp(row["cached_at"], UTC)
    page = text_of(client)
    assert re.search(rf'Stock checked at <time data-local="clock" datetime="{moment:%Y-%m-%dT%H:%M:%S}', page)
    assert 'data-stale="900.0"' in page
    assert "hidden>These numbers are out of date" in page
    # The time is in the warning, which is hidden while the numbers are fresh.
    assert re.search(r'<strong class="stale" hidden>[^<]+Stock checked at <time', page)


@pytest.mark.parametrize("left", [0, 9, 10])
def test_stock_is_counted_below_ten_copies(client: Client, warm: None, left: int) -> None:
    make_sale(make_product(stock=left))
    cached()
    page = text_of(client)
    found = re.search(r'<p id="stock-[^>]*class="stock (none|few)"( hidden)?>([^<]*)</p>', page)
    expected = {0: ("none", None, "Sold out"), 9: ("few", None, "Only 9 left"), 10: ("few", " hidden", "")}
    assert found
    assert found.groups() == expected[left]


def test_the_name_of_the_only_sale_is_the_title_of_the_page(client: Client, warm: None) -> None:
    make_sale(make_product(stock=4))
    cached()
    assert re.findall(r"<h1[^>]*>([^<]+)</h1>", text_of(client)) == ["Spring"]
    make_sale(make_product("Another"), hours=2)
    cached()
    page = text_of(client)
    assert re.findall(r"<h1[^>]*>([^<]+)</h1>", page) == ["Sale"]
    assert len(re.findall(r"<h2[^>]*>Spring</h2>", page)) == 2


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_with_redis_away_sql_answers(redis_server: RedisServer, client: Client, harm: str) -> None:
    rebuild(["book", "product", "sale"])
    make_sale(make_product("Emma", price=1250, stock=4), price=900)
    cached()
    expected = offers(client)
    getattr(redis_server, harm)()
    found = offers(client)
    assert [{**offer, "as_of": 0} for offer in found] == [{**offer, "as_of": 0} for offer in expected]
    assert "Only 4 left" in text_of(client)


def test_an_open_page_polls_for_the_stock_alone(client: Client, warm: None) -> None:
    product = make_product("Emma", stock=4)
    make_sale(product)
    cached()
    page = text_of(client)
    url = f"/shop/sale/?version={poll_url(page)}"
    assert 'data-poll="300"' in page
    Product.objects.filter(pk=product.pk).update(stock=2)
    cache_again(product)
    with record() as seen:
        part = text_of(client, url, **PART)
    assert (seen.round_trips, seen.sql) == (1, [])
    assert "Only 2 left" in part
    assert part.count('hx-swap-oob="true"') == 2
    assert "Emma" not in part
    assert "<html" not in part


@pytest.mark.parametrize("change", ["sold out", "longer", "over", "cheaper"])
def test_other_changes_than_numbers_reload_the_page(client: Client, warm: None, change: str) -> None:
    product = make_product(stock=4)
    sale = make_sale(product, price=900)
    cached()
    url = f"/shop/sale/?version={poll_url(text_of(client))}"
    match change:
        case "sold out":
            Product.objects.filter(pk=product.pk).update(stock=0)
        case "longer":
            Sale.objects.filter(pk=sale.pk).update(ends_at=sale.ends_at.replace(year=2100))
        case "over":
            Sale.objects.filter(pk=sale.pk).update(
                ends_at=sale.starts_at.replace(year=2000), starts_at="1999-01-01T00:00Z"
            )
        case "cheaper":
            sale.items.update(price=800)
    cache_again(product)
    response = client.get(url, headers=PART)
    assert (response.status_code, response.headers["HX-Refresh"]) == (204, "true")


def test_the_start_of_a_sale_reloads_an_open_page(client: Client, warm: None, settings: Settings) -> None:
    product = make_product(price=1250)
    sale = make_sale(product, price=900, starts_in=1, hours=40)
    cached()
    url = f"/shop/sale/?version={poll_url(text_of(client))}"
    assert client.get(url, headers=PART).status_code == 200
    [before] = offers(client)
    assert (before["price"], before["later"]) == (1250, 900)
    settings.CLOCK = lambda: sale.starts_at
    response = client.get(url, headers=PART)
    assert (response.status_code, response.headers["HX-Refresh"]) == (204, "true")
    [offer] = offers(client)
    assert (offer["price"], offer["was"], offer["later"]) == (900, 1250, None)


def test_visitors_see_times_of_their_own_zone(client: Client, warm: None, settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    sale = make_sale(make_product())
    cached()
    page = text_of(client)
    # The day of the site; a script shows the hour.
    ends = sale.ends_at.astimezone(ZoneInfo("Asia/Shanghai"))
    day = rf"{ends.day} \w+ {ends.year}"
    assert re.search(rf'data-local="soon" datetime="{sale.ends_at:%Y-%m-%dT%H:%M:%S}\+00:00">{day}</time>', page)
    assert not re.search(r"CST|UTC|\d [APap]\.?[Mm]\b", page)
    [said] = client.get("/shop/sale/", headers=JSON).json()["sales"]
    assert said["ends"] == sale.ends_at.timestamp()


def test_the_front_page_shows_the_sale_that_ends_first_before_one_to_come(client: Client, warm: None) -> None:
    make_sale(make_product("Later", price=1000), price=100, starts_in=0.1, hours=0.2)
    make_sale(make_product("Longer", price=1000), price=300, starts_in=-2, hours=5)
    make_sale(make_product("Now", price=1000), price=200)
    cached()
    page = text_of(client, "/").partition('id="on-sale"')[2].partition("</section>")[0]
    assert "€2.00" in page
    assert "€1.00" not in page
    assert "€3.00" not in page
    # A name in another language than the page says so; a usual one is translated.
    for name, shown in (("Now’s books", 'lang="en">Now’s books</h2>'), ("This week’s finds", ">本周好书</h2>")):
        Sale.objects.update(name=name)
        cached()
        assert shown in client.get("/shop/sale/", headers={"Accept-Language": "zh-hans"}).content.decode()
    Sale.objects.all().delete()
    drain_all()
    assert 'id="on-sale"' not in client.get("/").content.decode()


def test_the_cheapest_sale_makes_the_price(client: Client, warm: None) -> None:
    product = make_product(price=1250)
    make_sale(product, price=900)
    make_sale(product, price=800, hours=2)
    make_sale(product, price=9999, hours=3)
    cached()
    sales = client.get("/shop/sale/", headers=JSON).json()["sales"]
    assert [sale["products"][0]["price"] for sale in sales] == [800, 800, 800]


@pytest.mark.parametrize("stock", [5, 6])
def test_rows_of_the_front_page_have_ratings_and_prices(client: Client, warm: None, stock: int) -> None:
    products = [make_product(f"Dear {number}", price=1999, stock=stock) for number in range(24)]
    Book.objects.update(rating=4.25)
    make_sale(*products, price=1499)
    cached()
    page = text_of(client, "/")
    shown: list[str] = []
    for name in ("on-sale", "most-viewed", "new-books"):
        row = page.partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0]
        assert "4.25" in row or name == "on-sale"
        assert "€14.99" in row
        shown += re.findall(r'<h3[^>]*><a href="([^"]+)"', row)
    assert len(shown) >= 6 + 8 + 5  # a row of six, one of eight, and what is left of a page of the list
    assert len(set(shown)) == len(shown)
    assert ("Only 5 left" in page) == (stock == 5)
    assert "6 left" not in page
