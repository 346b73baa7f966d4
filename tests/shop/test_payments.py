"""An order is paid once, for any behaviour of the provider and any order of its answers."""

import threading
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client, override_settings
from pytest_django.fixtures import Settings

from accounts.models import User
from common import clock
from shop.models import (
    EventKind,
    FakeCharge,
    Order,
    OrderEvent,
    OrderState,
    Payment,
    PaymentState,
    PaymentStatus,
    Product,
)
from shop.payments import Answer, NoAnswer, Outcome, TypedCard, calls, fake, fake_callbacks
from shop.services.errors import NotPayable
from shop.services.orders import cancel_order, expire_order
from shop.services.payments import pay_order, record_answer
from shop.services.settle import settle_all
from shop.views.callback import MAX_BYTES
from tests.support.servers import PATIENCE_SECONDS, wait_until
from tests.support.shop.checkouts import (
    assert_ledger_is_right,
    assert_settled,
    check_out,
    let_time_pass,
    make_cart,
    make_payments_due,
    run_together,
)
from tests.support.shop.make import make_product

pytestmark = pytest.mark.django_db(transaction=True)
GOOD, BAD = TypedCard(fake.GOOD_CARD), TypedCard(fake.REFUSED_CARD)
PAID = Answer(Outcome.SUCCEEDED, "ref")
CALLBACK = "/shop/payments/callback/"


@pytest.fixture(autouse=True)
def quiet(settings: Settings) -> None:
    """Send the provider's callbacks to an unused port."""
    settings.PAYMENT_CALLBACK_URL = "http://127.0.0.1:9/"


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def book() -> Product:
    return make_product(price=1250, stock=3)


@pytest.fixture
def order(alice: User, book: Product) -> Order:
    """An order with two reserved copies."""
    return check_out(alice, make_cart("alice", book, quantity=2))


def steps(order: Order) -> list[str]:
    """Return the recorded steps of an order."""
    return list(OrderEvent.objects.filter(order=order).values_list("kind", flat=True))


def hang(order: Order, card: str) -> Payment:
    """Create a payment without an answer in time. The next call is an hour away.

    A charge is in the provider's books by now.
    """
    with override_settings(PAYMENT_TIMEOUT_SECONDS=0.05):
        assert pay_order(order, TypedCard(card)).state == OrderState.RESERVED
    payment = Payment.objects.latest("pk")
    payment.ask_at += timedelta(hours=1)
    payment.save(update_fields=["ask_at"])
    if fake.CARDS[card].charges:
        wait_until(FakeCharge.objects.filter(pk=payment.key).exists, "the charge")
    return payment


def let_it_run_out() -> None:
    """Let the time to pay pass, and the time-out of a call."""
    now = clock.now()
    Order.objects.update(reserved_until=now)
    Payment.objects.update(created_at=now - timedelta(hours=1))


def test_a_payment_started_in_the_last_moment_keeps_its_reservation(order: Order, book: Product) -> None:
    pay_order(order, TypedCard(fake.LATE_CARD))
    Order.objects.update(reserved_until=clock.now())
    assert settle_all().expired == 0
    let_it_run_out()
    assert settle_all().expired == 1


def test_a_valid_card_pays_and_sells_the_copies(order: Order, book: Product) -> None:
    assert pay_order(order, GOOD).state == OrderState.PAID
    payment = Payment.objects.get()
    assert (payment.state, payment.amount) == (PaymentState.SUCCEEDED, 2500)
    assert payment.reference
    assert steps(order) == [EventKind.ORDERED, EventKind.ASKED, EventKind.PAID]
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_the_payment_is_committed_before_the_provider_is_called(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[str] = []
    charge = fake.FakeProvider.charge

    def spy(self: fake.FakeProvider, key: str, amount: int, card: TypedCard) -> Answer:
        known.append(Payment.objects.get(key=key).state)  # another connection sees it, so it is committed
        return charge(self, key, amount, card)

    monkeypatch.setattr(fake.FakeProvider, "charge", spy)
    pay_order(order, GOOD)
    assert known == [PaymentState.STARTED]


def test_a_refused_card_keeps_the_reservation(order: Order, book: Product) -> None:
    assert pay_order(order, BAD).state == OrderState.RESERVED
    assert pay_order(order, TypedCard("4000056655665556")).state == OrderState.RESERVED  # unknown to the provider
    assert pay_order(order, GOOD).state == OrderState.PAID
    assert list(Payment.objects.order_by("pk").values_list("state", "reason")) == [
        (PaymentState.FAILED, "the card was declined"),
        (PaymentState.FAILED, "the card was declined"),
        (PaymentState.SUCCEEDED, ""),
    ]
    assert len(set(Payment.objects.values_list("key", flat=True))) == 3
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_eight_simultaneous_payments_charge_once(order: Order, book: Product) -> None:
    run_together(8, lambda n: pay_order(order, GOOD))
    assert FakeCharge.objects.count() == 1
    assert pay_order(order, GOOD).state == OrderState.PAID
    assert FakeCharge.objects.count() == 1
    assert_ledger_is_right({book.pk: 3})


def test_a_hanging_provider_is_asked_for_the_outcome(order: Order, book: Product) -> None:
    payment = hang(order, fake.CHARGED_HANGING_CARD)
    assert settle_all().payments == 0  # the next call is not due yet
    make_payments_due()
    assert settle_all().payments == 1
    payment.refresh_from_db()
    assert payment.state == PaymentState.SUCCEEDED
    assert Order.objects.get().state == OrderState.PAID
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_a_charge_unknown_to_the_provider_is_forbidden(order: Order, book: Product) -> None:
    payment = hang(order, fake.HANGING_CARD)
    make_payments_due()
    settle_all()
    payment.refresh_from_db()
    assert payment.state == PaymentState.FAILED
    # The delayed charge arrives now, too late.
    assert calls.charge(payment.key, payment.amount, GOOD).outcome is Outcome.FAILED
    assert pay_order(order, GOOD).state == OrderState.PAID
    assert FakeCharge.objects.filter(succeeds=True).count() == 1
    assert_ledger_is_right({book.pk: 3})


def test_an_open_payment_prevents_another_attempt(order: Order) -> None:
    hang(order, fake.HANGING_CARD)
    assert pay_order(order, GOOD).state == OrderState.RESERVED
    assert Payment.objects.count() == 1


def test_a_new_attempt_first_resolves_the_earlier_one(order: Order, book: Product) -> None:
    hang(order, fake.CHARGED_HANGING_CARD)
    make_payments_due()
    assert pay_order(order, GOOD).state == OrderState.PAID
    assert Payment.objects.count() == FakeCharge.objects.count() == 1
    assert_ledger_is_right({book.pk: 3})


def test_no_new_attempt_is_made_while_the_provider_is_silent(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    hang(order, fake.HANGING_CARD)
    make_payments_due()
    monkeypatch.setattr(fake.FakeProvider, "find", lambda *asked: 1 / 0)
    assert pay_order(order, GOOD).state == OrderState.RESERVED
    assert Payment.objects.count() == 1


def test_a_repeated_answer_sells_once(order: Order, book: Product) -> None:
    pay_order(order, TypedCard(fake.TWO_CALLBACKS_CARD))
    payment = Payment.objects.get()
    for answer in (PAID, PAID, Answer(Outcome.FAILED, reason="late and wrong"), PAID):
        record_answer(payment.key, answer)
    assert Order.objects.get().state == OrderState.PAID
    assert steps(order).count(EventKind.PAID) == 1
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_simultaneous_answers_sell_once(order: Order, book: Product) -> None:
    payment = hang(order, fake.CHARGED_HANGING_CARD)
    assert run_together(8, lambda n: record_answer(payment.key, PAID)) == [None] * 8
    assert_ledger_is_right({book.pk: 3})
    assert steps(order).count(EventKind.PAID) == 1


def test_late_money_buys_if_copies_are_left(order: Order, book: Product) -> None:
    assert pay_order(order, TypedCard(fake.LATE_CARD)).state == OrderState.RESERVED
    let_it_run_out()
    assert settle_all().expired == 1
    assert Order.objects.get().state == OrderState.EXPIRED
    assert_ledger_is_right({book.pk: 3})
    let_time_pass()
    settle_all()
    assert Order.objects.get().state == OrderState.PAID
    assert EventKind.PAID_LATE in steps(order)
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


@pytest.mark.parametrize("is_paid", [True, False])
def test_late_money_is_refunded_if_no_copies_are_left(order: Order, alice: User, book: Product, is_paid: bool) -> None:
    """Another order has the copies, or has reserved them."""
    pay_order(order, TypedCard(fake.LATE_CARD))
    let_it_run_out()
    settle_all()
    other = check_out(alice, make_cart("another", book, quantity=2))
    if is_paid:
        assert pay_order(other, GOOD).state == OrderState.PAID
    FakeCharge.objects.update(answers_at=clock.now())
    make_payments_due()
    settle_all()
    order.refresh_from_db()
    assert order.state == OrderState.EXPIRED
    assert Payment.objects.get(order=order).status == PaymentStatus.REFUNDED
    assert steps(order)[-2:] == [EventKind.REFUND_DUE, EventKind.REFUNDED]
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_refunded_money_buys_nothing_after_repeated_callbacks(order: Order, book: Product) -> None:
    pay_order(order, TypedCard(fake.LATE_CARD))
    let_it_run_out()
    settle_all()
    Product.objects.update(stock=0)
    FakeCharge.objects.update(answers_at=clock.now())
    states = []
    for outage in (True, False):
        with pytest.MonkeyPatch.context() as patches:
            if outage:
                patches.setattr(fake.FakeProvider, "refund", lambda *asked: 1 / 0)
            make_payments_due()
            settle_all()
        Product.objects.update(stock=3)  # copies are available again
        record_answer(Payment.objects.get().key, PAID)
        states.append((Order.objects.get().state, Payment.objects.get().status))
    assert states == [(OrderState.EXPIRED, PaymentStatus.REFUND_DUE), (OrderState.EXPIRED, PaymentStatus.REFUNDED)]
    assert steps(order)[-2:] == [EventKind.REFUND_DUE, EventKind.REFUNDED]
    assert_ledger_is_right({book.pk: 3})


def test_late_money_before_the_release_of_the_copies_buys(order: Order, book: Product) -> None:
    pay_order(order, TypedCard(fake.LATE_CARD))
    let_time_pass()
    assert settle_all()[:2] == (1, 0)
    assert Order.objects.get().state == OrderState.PAID
    assert_ledger_is_right({book.pk: 3})


def test_one_of_two_successful_payments_is_refunded(order: Order, book: Product) -> None:
    pay_order(order, BAD)
    pay_order(order, GOOD)
    first = Payment.objects.earliest("pk")
    FakeCharge.objects.filter(pk=first.key).update(succeeds=True)
    record_answer(first.key, PAID)
    make_payments_due()
    settle_all()
    assert [payment.status for payment in Payment.objects.order_by("pk")] == [
        PaymentStatus.REFUNDED,
        PaymentStatus.SUCCEEDED,
    ]
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_cancelling_returns_copies_and_money_once(order: Order, alice: User, book: Product) -> None:
    pay_order(order, GOOD)
    assert [cancel_order(order.pk, alice).state for _ in range(2)] == [OrderState.CANCELLED] * 2
    assert_ledger_is_right({book.pk: 3})
    make_payments_due()
    settle_all()
    assert Payment.objects.get().status == PaymentStatus.REFUNDED
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_money_for_a_cancelled_order_is_refunded(order: Order, alice: User, book: Product) -> None:
    hang(order, fake.CHARGED_HANGING_CARD)
    cancel_order(order.pk, alice)
    for _round in range(2):
        make_payments_due()
        settle_all()
    assert Payment.objects.get().status == PaymentStatus.REFUNDED
    assert_ledger_is_right({book.pk: 3})
    assert_settled()


def test_an_expired_order_cannot_be_paid(order: Order) -> None:
    Order.objects.update(reserved_until=clock.now())
    with pytest.raises(NotPayable):
        pay_order(order, GOOD)
    expire_order(order.pk)
    with pytest.raises(NotPayable):
        pay_order(order, GOOD)
    assert not FakeCharge.objects.exists()


def test_an_exception_of_the_provider_counts_as_no_answer(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> Answer:
        raise ConnectionResetError

    monkeypatch.setattr(fake.FakeProvider, "charge", broken)
    assert pay_order(order, GOOD).state == OrderState.RESERVED
    assert Payment.objects.get().state == PaymentState.STARTED


def test_the_provider_is_never_called_within_a_transaction(order: Order) -> None:
    with transaction.atomic(), pytest.raises(RuntimeError, match="outside transactions"):
        calls.find_charge("key")


def test_the_number_of_hanging_calls_is_limited(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PAYMENT_TIMEOUT_SECONDS = 0.01
    monkeypatch.setattr(calls, "_free_calls", threading.BoundedSemaphore(2))
    done, asked = threading.Event(), list[str]()

    def hangs(self: object, key: str) -> None:
        asked.append(key)
        done.wait(PATIENCE_SECONDS)

    monkeypatch.setattr(fake.FakeProvider, "find", hangs)
    for n in range(4):
        with pytest.raises(NoAnswer):
            calls.find_charge(str(n))
    wait_until(lambda: len(asked) == 2, "the calls")
    done.set()
    assert sorted(asked) == ["0", "1"]
    wait_until(lambda: calls._free_calls._value == 2, "the end of the calls")


def test_a_late_call_frees_its_place(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PAYMENT_TIMEOUT_SECONDS = 0.01
    first, second, done = threading.BoundedSemaphore(1), threading.BoundedSemaphore(1), threading.Event()
    monkeypatch.setattr(fake.FakeProvider, "find", lambda self, key: done.wait(PATIENCE_SECONDS))
    monkeypatch.setattr(calls, "_free_calls", first)
    with pytest.raises(NoAnswer):
        calls.find_charge("key")
    monkeypatch.setattr(calls, "_free_calls", second)
    done.set()
    wait_until(lambda: first._value == 1, "the end of the call")
    assert second._value == 1


# --- callbacks ----------------------------------------------------------------------------------


def call_back(client: Client, body: bytes, signature: str) -> int:
    headers = {fake_callbacks.HEADER: signature}
    return client.post(CALLBACK, body, content_type="application/json", headers=headers).status_code


def test_repeated_callbacks_pay_once(client: Client, order: Order, book: Product) -> None:
    payment = hang(order, fake.CHARGED_HANGING_CARD)
    body = fake_callbacks.encode_callback(payment.key, PAID)
    client = Client(enforce_csrf_checks=True)
    assert [call_back(client, body, fake_callbacks.sign_callback(body)) for _ in range(3)] == [204] * 3
    assert Order.objects.get().state == OrderState.PAID
    assert steps(order).count(EventKind.PAID) == 1
    assert_ledger_is_right({book.pk: 3})


def test_a_callback_with_a_bad_signature_is_refused(client: Client, order: Order) -> None:
    payment = hang(order, fake.CHARGED_HANGING_CARD)
    body = fake_callbacks.encode_callback(payment.key, PAID)
    of_another = fake_callbacks.sign_callback(fake_callbacks.encode_callback("another", PAID))
    for signature in ("", "x", of_another, fake_callbacks.sign_callback(body)[:-1], "ü"):
        assert call_back(client, body, signature) == 403
    assert Order.objects.get().state == OrderState.RESERVED


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"key": "k"}', b'{"key":"k","outcome":"?","reference":"","reason":""}']
)
def test_a_signed_body_that_is_no_callback_is_refused(client: Client, body: bytes) -> None:
    assert call_back(client, body, fake_callbacks.sign_callback(body)) == 403


@pytest.mark.parametrize("outcome", [Outcome.SUCCEEDED, Outcome.FAILED])
def test_texts_of_the_provider_are_cut_and_cleaned_for_sql(client: Client, order: Order, outcome: Outcome) -> None:
    payment = hang(order, fake.HANGING_CARD)
    body = fake_callbacks.encode_callback(payment.key, Answer(outcome, "a\0b" + "c" * 500, "d\0e" + "f" * 500))
    assert call_back(client, body, fake_callbacks.sign_callback(body)) == 204
    payment.refresh_from_db()
    assert (payment.reference or payment.reason)[:4] in ("abcc", "deff")


def test_a_callback_about_an_unknown_payment_has_no_effect(client: Client, order: Order) -> None:
    body = fake_callbacks.encode_callback("unknown", PAID)
    assert call_back(client, body, fake_callbacks.sign_callback(body)) == 204
    assert Order.objects.get().state == OrderState.RESERVED


def test_a_callback_must_be_a_small_post(client: Client) -> None:
    assert client.get(CALLBACK).status_code == 405
    body = b"x" * (MAX_BYTES + 1)
    assert call_back(client, body, fake_callbacks.sign_callback(body)) == 413


def test_a_callback_creates_no_session(client: Client) -> None:
    body = fake_callbacks.encode_callback("unknown", PAID)
    call_back(client, body, fake_callbacks.sign_callback(body))
    assert not client.cookies
