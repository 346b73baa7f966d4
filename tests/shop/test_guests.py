"""Orders of guests: from the cart to the payment, the signed link, and the claim by a reader."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.models import User
from shop.models import FakeCharge, Order, OrderState, Payment, Product, SavedAddress
from shop.payments import fake
from shop.selectors.links import make_links, make_slip_path, make_token
from shop.services.orders import mark_order_sent
from shop.services.settle import settle_all
from shop.tasks import confirm, tell
from tests.shop.test_checkout_page import GIVEN, hidden, text_of
from tests.support.accounts.mail import take_hinted_tasks
from tests.support.shop.checkouts import CARD_FIELDS, assert_ledger_is_right
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def book() -> Product:
    return make_product("Small Gods", price=1250, stock=9)


@pytest.fixture
def guest(book: Product, settings: Settings) -> Client:
    """A visitor without an account, with a book in the cart."""
    settings.SITE_URL = "https://books.example"
    client = Client()
    client.post("/shop/cart/", {"product": str(book.pk), "quantity": "2"})
    return client


def order_as(guest: Client, **changed: str) -> Any:
    return guest.post("/shop/checkout/", GIVEN | hidden(guest.get("/shop/checkout/")) | changed)


def test_a_guest_orders_pays_and_reads_the_order_by_a_signed_link(guest: Client, book: Product) -> None:
    page = guest.get("/shop/checkout/")
    assert "You can order without an account." in text_of(page)
    assert "private" in page["Cache-Control"]
    response = order_as(guest, save_address="on")
    order = Order.objects.get()
    links = make_links(order)
    assert (response.status_code, response["Location"]) == (302, links.order)
    assert re.fullmatch(rf"/shop/guest/{order.pk}/[\w-]{{43}}/", links.order)
    assert (order.user, order.state, order.total) == (None, OrderState.PAID, 2500)
    assert not SavedAddress.objects.exists()
    assert_ledger_is_right({book.pk: 9})
    page = guest.get(links.order)
    for words in ("Small Gods", "1 Long Lane", "Create an account"):
        assert words in text_of(page)
    assert ("private" in page["Cache-Control"], page["X-Robots-Tag"]) == (True, "noindex")
    # The letter has the link, which works in another browser and logs nobody in.
    confirm(order.pk)
    assert f"https://books.example{links.order}" in mail.outbox[0].body
    assert f"https://books.example{links.claim}" in mail.outbox[0].body
    other = Client()
    assert "Small Gods" in text_of(other.get(links.order))
    assert "_auth_user_id" not in other.session
    # The number alone shows nothing, to guests and to readers.
    assert other.get(f"/shop/orders/{order.pk}/")["Location"].startswith("/accounts/login/")
    reader = Client()
    reader.force_login(User.objects.create_user("bob"))
    assert reader.get(f"/shop/orders/{order.pk}/").status_code == 404
    mark_order_sent(order.pk)
    assert tell("sent", order.pk) == 1
    assert f"https://books.example{links.order}" in mail.outbox[1].body


def test_wrong_links_show_nothing(guest: Client, book: Product, settings: Settings) -> None:
    order_as(guest)
    order = Order.objects.get()
    other = make_order(None, book, key="another")
    of_reader = make_order(User.objects.create_user("bob"), book, key="bob")
    erased = make_order(None, book, key="erased", email="", name="", address="")
    links = make_links(order)
    right = make_token(order)
    for pk, token in (
        (order.pk, right[:-1] + ("A" if right[-1] != "A" else "B")),
        (order.pk, "x"),
        (other.pk, right),
        (of_reader.pk, make_token(of_reader)),
        (erased.pk, make_token(erased)),
        (2**63, right),
    ):
        for page in ("", "pay/", "cancel/"):
            assert guest.get(f"/shop/guest/{pk}/{token}/{page}").status_code == 404
        assert guest.post(f"/shop/guest/{pk}/{token}/cancel/").status_code == 404
    assert Order.objects.get(pk=order.pk).state == OrderState.PAID
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another secret"
    assert guest.get(links.order).status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert guest.get(links.order).status_code == 404


def test_a_guest_gets_the_way_back_after_a_failed_payment_and_on_request(
    guest: Client, book: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_emails() -> list[str]:
        for _name, arguments in take_hinted_tasks(start="shop.tasks.tell"):
            tell(*arguments)
        found = [str(letter.body) for letter in mail.outbox]
        mail.outbox.clear()
        return found

    order_as(guest, card=fake.REFUSED_CARD, name="Buy at evil.example")
    order = Order.objects.get()
    links = make_links(order)
    assert f"sent the link to this page to {order.email}" in text_of(guest.get(links.pay))
    # One email about all attempts, without words of the buyer.
    guest.post(links.pay, CARD_FIELDS | {"card": fake.REFUSED_CARD})
    (email,) = read_emails()
    assert f"https://books.example{links.pay}" in email
    assert "is not paid, and you were not charged" in email
    assert "evil" not in email
    # The same answer to all, but an email only to the address of the order.
    other = Client()
    for number, to in ((order.pk, "m@example.org"), (order.pk + 1, order.email), (f"#{order.pk}", order.email)):
        page = other.post("/shop/guest/", {"number": number, "email": to}, follow=True)
        assert "If there is an order with this number" in text_of(page)
    (email,) = read_emails()
    assert f"https://books.example{links.pay}" in email
    Order.objects.update(reserved_until=timezone.now())
    settle_all()
    other.post("/shop/guest/", {"number": order.pk, "email": order.email.upper()})
    (email,) = read_emails()
    assert "was not paid in time" in email
    monkeypatch.setattr("shop.views.guests.LINK_LIMIT", (1, 600))
    wrong = other.post("/shop/guest/", {"number": "seven", "email": order.email})
    assert "Enter the number of the order" in text_of(wrong)
    assert other.post("/shop/guest/", {"number": order.pk, "email": order.email}).status_code == 429


def test_a_guest_tries_another_card_and_cancels(guest: Client, book: Product) -> None:
    response = order_as(guest, card=fake.REFUSED_CARD)
    order = Order.objects.get()
    links = make_links(order)
    assert response["Location"] == links.pay
    page = guest.get(links.pay)
    assert "Pay order" in text_of(page)
    assert guest.post(links.pay, CARD_FIELDS)["Location"] == links.order
    assert FakeCharge.objects.filter(succeeds=True).count() == Payment.objects.filter(state="succeeded").count() == 1
    assert guest.get(links.pay)["Location"] == links.order
    assert "Cancel order" in text_of(guest.get(links.cancel))
    for _ in range(2):
        assert guest.post(links.cancel)["Location"] == links.order
    order.refresh_from_db()
    assert order.state == OrderState.CANCELLED
    assert_ledger_is_right({book.pk: 9})


def test_a_form_sent_twice_is_one_order_and_other_guests_do_not_get_it(guest: Client, book: Product) -> None:
    form = GIVEN | hidden(guest.get("/shop/checkout/"))
    first, second = (guest.post("/shop/checkout/", form)["Location"] for _ in range(2))
    assert first == second == make_links(Order.objects.get()).order
    other = Client()
    other.post("/shop/cart/", {"product": str(book.pk), "quantity": "1"})
    assert other.post("/shop/checkout/", form).status_code == 409
    assert Order.objects.count() == Payment.objects.count() == 1


def test_a_reader_claims_the_order_once_and_the_link_ends(guest: Client, book: Product) -> None:
    order_as(guest)
    order = Order.objects.get()
    links, token, slip = make_links(order), make_token(order), make_slip_path(order, 1)
    assert guest.get(links.claim)["Location"] == f"/accounts/login/?next={links.claim}"
    alice, bob = User.objects.create_user("alice"), User.objects.create_user("bob")
    guest.force_login(alice)
    assert "Add to my account" in text_of(guest.get(links.claim))
    for _ in range(2):
        assert guest.post(links.claim)["Location"] == f"/shop/orders/{order.pk}/"
    order.refresh_from_db()
    assert order.user == alice
    stranger = Client()
    stranger.force_login(bob)
    for path in links:
        assert stranger.get(path, follow=True).status_code == 404
    # The link in the letter leads to the account.
    assert Client().get(links.order, follow=True).redirect_chain == [
        (f"/shop/orders/{order.pk}/", 302),
        (f"/accounts/login/?next=/shop/orders/{order.pk}/", 302),
    ]
    # So do the links of other pages, which earlier letters had.
    for path in (links.pay, links.cancel, links.give_back, slip):
        assert Client().get(path)["Location"] == f"/shop/orders/{order.pk}/", path
    assert Client().get(slip.replace(token, "x")).status_code == 404
    assert "Small Gods" in text_of(guest.get(f"/shop/orders/{order.pk}/"))


def test_guests_are_rate_limited_by_address(guest: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shop.views.checkout.GUEST_LIMIT", (2, 600))
    monkeypatch.setattr("shop.views.guests.PAGE_LIMIT", (2, 600))
    assert [order_as(guest, email="nobody").status_code for _ in range(3)] == [200, 200, 429]
    pages = [guest.get("/shop/guest/1/x/") for _ in range(3)]
    assert [page.status_code for page in pages] == [404, 404, 429]
    assert int(pages[-1]["Retry-After"]) > 0
