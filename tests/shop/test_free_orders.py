"""Free orders need no card: they are paid at once, without the provider."""

from typing import Any

import pytest
from django.core import mail
from django.test import Client

from accounts.models import User
from shop.carts import reading
from shop.models import EventKind, Order, OrderState, Payment, Product
from shop.services import carts
from shop.services.checkout import begin_checkout
from shop.services.confirmations import send_confirmation
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.payments import pay_order
from shop.services.settle import Settled, settle_all
from shop.tasks import tell
from tests.shop.test_checkout_page import GIVEN, desk, digest_in, hidden, text_of
from tests.support.accounts.mail import take_hinted_tasks
from tests.support.shop.checkouts import CARD_FIELDS, HOME, assert_ledger_is_right, check_out, make_cart, run_together
from tests.support.shop.make import make_product, make_sale

__all__ = ["desk"]  # a fixture
pytestmark = pytest.mark.django_db(transaction=True)
NO_CARD = {name: value for name, value in GIVEN.items() if name not in CARD_FIELDS}


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every call of the provider fail."""

    def asked(*_args: Any) -> None:
        raise AssertionError("the provider was asked")

    for name in ("charge", "find_charge", "forbid_charge", "refund"):
        monkeypatch.setattr(f"shop.payments.calls.{name}", asked)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def gift() -> Product:
    return make_product("A gift", price=0, stock=3)


def test_a_free_order_is_paid_at_once_and_confirmed_once(alice: User, gift: Product) -> None:
    digest = make_cart("alice", gift, quantity=2)
    order = check_out(alice, digest)
    stored = Order.objects.get()
    assert (order.state, order.paid_at) == (stored.state, stored.paid_at)
    assert (stored.state, stored.total, stored.paid_at is None) == (OrderState.PAID, 0, False)
    assert [event.kind for event in stored.events.all()] == [EventKind.ORDERED, EventKind.FREE]
    assert reading.read_cart(digest).lines == {}
    assert not Payment.objects.exists()
    assert_ledger_is_right({gift.pk: 3})
    assert take_hinted_tasks(start="shop.tasks.confirm") == [("shop.tasks.confirm", [order.pk])]
    assert [send_confirmation(order.pk), send_confirmation(order.pk)] == [True, False]
    assert ["are free" in letter.body for letter in mail.outbox] == [True]
    assert pay_order(order, None).state == OrderState.PAID  # type: ignore[arg-type]
    assert settle_all() == Settled()


def test_a_cancelled_free_order_needs_no_refund(alice: User, gift: Product) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    order = check_out(alice, make_cart("alice", gift, quantity=2))
    for _ in range(2):
        assert cancel_order(order.pk, alice).state == OrderState.CANCELLED
    assert_ledger_is_right({gift.pk: 3})
    assert not Payment.objects.exists()
    assert settle_all() == Settled()
    assert tell("cancelled", order.pk) == 1
    assert "You were not charged." in mail.outbox[-1].body
    assert "refunded" not in mail.outbox[-1].body


def test_a_free_order_can_be_sent(alice: User, gift: Product) -> None:
    order = check_out(alice, make_cart("alice", gift))
    assert mark_order_sent(order.pk).state == OrderState.SENT
    assert_ledger_is_right({gift.pk: 3})


def test_eight_simultaneous_checkouts_of_one_cart_make_one_order(alice: User, gift: Product) -> None:
    digest = make_cart("alice", gift)
    version = reading.read_cart(digest).version

    def submit(_n: int) -> int:
        return begin_checkout(alice, digest, version=version, total=0, address=HOME).pk

    assert set(run_together(8, submit)) == {Order.objects.get().pk}
    assert_ledger_is_right({gift.pk: 3})
    assert len(take_hinted_tasks(start="shop.tasks.confirm")) == 1


def test_a_rush_gives_away_only_the_stock(alice: User, gift: Product) -> None:
    digests = [make_cart(f"cart {n}", gift) for n in range(8)]
    found = run_together(8, lambda n: check_out(alice, digests[n]))
    assert sorted(type(one).__name__ for one in found) == ["Order"] * 3 + ["SoldOut"] * 5
    assert_ledger_is_right({gift.pk: 3})


def test_the_page_asks_for_no_card(desk: Client, gift: Product) -> None:
    carts.set_line(digest_in(desk), gift.pk, 1)
    page = desk.get("/shop/checkout/")
    assert "No card is needed" in text_of(page)
    for words in ("Card number", "4242", "Place order and pay"):
        assert words not in text_of(page)
    response = desk.post("/shop/checkout/", NO_CARD | hidden(page))
    order = Order.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"/shop/orders/{order.pk}/")
    said = text_of(desk.get(response["Location"]))
    assert "Thank you for your order. It is free." in said
    assert "Nothing to pay" in said
    assert "Payments" not in said
    assert "refunded" not in text_of(desk.get(f"/shop/orders/{order.pk}/cancel/"))
    desk.post(f"/shop/orders/{order.pk}/cancel/")
    assert_ledger_is_right({gift.pk: 3})


def test_an_address_is_still_asked_for(desk: Client, gift: Product) -> None:
    carts.set_line(digest_in(desk), gift.pk, 1)
    shown = hidden(desk.get("/shop/checkout/"))
    page = desk.post("/shop/checkout/", NO_CARD | shown | {"street": ""})
    assert page.status_code == 200
    assert 'id="id_street-errors"' in page.content.decode()
    assert "Card number" not in text_of(page)
    assert not Order.objects.exists()


def test_a_forged_total_of_zero_shows_the_price_and_asks_for_a_card(desk: Client) -> None:
    book = make_product(price=1250, stock=3)
    carts.set_line(digest_in(desk), book.pk, 1)
    shown = hidden(desk.get("/shop/checkout/")) | {"total": "0"}
    page = desk.post("/shop/checkout/", NO_CARD | shown)
    assert page.status_code == 409
    assert "A price has gone up" in text_of(page)
    assert "Card number" in text_of(page)
    assert not Order.objects.exists()
    assert_ledger_is_right({book.pk: 3})


def test_no_card_is_charged_after_a_price_drop_to_zero(desk: Client) -> None:
    book = make_product(price=1250, stock=3)
    carts.set_line(digest_in(desk), book.pk, 1)
    shown = hidden(desk.get("/shop/checkout/"))
    make_sale(book, price=0)
    desk.post("/shop/checkout/", GIVEN | shown)
    assert Order.objects.get().state == OrderState.PAID
    assert_ledger_is_right({book.pk: 3})


def test_a_forged_total_of_zero_does_not_buy_a_priced_order(desk: Client) -> None:
    book = make_product(price=1250, stock=3)
    carts.set_line(digest_in(desk), book.pk, 1)
    shown = hidden(desk.get("/shop/checkout/"))
    order = check_out(User.objects.get(), digest_in(desk))
    response = desk.post("/shop/checkout/", NO_CARD | shown | {"total": "0"})
    assert response["Location"] == f"/shop/orders/{order.pk}/pay/"
    assert Order.objects.get().state == OrderState.RESERVED
    assert_ledger_is_right({book.pk: 3})
