"""Orders are paid once on Stripe's page, for any order and number of returns, callbacks, tabs and lost answers."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import stripe
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from common import clock
from shop import payments
from shop.checks import STRIPE_PROVIDER, check_provider, check_provider_for_production, check_stripe
from shop.models import EventKind, Order, OrderEvent, OrderState, Payment, PaymentState, Product
from shop.models.payment import PaymentStatus
from shop.payments import PageRequest
from shop.payments.stripe_checkout import StripeCheckout, _to_stripe
from shop.services import carts
from shop.services.settle import settle_all
from tests.shop.test_checkout_page import GIVEN, desk, digest_in, hidden, text_of
from tests.support.shop.checkouts import CARD_FIELDS, assert_ledger_is_right, make_payments_due, run_together
from tests.support.shop.make import make_product
from tests.support.shop.stripe_double import SECRET, StripeDouble, run_double, sign

__all__ = ["desk"]  # a fixture
pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = {name: value for name, value in GIVEN.items() if name not in CARD_FIELDS}


@pytest.fixture
def remote(settings: Settings) -> Iterator[StripeDouble]:
    """Stripe, which the site uses."""
    with run_double() as double:
        settings.PAYMENT_PROVIDER = STRIPE_PROVIDER
        settings.STRIPE_API_KEY, settings.PAYMENT_CALLBACK_SECRET = "sk_test_1", SECRET
        settings.STRIPE_API_URL = settings.STRIPE_PAGE_ORIGIN = double.address
        payments._load_provider.cache_clear()
        yield double
    payments._load_provider.cache_clear()


@pytest.fixture
def book(remote: StripeDouble) -> Product:
    return make_product("Small Gods", price=1250, stock=3)


def order_book(client: Client, book: Product, copies: int = 2) -> str:
    """Order copies, and return the address to which the form leads."""
    carts.set_line(digest_in(client), book.pk, copies)
    page = client.get("/shop/checkout/")
    response = client.post("/shop/checkout/", ADDRESS | hidden(page))
    assert response.status_code == 302
    return str(response["Location"])


def call_back(body: str, signature: str) -> int:
    headers = {"Stripe-Signature": signature}
    client = Client(enforce_csrf_checks=True)
    return client.post("/shop/payments/callback/", body, content_type="application/json", headers=headers).status_code


def get_states() -> tuple[str, list[str]]:
    """Return the state of the only order, and the status of each payment."""
    return Order.objects.get().state, [payment.status for payment in Payment.objects.order_by("pk")]


def assert_agrees(remote: StripeDouble, book: Product, stock: int = 3) -> None:
    """Check the ledger, and that Stripe holds the money of the successful payments."""
    assert_ledger_is_right({book.pk: stock})
    taken = Payment.objects.filter(state__in=(PaymentState.SUCCEEDED, PaymentState.SURPLUS))
    left = {payment.key: payment.amount - payment.refunded for payment in taken}
    assert remote.held == {key: cents for key, cents in left.items() if cents}


def test_an_order_is_paid_on_the_page_of_stripe(desk: Client, book: Product, remote: StripeDouble) -> None:
    carts.set_line(digest_in(desk), book.pk, 2)
    page = desk.get("/shop/checkout/")
    assert "the secure page of Stripe" in text_of(page)
    assert "Card number" not in text_of(page)
    # Browsers apply ``form-action`` to the redirect.
    assert f"form-action 'self' {remote.address}" in page["Content-Security-Policy"]
    assert remote.address not in desk.get("/shop/cart/")["Content-Security-Policy"]

    address = order_book(desk, book)
    payment, pay = Payment.objects.get(), f"/shop/orders/{Order.objects.get().pk}/pay/"
    assert address == remote.find(payment.key)["url"]
    assert remote.find(payment.key)["success_url"].endswith(pay)
    # The buyer comes back without having paid, and goes on to the same page, also from another tab.
    assert "Pay €25.00" in text_of(desk.get(pay))
    assert "Pay before then" in text_of(desk.get(pay.removesuffix("pay/")))
    assert [desk.post(pay)["Location"] for _ in range(2)] == [address] * 2
    assert len(remote.sessions) == 1
    # Returned before the callback, which then arrives twice.
    assert remote.pay(payment.key)
    back = desk.get(pay, follow=True)
    assert "Thank you. Your order is paid." in text_of(back)
    event = sign(remote.find(payment.key))
    assert [call_back(*event) for _ in range(2)] == [204, 204]
    assert get_states() == (OrderState.PAID, [PaymentState.SUCCEEDED])
    assert Payment.objects.get().reference.startswith("pi_")
    assert OrderEvent.objects.filter(kind=EventKind.PAID).count() == 1
    assert_agrees(remote, book)
    # Cancelled: the money goes back once, although the answer is lost and the call is repeated.
    desk.post(pay.replace("pay/", "cancel/"))
    remote.is_silent = True
    settle_all()
    remote.is_silent = False
    assert get_states() == (OrderState.CANCELLED, [PaymentStatus.REFUND_DUE])
    remote.answers.clear()  # Stripe forgets idempotency keys after a day
    make_payments_due()
    settle_all()
    assert get_states() == (OrderState.CANCELLED, [PaymentStatus.REFUNDED])
    assert [row["amount"] for row in remote.refunds.values()] == [2500]
    assert_agrees(remote, book)


def test_forged_old_foreign_and_early_callbacks(desk: Client, book: Product, remote: StripeDouble) -> None:
    order_book(desk, book)
    key = Payment.objects.get().key
    open_row = dict(remote.find(key))
    remote.pay(key)
    paid = remote.find(key)
    body, header = sign(paid)
    forged = [
        (body, ""), (body, "ü"), (body, "t=1"), (body, sign(paid, secret="whsec_other")[1]), (body + " ", header),
        sign(paid, age=400), ("[]", header), *(_sign_text(text) for text in ("", "[]", "{}", '{"object": "event"}')),
    ]  # fmt: skip
    assert [call_back(*event) for event in forged] == [403] * len(forged)
    foreign = [
        sign(paid, "payment_intent.succeeded"), sign(paid | {"client_reference_id": None}),
        sign(paid | {"client_reference_id": "cart-7"}), sign(paid | {"client_reference_id": "0" * 64}),
    ]  # fmt: skip
    assert [call_back(*event) for event in foreign] == [204] * len(foreign)
    assert get_states() == (OrderState.RESERVED, [PaymentState.STARTED])
    # The true one before the return; then late ones, in the wrong order.
    events = [
        sign(paid), sign(open_row, "checkout.session.async_payment_failed"),
        sign(open_row | {"status": "expired"}, "checkout.session.expired"), sign(paid, age=200), sign(open_row),
    ]  # fmt: skip
    assert [call_back(*event) for event in events] == [204] * len(events)
    assert get_states() == (OrderState.PAID, [PaymentState.SUCCEEDED])
    order = f"/shop/orders/{Order.objects.get().pk}/"
    assert desk.get(f"{order}pay/")["Location"] == order
    assert OrderEvent.objects.filter(kind=EventKind.PAID).count() == 1
    assert_agrees(remote, book)


def _sign_text(text: str) -> tuple[str, str]:
    return text, stripe.WebhookSignature.generate_signature_header(text, SECRET)


def test_lost_requests_and_answers(desk: Client, book: Product, remote: StripeDouble, settings: Settings) -> None:
    settings.PAYMENT_TIMEOUT_SECONDS = 0.3
    payments._load_provider.cache_clear()
    # The answer is lost: the page exists, and the buyer finds it on the second attempt.
    remote.is_silent = True
    pay = order_book(desk, book)
    assert re.fullmatch(r"/shop/orders/\d+/pay/", pay)
    assert "The payment page cannot be opened now" in text_of(desk.get(pay))
    remote.is_silent = False
    settings.PAYMENT_TIMEOUT_SECONDS = 20
    payments._load_provider.cache_clear()
    first = Payment.objects.get()
    assert desk.post(pay)["Location"] == remote.find(first.key)["url"]
    assert len(remote.sessions) == 1
    # The request is lost, or late: the shop gives up, and Stripe refuses it afterwards.
    del remote.sessions[remote.find(first.key)["id"]]
    remote.answers.clear()
    make_payments_due()
    assert settle_all().payments == 1
    assert get_states() == (OrderState.RESERVED, [PaymentState.FAILED])
    with pytest.raises(stripe.IdempotencyError):
        StripeCheckout().charge(first.key, first.amount, PageRequest(1, "a@example.org", "http://testserver/"))
    assert not remote.pay(first.key)
    # Two tabs open one page.
    client = Client()
    client.force_login(User.objects.get())
    run_together(2, lambda n: (desk, client)[n].post(pay))
    assert Payment.objects.count() == 2
    assert remote.pay(Payment.objects.latest("pk").key)
    make_payments_due()
    settle_all()
    assert get_states() == (OrderState.PAID, [PaymentState.FAILED, PaymentState.SUCCEEDED])
    assert_agrees(remote, book)


@pytest.mark.parametrize("ending", ["expired", "cancelled"])
def test_the_page_closes_with_the_time_to_pay(desk: Client, book: Product, remote: StripeDouble, ending: str) -> None:
    order_book(desk, book)
    payment, order = Payment.objects.get(), Order.objects.get()
    if ending == "cancelled":
        desk.post(f"/shop/orders/{order.pk}/cancel/")
    else:
        Order.objects.update(reserved_until=clock.now())
        Payment.objects.update(created_at=clock.now() - timedelta(hours=1))
        make_payments_due()
    settle_all()
    assert get_states() == (ending, [PaymentState.FAILED])
    assert not remote.pay(payment.key)
    assert_agrees(remote, book)


def test_money_in_the_last_moment_buys_or_returns(desk: Client, book: Product, remote: StripeDouble) -> None:
    order_book(desk, book)
    payment = Payment.objects.get()
    remote.pay(payment.key)
    Order.objects.update(reserved_until=clock.now())
    Payment.objects.update(created_at=clock.now() - timedelta(hours=1), ask_at=clock.now() + timedelta(hours=1))
    settle_all()
    Product.objects.update(stock=1)
    assert call_back(*sign(remote.find(payment.key))) == 204
    make_payments_due()
    settle_all()
    assert get_states() == (OrderState.EXPIRED, [PaymentStatus.REFUNDED])
    assert call_back(*sign(remote.find(payment.key))) == 204
    assert_agrees(remote, book, stock=1)


def test_a_refusal_of_stripe_is_reported_and_can_be_repeated(
    desk: Client, book: Product, remote: StripeDouble, caplog: pytest.LogCaptureFixture
) -> None:
    Product.objects.update(price=20)
    pay = order_book(desk, book, 1)
    assert get_states() == (OrderState.RESERVED, [PaymentState.FAILED])
    assert "Stripe refused to open a page: amount_too_small" in caplog.text
    assert "The payment page cannot be opened now" in text_of(desk.get(pay))


def test_amounts_have_the_decimals_of_stripe(settings: Settings) -> None:
    for currency, cents, units in (("EUR", 1250, 1250), ("JPY", 500, 500), ("KWD", 1500, 1500), ("ISK", 500, 50000)):
        settings.SHOP_CURRENCY = currency
        assert _to_stripe(cents) == units, currency


def test_missing_secrets_are_errors_of_the_deployment(settings: Settings) -> None:
    def list_ids(**changed: Any) -> list[str]:
        for name, value in changed.items():
            setattr(settings, name, value)
        found = [*check_provider(None), *check_stripe(None), *check_provider_for_production(None)]
        return [message.id for message in found if message.id is not None]

    assert list_ids() == ["shop.W001"]
    assert list_ids(PAYMENT_PROVIDER=STRIPE_PROVIDER) == ["shop.E004", "shop.E005"]
    assert list_ids(STRIPE_API_KEY="sk_test_1", PAYMENT_CALLBACK_SECRET=SECRET) == ["shop.W004"]
    assert list_ids(STRIPE_API_KEY="sk_live_1") == []
