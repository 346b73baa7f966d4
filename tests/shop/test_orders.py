"""Orders: visible to their customer only, read from SQL and never cached."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from mirror.redis.recorder import record
from shop.models import Order, OrderState, Payment, Product
from shop.models.payment import PaymentState
from shop.views.orders import MAX_COVERS
from tests.support.shop.make import make_order, make_product
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db(transaction=True)
JSON = {"Accept": "application/json"}


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def shopper(client: Client, alice: User) -> Client:
    """Alice's browser."""
    client.force_login(alice)
    return client


def reserved(user: User, *products: Product, quantity: int = 1, **fields: object) -> Order:
    """An order with reserved copies."""
    for product in products:
        Product.objects.filter(pk=product.pk).update(reserved=quantity)
    return make_order(user, *products, quantity=quantity, **fields)


PAGES = ["/shop/orders/", "/shop/orders/{pk}/", "/shop/orders/{pk}/cancel/"]


@pytest.mark.parametrize("path", PAGES)
def test_an_order_is_visible_to_its_customer_and_never_cached(shopper: Client, alice: User, path: str) -> None:
    order = reserved(alice, make_product("Emma"))
    response = shopper.get(path.format(pk=order.pk))
    html = response.content.decode()
    assert response.status_code == 200
    assert "Emma" in html
    assert find_policy_violations(html) == []
    assert response.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("path", PAGES)
def test_anonymous_visitors_are_redirected_to_the_login(client: Client, alice: User, path: str) -> None:
    order = make_order(alice, make_product("Emma"))
    way = path.format(pk=order.pk)
    assert client.get(way).headers["Location"].endswith(f"?next={way}")
    response = client.get(way, headers=JSON)
    assert (response.status_code, response.json()["error"]["message"]) == (401, "Log in first.")


@pytest.mark.parametrize("is_staff", [False, True])
@pytest.mark.parametrize("path", PAGES[1:])
def test_an_order_of_another_user_is_not_found(client: Client, alice: User, path: str, is_staff: bool) -> None:
    order = reserved(alice, make_product("Emma"))
    client.force_login(User.objects.create_user("bob", is_staff=is_staff))
    way = path.format(pk=order.pk)
    for response in (client.get(way), client.get(way, headers=JSON), client.post(PAGES[2].format(pk=order.pk))):
        assert response.status_code == 404
        assert "Emma" not in response.content.decode()
    assert Order.objects.get(pk=order.pk).state == OrderState.RESERVED
    assert client.get("/shop/orders/", headers=JSON).json() == {"results": [], "next": None}


@pytest.mark.parametrize("pk", [0, 7, 2**63, 10**30])
def test_a_missing_order_is_not_found(shopper: Client, pk: int) -> None:
    assert shopper.get(f"/shop/orders/{pk}/").status_code == 404


def test_orders_are_paged_by_key_newest_first(shopper: Client, alice: User) -> None:
    product = make_product()
    made = [make_order(alice, product, key=f"k{n}").pk for n in range(45)]
    found, way, sizes = [], "/shop/orders/", []
    while way:
        page = shopper.get(way, headers=JSON).json()
        found += [order["id"] for order in page["results"]]
        sizes.append(len(page["results"]))
        assert f'rel="next" href="{page["next"]}"' in shopper.get(way).content.decode() or not page["next"]
        way = page["next"]
    assert (found, sizes) == (made[::-1], [20, 20, 5])


@pytest.mark.parametrize("after", ["x", "-1", "", "9" * 40, "²"])
def test_an_invalid_cursor_gives_the_first_page(shopper: Client, alice: User, after: str) -> None:
    order = make_order(alice, make_product())
    page = shopper.get("/shop/orders/", {"after": after}, headers=JSON)
    assert [found["id"] for found in page.json()["results"]] == [order.pk]


def test_the_list_takes_two_queries_and_an_order_three(shopper: Client, alice: User) -> None:
    products = [make_product(f"Book {n}") for n in range(7)]
    orders = [make_order(alice, *products, key=f"k{n}") for n in range(5)]
    for path, queries in (("/shop/orders/", 2), (f"/shop/orders/{orders[0].pk}/", 3)):
        shopper.get(path)
        with record() as seen:
            shopper.get(path)
        about_orders = [sql for sql in seen.sql if "shop_" in str(sql)]
        assert len(about_orders) == queries, seen.sql


def test_the_json_of_an_order_equals_its_page(shopper: Client, alice: User) -> None:
    emma = make_product("Emma", price=1250)
    order = reserved(alice, emma, quantity=2)
    Payment.objects.create(order=order, key="p", amount=2500, state=PaymentState.FAILED, reason="No money.")
    said = shopper.get(f"/shop/orders/{order.pk}/", headers=JSON).json()
    assert (said["state"], said["total"], said["can_be_cancelled"]) == ("reserved", 2500, True)
    assert said["lines"] == [{"product": emma.pk, "title": "Emma", "quantity": 2, "price": 1250}]
    assert [(p["state"], p["amount"], p["reason"]) for p in said["payments"]] == [("failed", 2500, "No money.")]
    html = shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    for words in ("Emma", "2 × €12.50", "€25.00", "failed (No money.)", "Payment failed", "9 minutes more"):
        assert words in html
    assert f'href="/shop/orders/{order.pk}/cancel/"' in html
    assert 'data-local="day"' in shopper.get("/shop/orders/").content.decode()


def test_the_list_links_to_a_parcel_for_three_weeks(shopper: Client, alice: User) -> None:
    sent: dict[str, Any] = {"state": OrderState.SENT, "carrier": "DHL", "tracking_number": "JD01"}
    order = make_order(alice, make_product("Emma"), make_product("Salt"), sent_at=clock.now() - timedelta(20), **sent)
    html = shopper.get("/shop/orders/").content.decode()
    assert "Track the parcel" in html
    Order.objects.filter(pk=order.pk).update(sent_at=clock.now() - timedelta(22))
    html = shopper.get("/shop/orders/").content.decode()
    assert "Track the parcel" not in html
    assert f'<a href="/shop/orders/{order.pk}/">' in html
    assert "Track the parcel" in shopper.get(f"/shop/orders/{order.pk}/").content.decode()


def test_a_card_shows_covers_and_the_title_of_a_single_book(shopper: Client, alice: User) -> None:
    books = [make_product(title) for title in ("Emma", "Salt", "Ox", "Fern", "Kelp", "Gull")]
    make_order(alice, *books, key="all")
    html = shopper.get("/shop/orders/").content.decode()
    assert html.count('<bdi class="sr-only">') == MAX_COVERS
    assert '<bdi class="sr-only">Salt</bdi></li>' in html
    assert f"and {len(books) - MAX_COVERS} more" in html
    Order.objects.all().delete()
    make_order(alice, books[0], key="one")
    assert '<li class="line-title"><bdi>Emma</bdi></li>' in shopper.get("/shop/orders/").content.decode()


def test_one_copy_has_one_price(shopper: Client, alice: User) -> None:
    order = reserved(alice, make_product("Emma", price=1250))
    html = shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    assert "€12.50" in html
    assert "×" not in html
    assert "Quantity: 1" in html
    assert "<dt>Delivery</dt><dd>Free</dd>" in html


def test_the_steps_of_an_order_show_those_to_come(shopper: Client, alice: User) -> None:
    emma = make_product("Emma", price=1250)
    order = make_order(alice, emma, state=OrderState.PAID, paid_at=clock.now())
    html = shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    steps = html[html.index('<ol class="steps">') : html.index("</ol>", html.index('<ol class="steps">'))]
    assert (steps.count('<li class="reached">'), steps.count("<li>")) == (2, 2)
    assert "<span>Paid</span>" in steps  # without the sum, which would not fit beside the other steps
    assert "Payments</h2>" not in html
    sent = {"state": OrderState.SENT, "carrier": "DHL", "tracking_number": "JD01"}
    for weeks, to_come in ((1, ["Delivered"]), (9, [])):
        Order.objects.update(**sent, sent_at=clock.now() - timedelta(weeks=weeks))
        html = shopper.get(f"/shop/orders/{order.pk}/").content.decode()
        assert re.findall(r"<li><span>(\w+)</span>", html) == to_come
        assert re.search(r'<p>Your parcel: DHL JD01</p> <a class="button quiet" [^>]+>Track the parcel</a></div>', html)


def test_an_expired_order_is_shown_as_expired(shopper: Client, alice: User) -> None:
    order = reserved(alice, make_product(), reserved_until=clock.now() - timedelta(seconds=1))
    html = shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    assert "The payment deadline has passed. The books go back" in html
    assert "/pay/" not in html


def test_an_open_payment_hides_the_link_to_pay(shopper: Client, alice: User) -> None:
    order = reserved(alice, make_product())
    assert f'href="/shop/orders/{order.pk}/pay/"' in shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    Payment.objects.create(order=order, key="p", amount=1)
    html = shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    assert "/pay/" not in html
    assert "We are still waiting for the payment provider" in html


def test_cancelling_asks_first_and_happens_once(shopper: Client, alice: User) -> None:
    emma = make_product(stock=3)
    order = reserved(alice, emma, quantity=2)
    way = f"/shop/orders/{order.pk}/cancel/"
    assert "cannot be undone" in shopper.get(way).content.decode()
    assert Order.objects.get(pk=order.pk).state == OrderState.RESERVED
    for _ in range(2):
        page = shopper.post(way, follow=True)
        assert page.redirect_chain == [(f"/shop/orders/{order.pk}/", 302)]
        assert "Your order was cancelled." in page.content.decode()
    emma.refresh_from_db()
    assert (Order.objects.get(pk=order.pk).state, emma.stock, emma.reserved) == (OrderState.CANCELLED, 3, 0)
    assert shopper.get(way).headers["Location"] == f"/shop/orders/{order.pk}/"


def test_cancelling_with_json_returns_the_new_order(shopper: Client, alice: User) -> None:
    order = reserved(alice, make_product())
    for _ in range(2):
        response = shopper.post(f"/shop/orders/{order.pk}/cancel/", headers=JSON)
        assert (response.status_code, response.json()["state"]) == (200, OrderState.CANCELLED)
    assert response.json() == shopper.get(f"/shop/orders/{order.pk}/", headers=JSON).json()


@pytest.mark.parametrize("state", [OrderState.SENT, OrderState.EXPIRED])
def test_sent_and_expired_orders_are_not_cancelled(shopper: Client, alice: User, state: OrderState) -> None:
    order = make_order(alice, make_product(), state=state)
    way = f"/shop/orders/{order.pk}/cancel/"
    assert way not in shopper.get(f"/shop/orders/{order.pk}/").content.decode()
    assert shopper.post(way, headers=JSON).status_code == 409
    assert "too late" in shopper.post(way, follow=True).content.decode()
    assert Order.objects.get(pk=order.pk).state == state
