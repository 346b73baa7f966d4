"""The cart page in HTML and JSON, and the cart link in the header of every page."""

from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client, override_settings
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import Session, User
from mirror.redis import naming
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop.delivery.hints import forget_methods
from shop.models import Cart, DeliveryMethod, DeliveryPrice, DeliveryZone, Product, SavedAddress
from tests.support.accounts.sessions import alice, log_in, read_digest, warm_sessions
from tests.support.shop.carts import read_quantities
from tests.support.shop.make import make_product, make_sale
from tests.support.warm_mirrors import rebuild

__all__ = ["alice", "warm_sessions"]
pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/shop/cart/"
JSON = {"accept": "application/json"}
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def warm(warm_sessions: None) -> None:
    """Warm mirrors."""
    rebuild(["session", "product", "book", "cart", "notification"])


@pytest.fixture
def book() -> Product:
    """A product for sale."""
    made = make_product("The Book of Sand", price=1250, stock=10)
    drain_all()
    return made


def put(client: Client, product: Product | int, quantity: Any = 1, **more: Any) -> Any:
    """Post a change of a line."""
    pk = product if isinstance(product, int) else product.pk
    headers = more.pop("headers", {})
    return client.post(HERE, {"product": pk, "quantity": quantity, **more}, headers=headers)


def text_of(client: Client) -> str:
    """Return the text of the page."""
    answer = client.get(HERE)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_an_empty_cart_asks_browsers_without_cookies_to_allow_them(client: Client) -> None:
    assert "Allow cookies for this site" in text_of(client)
    client.get("/accounts/login/")
    assert "Allow cookies for this site" not in text_of(client)


def test_reading_pages_creates_no_session(client: Client, book: Product) -> None:
    assert "Your cart is empty." in text_of(client)
    assert client.get(HERE, headers=JSON).json() == {
        "lines": [],
        "copies": 0,
        "total": 0,
        "currency": "EUR",
        "version": 0,
    }
    assert "sessionid" not in client.cookies
    assert ">Most read</h2>" in text_of(client)


def test_adding_a_book_creates_a_cart_and_redirects_to_it(client: Client, book: Product) -> None:
    answer = put(client, book, 2)
    assert (answer.status_code, answer["Location"]) == (303, HERE)
    assert [str(m) for m in get_messages(answer.wsgi_request)] == ["Now in your cart: 2 copies of The Book of Sand"]
    assert read_quantities(read_digest(client)) == {book.pk: 2}
    page = text_of(client)
    for words in ["The Book of Sand", "€25.00", "Proceed to checkout"]:
        assert words in page
    assert ">Most read</h2>" not in page
    put(client, book, 3, add=1)
    assert read_quantities(read_digest(client)) == {book.pk: 5}
    put(client, book, 4, add=0)
    assert read_quantities(read_digest(client)) == {book.pk: 4}
    put(client, book, 0)
    assert "Your cart is empty." in text_of(client)


def test_the_json_has_the_lines_and_current_prices(client: Client, book: Product) -> None:
    other = make_product("The Aleph", price=500, stock=1)
    make_sale(book, price=900)
    drain_all()
    put(client, book, 2)
    answer = put(client, other, 1, headers=JSON)
    assert answer.status_code == 200
    found = answer.json()
    assert found == client.get(HERE, headers=JSON).json()
    first, second = found["lines"]
    assert first == {
        "product": book.pk,
        "title": "The Book of Sand",
        "quantity": 2,
        "price": 900,
        "was": 1250,
        "price_when_put_in": 900,
        "stock": 10,
        "problem": None,
        "total": 1800,
    }
    assert (second["product"], second["total"]) == (other.pk, 500)
    assert (found["copies"], found["total"]) == (3, 2300)


WRONG = [
    ({}, "product"),
    ({"product": "x", "quantity": "1"}, "product"),
    ({"product": "-1", "quantity": "1"}, "product"),
    ({"product": "999999999999999999", "quantity": "1"}, "product"),
    ({"product": "9" * 60, "quantity": "1"}, "product"),
    ({"quantity": ""}, "quantity"),
    ({"quantity": "many"}, "quantity"),
    ({"quantity": "1.5"}, "quantity"),
    ({"quantity": "-1"}, "quantity"),
    ({"quantity": "-1", "add": "1"}, "quantity"),
    ({"quantity": "0", "add": "1"}, "quantity"),
    ({"quantity": "100"}, "quantity"),
    ({"quantity": "100", "add": "1"}, "quantity"),
    ({"quantity": "9" * 5000}, "quantity"),
]


@pytest.mark.parametrize("has_session", [False, True])
def test_a_refused_change_names_its_field(has_session: bool, client: Client, book: Product) -> None:
    if has_session:
        put(client, book, 1)
    for given, field in WRONG:
        wanted = {"product": str(book.pk), **given} if given else {}
        answer = client.post(HERE, wanted, headers=JSON)
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field), wanted
        page = client.post(HERE, wanted)
        assert page.status_code == 400
        assert answer.json()["error"]["message"] in page.content.decode()
    assert Session.objects.exists() is has_session
    assert not has_session or read_quantities(read_digest(client)) == {book.pk: 1}


def test_form_and_server_have_one_limit(client: Client, book: Product, settings: Settings) -> None:
    """The limit does not depend on the stock; a line says when too few copies are left."""
    settings.SHOP_CART_QUANTITY = 30
    assert 'max="30"' in client.get(f"/books/{book.pk}/").content.decode()
    assert put(client, book, 31, headers=JSON).status_code == 400
    assert put(client, book, 30, headers=JSON).json()["lines"][0]["problem"] == "short"
    assert 'max="30"' in text_of(client)


def test_the_form_requires_a_csrf_token(book: Product) -> None:
    client = Client(enforce_csrf_checks=True)
    assert put(client, book, 1).status_code == 403
    client.get(HERE)
    client.cookies["csrftoken"] = "a" * 32
    assert put(client, book, 1, csrfmiddlewaretoken="a" * 32).status_code == 303


def test_htmx_gets_only_the_cart_and_the_header_count(client: Client, book: Product) -> None:
    put(client, book, 1)
    answer = put(client, book, 4, headers=HTMX)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert text.startswith('<div class="cart" id="cart">')
    assert 'hx-swap-oob="true"' in text
    assert "(4 copies)" in text
    assert "<html" not in text
    refused = put(client, book, 100, headers=HTMX)
    assert refused.status_code == 400
    assert "at most 99 copies" in refused.content.decode()


def test_adding_from_a_page_returns_to_that_page(client: Client, book: Product) -> None:
    page = f"/books/{book.pk}/"
    assert f'name="next" value="{page}"' in client.get(page).content.decode()
    answer = put(client, book, 2, add=1, next=page)
    assert (answer.status_code, answer["Location"]) == (303, page)
    shown = client.get(page).content.decode()
    assert "Added to cart: 2 copies of The Book of Sand" in shown
    assert "(2 copies)" in shown
    for wrong in ("https://elsewhere.example/", "//elsewhere.example/", "cart/"):
        assert put(client, book, 1, add=1, next=wrong)["Location"] == HERE


def test_htmx_gets_the_added_line_and_the_header_count(client: Client, book: Product) -> None:
    put(client, book, 1, headers=HTMX)
    text = put(client, book, 12, add=1, headers=HTMX).content.decode()
    for words in (
        "Added to cart: 12 copies of The Book of Sand",
        "Only 10 left",
        "13 books in your cart",
        '<a class="cart-link" id="cart-link" href="/shop/cart/" hx-swap-oob="true">',
        "(13 copies)",
    ):
        assert words in text
    assert 'id="cart"' not in text
    refused = put(client, book, 100, add=1, headers=HTMX)
    assert refused.status_code == 400
    assert "at most 99 copies" in refused.content.decode()
    assert "(13 copies)" in refused.content.decode()
    assert 'id="cart"' not in refused.content.decode()


def test_steps_and_removals_can_be_undone(client: Client, book: Product) -> None:
    put(client, book, 3)
    put(client, book, 3, step=1)
    assert read_quantities(read_digest(client)) == {book.pk: 4}
    # A step below one copy removes the line.
    removed = put(client, book, 1, step=-1, before=4)
    assert removed["Location"] == f"{HERE}?removed={book.pk}&before=4"
    page = client.get(removed["Location"]).content.decode()
    for words in ("Your cart is empty.", "Removed from cart: The Book of Sand", 'name="quantity" value="4"', "Undo"):
        assert words in page
    text = put(client, book, 4, restore=1, headers=HTMX).content.decode()
    assert "autofocus" in text
    assert read_quantities(read_digest(client)) == {book.pk: 4}
    assert "Undo" not in client.get(removed["Location"]).content.decode()
    assert "Undo" in put(client, book, 0, before=4, headers=HTMX).content.decode()
    for wrong in ("removed=x&before=1", "removed=-1&before=-1", f"removed={'9' * 60}&before=1"):
        assert client.get(f"{HERE}?{wrong}").status_code == 200
    # The small cart undoes an addition on the page of the book.
    added = put(client, book, 2, add=1, headers=HTMX).content.decode()
    assert 'id="mini-cart" hx-swap-oob="innerHTML"' in added
    assert '<input type="hidden" name="quantity" value="0"><input type="hidden" name="undo" value="1">' in added
    undone = put(client, book, 0, undo=1, headers=HTMX).content.decode()
    assert "Removed from cart: The Book of Sand" in undone
    assert "mini-undo" not in undone
    assert read_quantities(read_digest(client)) == {}


@pytest.mark.parametrize("free_from", [None, 5000])
def test_the_cart_says_that_delivery_is_added(
    free_from: int | None, client: Client, book: Product, settings: Settings
) -> None:
    settings.SELLER_COUNTRY = "DE"
    put(client, book, 3)
    assert "Plus delivery" not in text_of(client)  # a shop without methods delivers for free
    zone = DeliveryZone.objects.create(name="Germany", countries="DE")
    method = DeliveryMethod.objects.create(zone=zone, name="Standard", free_from=free_from)
    DeliveryPrice.objects.create(method=method, max_grams=5000, price=390)
    forget_methods()
    if free_from is None:
        assert ">Plus delivery.<" in text_of(client)
        return
    assert "Plus delivery. Spend €12.50 more for free delivery in Germany." in text_of(client)
    put(client, book, 4)
    assert "Free delivery in Germany." in text_of(client)


def make_method(countries: str, name: str, price: int, free_from: int | None = None) -> DeliveryMethod:
    """Make a method of delivery in a zone of its own."""
    zone = DeliveryZone.objects.create(name=name, countries=countries)
    method = DeliveryMethod.objects.create(zone=zone, name=name, free_from=free_from)
    DeliveryPrice.objects.create(method=method, max_grams=5000, price=price)
    forget_methods()
    return method


def test_readers_see_the_delivery_to_their_last_country(client: Client, book: Product, settings: Settings) -> None:
    settings.SELLER_COUNTRY = "DE"
    method = make_method("DE", "Standard", 390, free_from=2000)
    make_method("", "International", 1990)
    user = User.objects.create_user("ann", password="secret")
    client.force_login(user)
    put(client, book, 2)
    assert "Free delivery in Germany." in text_of(client)  # no address and no order
    address = SavedAddress.objects.create(user=user, name="Ann", country="GB", address="1 High Street")
    text = text_of(client)
    assert "Delivery to the United Kingdom" in text
    assert "€19.90" in text
    assert "€44.90" in text  # the total as the checkout begins with
    assert "Germany" not in text
    with record() as seen:
        text_of(client)
    assert len(seen.sql) == 1
    SavedAddress.objects.filter(pk=address.pk).update(country="DE")
    assert "Delivery to Germany</dt><dd>Free<" in text_of(client)
    DeliveryMethod.objects.filter(pk=method.pk).update(free_from=5000)
    forget_methods()
    assert "Spend €25.00 more for free delivery." in text_of(client)
    DeliveryPrice.objects.filter(method=method).update(max_grams=1)
    forget_methods()
    assert "We cannot deliver this order to this country." in text_of(client)


def read_summary(client: Client) -> str:
    """Return the part of the page that has the sums and the button."""
    return text_of(client).split('class="cart-summary sheet stack"')[1].split("</section>")[0]


@pytest.mark.parametrize("is_reader", [False, True])
@pytest.mark.parametrize("change", [{"stock": 0}, {"is_active": False}])
def test_sold_out_carts_cost_no_delivery_and_lead_to_no_checkout(
    change: dict[str, int], is_reader: bool, client: Client, book: Product, settings: Settings
) -> None:
    settings.SELLER_COUNTRY = "DE"
    make_method("DE", "Germany", 390, free_from=5000)
    if is_reader:
        reader = User.objects.create_user("alice")
        client.force_login(reader)
        SavedAddress.objects.create(user=reader, name="A", country="DE", address="1 Main Street")
    put(client, book)
    page = read_summary(client)
    for words in ("elivery", "Total", "Proceed to checkout"):
        assert words in page
    Product.objects.filter(pk=book.pk).update(**change)
    drain_all()
    page = read_summary(client)
    for words in ("elivery", "€0.00", "€3.90", "VAT", "Total", "Proceed to checkout"):
        assert words not in page, words
    assert "None of these books are available right now." in page
    for answer in (client.get("/shop/checkout/"), client.post("/shop/checkout/", {"refresh": "1", "country": "DE"})):
        assert (answer.status_code, answer["Location"]) == (302, "/shop/cart/")
    # A further book that can be bought brings both back.
    put(client, make_product("Mort", price=700, stock=1))
    drain_all()
    assert "Proceed to checkout" in read_summary(client)
    assert client.get("/shop/checkout/").status_code == 200


def test_the_unit_price_is_shown_from_two_copies_on(client: Client, book: Product) -> None:
    put(client, book, 1)
    assert "Unit price" not in text_of(client)
    put(client, book, 2)
    assert "Unit price" in text_of(client)
    make_sale(book, price=1000)
    drain_all()
    assert '€20.00 <s class="was"><span class="sr-only">was </span>€25.00</s></p>' in text_of(client)


def test_lines_that_cannot_be_bought_are_marked(client: Client, book: Product) -> None:
    few, sold_out, gone, dearer, deleted = (make_product(f"No. {n}", price=1000, stock=9) for n in range(5))
    drain_all()
    for product in [book, few, sold_out, gone, dearer, deleted]:
        put(client, product, 3)
    Product.objects.filter(pk=few.pk).update(stock=2)
    Product.objects.filter(pk=sold_out.pk).update(stock=0)
    Product.objects.filter(pk=gone.pk).update(is_active=False)
    Product.objects.filter(pk=dearer.pk).update(price=1100)
    deleted.book.delete()
    drain_all()
    page = client.get(HERE, headers=JSON).json()
    problems = {line["product"]: line["problem"] for line in page["lines"]}
    assert problems == {
        book.pk: None,
        few.pk: "short",
        sold_out.pk: "sold_out",
        gone.pk: "gone",
        dearer.pk: None,
        deleted.pk: "gone",
    }
    assert page["total"] == 3 * (1250 + 1000 + 1100)
    text = text_of(client)
    for words in [
        "Only 2 left",
        "Sold out",
        "No longer available",
        "It cost €10.00 when you added it.",
        "Remove A book that is no longer available",
    ]:
        assert words in text
    put(client, deleted, 0)
    put(client, gone, 0)
    assert set(read_quantities(read_digest(client))) == {book.pk, few.pk, sold_out.pk, dearer.pk}


def test_the_page_takes_one_round_trip_and_no_sql(book: Product) -> None:
    client = Client()
    put(client, book, 1)
    drain_all()
    client.get(HERE)
    with record() as seen:
        page = client.get(HERE)
    assert (seen.round_trips, seen.sql) == (1, [])
    assert b"(1 copy)" in page.content


def test_the_header_count_takes_no_round_trip(alice: User, book: Product) -> None:
    client = log_in(alice)
    found = []
    for quantity in (0, 7):
        put(client, book, quantity)
        with record() as seen:
            page = client.get("/accounts/sessions/")
        found.append((seen.round_trips, len(seen.sql), b"(7 copies)" in page.content))
    assert found == [(3, 0, False), (1, 0, True)]  # the second time the page is read ahead
    assert b"(7 copies)" in client.get(f"/books/{book.pk}/").content


def test_after_a_loss_of_redis_the_header_count_is_missing_but_not_the_cart(
    client: Client, book: Product, redis: Redis
) -> None:
    put(client, book, 3)
    redis.delete(naming.marker("cart"))
    assert b"(3 copies)" not in client.get("/books/").content, "it may be older than what SQL has"
    redis.flushall()
    rebuild(["session", "product", "book"])
    page = client.get("/books/").content
    assert b"cart-link" in page
    assert b"(3 copies)" not in page
    assert "The Book of Sand" in text_of(client)
    rebuild(["cart"])
    assert b"(3 copies)" in client.get("/books/").content


def test_with_redis_away_the_page_shows_the_cart_and_takes_changes_once(client: Client, book: Product) -> None:
    put(client, book, 1)
    breaker.failed()
    assert put(client, book, 2, add=1).status_code == 303
    breaker.failed()
    assert "The Book of Sand" in text_of(client)
    assert Cart.objects.get().content[book.pk].quantity == 3
    breaker.reset()
    drain_all()
    client.get("/books/")
    assert b"(3 copies)" in client.get("/books/").content
    assert read_quantities(read_digest(client)) == {book.pk: 3}


def test_two_tabs_do_not_overwrite_lines_of_each_other(client: Client, book: Product) -> None:
    other, third = make_product("The Aleph"), make_product("Fictions")
    drain_all()
    put(client, book, 1)
    tabs = [Client(), Client()]
    for tab in tabs:
        tab.cookies["sessionid"] = client.cookies["sessionid"].value
    put(tabs[0], book, 2)
    put(tabs[1], other, 1)
    put(tabs[0], third, 4)
    put(tabs[1], book, 5)
    assert read_quantities(read_digest(client)) == {book.pk: 5, other.pk: 1, third.pk: 4}


@override_settings(SHOP_CART_LINES=1)
def test_a_full_cart_refuses_more_lines_with_a_message(client: Client, book: Product) -> None:
    other = make_product("The Aleph")
    drain_all()
    put(client, book, 1)
    answer = put(client, other, 1)
    assert answer.status_code == 400
    assert "A cart holds at most 1 book." in answer.content.decode()
