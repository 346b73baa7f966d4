"""Notifications of sent orders, and of books that are back in stock or cheaper."""

from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.notifications import selectors, services
from accounts.notifications.emails.sending import send_due
from accounts.notifications.models import Way
from catalog.models import Book
from common import clock
from mirror.relay.drains import drain_all
from mirror.verify.runs import verify
from shop.models import Order, Product, StockAlert
from shop.services.orders import mark_order_sent
from shop.services.stock_alerts import note_returns
from tests.support.servers import RedisServer
from tests.support.shop.make import make_order, make_product, make_sale
from tests.support.social.notifications import read_both_ways
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
JSON = {"Accept": "application/json"}
MIRRORS = ["notified_order", "notified_stock", "notified_price", "notification"]


@pytest.fixture
def alice(client: Client) -> User:
    """Create a reader and log her in."""
    found = User.objects.create_user("alice")
    client.force_login(found)
    rebuild()
    return found


@pytest.fixture
def sold_out(alice: User) -> Product:
    return make_product("A <rare> book", stock=0)


def get_shown(user: User) -> list[tuple[str, str]]:
    """Return kind and address of a reader's notifications, after draining and verifying."""
    drain_all()
    assert verify(MIRRORS) == []
    return [(shown.kind.name, shown.detail.path) for shown in read_both_ways(user)[0]]


def add(client: Client, product: Product, **headers: str) -> int:
    """Ask the shop to tell the reader. Return the status."""
    return client.post("/shop/alerts/", {"add": product.pk}, headers={**JSON, **headers}).status_code


def test_a_sent_order_notifies_its_buyer_once(alice: User, client: Client) -> None:
    order = make_order(alice, make_product("A book", stock=5))
    assert get_shown(alice) == []
    Order.objects.filter(pk=order.pk).update(state="paid", paid_at=order.created_at)
    mark_order_sent(order.pk)
    assert get_shown(alice) == [("order", f"/shop/orders/{order.pk}/")]
    text = client.get("/notifications/", headers=JSON).json()["results"][0]["text"]
    assert text == f"Your order #{order.pk} was sent."


def test_an_imported_order_notifies_nobody(alice: User) -> None:
    order = make_order(alice, make_product("A book", stock=5))
    sent_at = order.created_at + timedelta(days=1)
    Order.objects.filter(pk=order.pk).update(state="sent", reserved_until=order.created_at, sent_at=sent_at)
    assert get_shown(alice) == []


def test_a_book_that_is_back_notifies_the_readers_who_wait(alice: User, client: Client, sold_out: Product) -> None:
    page = client.get(f"/books/{sold_out.pk}/").content.decode()
    assert "Tell me when it is back in stock" in page
    assert add(client, sold_out) == 200
    assert note_returns() == 0
    assert get_shown(alice) == []
    Product.objects.filter(pk=sold_out.pk).update(stock=2, reserved=2)
    assert note_returns() == 0
    Product.objects.filter(pk=sold_out.pk).update(reserved=1)
    assert note_returns() == 1
    assert note_returns() == 0
    assert get_shown(alice) == [("stock", f"/books/{sold_out.pk}/")]
    assert "A &lt;rare&gt; book</bdi> is back in stock." in client.get("/notifications/").content.decode()


def test_a_reader_can_wait_again(alice: User, client: Client, sold_out: Product) -> None:
    add(client, sold_out)
    Product.objects.update(stock=1)
    note_returns()
    drain_all()
    services.mark_all_read(alice.pk, clock.now())
    Product.objects.update(stock=0)
    assert add(client, sold_out) == 200
    assert get_shown(alice) == []
    Product.objects.update(stock=1)
    note_returns()
    assert len(get_shown(alice)) == 1
    assert selectors.count_unread(alice.pk) == 1


def test_each_fall_of_a_price_causes_one_letter_to_a_verified_address(
    alice: User, client: Client, settings: Settings
) -> None:
    book, sold_out = make_product("Emma", price=1250, stock=2), make_product("Sold out", price=900, stock=0)
    assert "Tell me when the price drops" in client.get(f"/books/{book.pk}/").content.decode()
    for product in (book, book, sold_out):
        ask = {"add": product.pk, "kind": "price", "next": "/shop/alerts/"}
        said = client.post("/shop/alerts/", ask, follow=True).content.decode()
    assert "We will tell you when the price drops." in said
    assert said.count("for less than €") == 2
    rows = client.get("/shop/alerts/", headers=JSON).json()["results"]
    assert [(row["product"], row["kind"], row["price"]) for row in rows] == [
        (sold_out.pk, "price", 900),
        (book.pk, "price", 1250),
    ]
    # A dearer book, one as dear as before, and one without copies are no news.
    Product.objects.filter(pk=sold_out.pk).update(price=500)
    for price in (1300, 1250):
        Product.objects.filter(pk=book.pk).update(price=price)
        assert note_returns() == 0
    make_sale(book, price=1000)
    assert [note_returns(), note_returns()] == [1, 0]
    assert get_shown(alice) == [("price", f"/books/{book.pk}/")]
    text = client.get("/notifications/").content.decode()
    assert "The price of <bdi>Emma</bdi> has dropped." in text
    assert "€10.00" in text
    # A second fall is no second letter until the reader asks again, from today's price.
    Product.objects.filter(pk=book.pk).update(price=800)
    assert note_returns() == 0
    settings.CLOCK = lambda: timezone.now() + timedelta(minutes=5)
    assert send_due(Way.EMAIL, 60) == 0  # no verified address
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    assert [send_due(Way.EMAIL, 60), send_due(Way.EMAIL, 60)] == [1, 0]
    (letter,) = mail.outbox
    assert letter.to == ["alice@example.org"]
    assert "The price of Emma has dropped." in letter.body
    assert letter.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    client.post("/shop/alerts/", {"add": book.pk, "kind": "price"})
    assert StockAlert.objects.get(product=book, back_at=None).cents == 800
    client.post("/shop/alerts/", {"remove": book.pk})  # of copies, which the reader does not wait for
    client.post("/shop/alerts/", {"remove": sold_out.pk, "kind": "price"})
    assert [alert.product_id for alert in StockAlert.objects.all()] == [book.pk]


def test_alerts_are_refused_for_other_books(alice: User, client: Client, sold_out: Product, settings: Settings) -> None:
    settings.STOCK_ALERT_LIMIT = 1
    in_stock, hidden = make_product("A book", stock=5), make_product("Another", stock=0)
    Product.objects.filter(pk=hidden.pk).update(is_active=False)
    assert [add(client, each) for each in (in_stock, hidden, sold_out, sold_out)] == [409, 409, 200, 200]
    assert add(client, make_product("A third", stock=0)) == 409
    assert client.post("/shop/alerts/", {"add": "x"}, headers=JSON).json() == {"waits": False}
    assert StockAlert.objects.count() == 1


def test_the_button_on_the_page_of_a_book_becomes_its_answer(alice: User, client: Client, sold_out: Product) -> None:
    htmx = {"HX-Request": "true"}
    dear = make_product("Emma", price=1250, stock=5)
    for product, kind, words in ((sold_out, "stock", "this book is back in stock"), (dear, "price", "the price drops")):
        given = {"kind": kind, "next": f"/books/{product.pk}/"}
        answer = client.post("/shop/alerts/", given | {"add": product.pk}, headers=htmx).content.decode()
        assert f'<p role="status">We will tell you when {words}.' in answer
        assert f'name="remove" value="{product.pk}"' in answer
        again = client.post("/shop/alerts/", given | {"remove": product.pk}, headers=htmx).content.decode()
        assert f'name="add" value="{product.pk}"' in again
    refusal = client.post("/shop/alerts/", {"add": dear.pk, "kind": "stock"}, headers=htmx).content.decode()
    assert '<p role="alert">This book is in stock.</p>' in refusal
    assert not StockAlert.objects.exists()
    # Readers who ask for it get an email, whatever they wait for.
    page = client.get("/notifications/settings/").content.decode()
    for kind in ("stock", "price"):
        assert '<option value="email" selected' in page.partition(f'<select name="{kind}"')[2].partition("</select>")[0]


@pytest.mark.parametrize("is_redis_away", [False, True])
def test_the_page_of_a_book_shows_what_the_reader_waits_for(
    alice: User, client: Client, sold_out: Product, redis_server: RedisServer, is_redis_away: bool
) -> None:
    dear = make_product("Emma", price=1250, stock=5)
    if is_redis_away:
        redis_server.kill()
    for product, kind, words in ((sold_out, "stock", "this book is back in stock"), (dear, "price", "the price drops")):
        path, given = f"/books/{product.pk}/", {"kind": kind, "next": f"/books/{product.pk}/"}
        assert f'name="add" value="{product.pk}"' in client.get(path).content.decode()
        page = client.post("/shop/alerts/", given | {"add": product.pk}, follow=True).content.decode()
        for shown in (page, client.get(path).content.decode()):
            form = shown.partition('class="stock-alert"')[2].partition("</form>")[0]
            assert f"We will tell you when {words}." in form
            assert 'role="status"' not in form  # which tells of events, and not of the page
            assert f'name="remove" value="{product.pk}"' in form
        # The other kind, and other readers, are asked.
        StockAlert.objects.update(kind="price" if kind == "stock" else "stock")
        if not is_redis_away:
            drain_all()
        assert f'name="add" value="{product.pk}"' in client.get(path).content.decode()
        StockAlert.objects.update(kind=kind)
        assert f'name="add" value="{product.pk}"' in Client().get(path).content.decode()
        page = client.post("/shop/alerts/", given | {"remove": product.pk}, follow=True).content.decode()
        assert f'name="add" value="{product.pk}"' in page


def test_an_alert_that_came_true_is_offered_again(alice: User, client: Client, sold_out: Product) -> None:
    path = f"/books/{sold_out.pk}/"
    assert add(client, sold_out) == 200
    drain_all()
    assert 'name="remove"' in client.get(path).content.decode()
    StockAlert.objects.update(back_at=clock.now())
    drain_all()
    assert verify(["stock_alert"]) == []
    assert f'name="add" value="{sold_out.pk}"' in client.get(path).content.decode()


def test_alerts_are_listed_and_removed(alice: User, client: Client, sold_out: Product) -> None:
    response = client.post("/shop/alerts/", {"add": sold_out.pk, "next": f"/books/{sold_out.pk}/"}, follow=True)
    assert "We will tell you when this book is back in stock." in response.content.decode()
    assert f'name="remove" value="{sold_out.pk}"' in client.get("/shop/alerts/").content.decode()
    assert client.get("/shop/alerts/", headers=JSON).json()["results"][0]["title"] == "A <rare> book"
    client.post("/shop/alerts/", {"remove": sold_out.pk})
    assert not StockAlert.objects.exists()
    client.logout()
    assert client.post("/shop/alerts/", {"add": sold_out.pk}).headers["Location"].startswith("/accounts/login/")


def test_orders_have_no_emails_of_notifications(alice: User, client: Client) -> None:
    page = client.get("/notifications/settings/").content.decode()
    order = page.partition('<select name="order"')[2].partition("</select>")[0]
    assert 'value="off"' in order
    assert Way.EMAIL.value not in order


def test_deleting_the_book_removes_the_notification(alice: User, client: Client, sold_out: Product) -> None:
    add(client, sold_out)
    Product.objects.update(stock=1)
    note_returns()
    assert len(get_shown(alice)) == 1
    Book.objects.filter(pk=sold_out.pk).delete()
    assert get_shown(alice) == []
