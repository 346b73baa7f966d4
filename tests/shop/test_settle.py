"""The task that completes open payments, reservations, refunds and emails, once each, with any number of concurrent
runs.
"""

from datetime import timedelta

import pytest
from django.core import mail
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from accounts.ratelimit import count_event
from common import clock
from shop import emails
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
    Refund,
)
from shop.payments import TypedCard, fake
from shop.services import confirmations, payments, refunds, settle
from shop.services.errors import OrderNotFound, OrderStateRefused
from shop.services.orders import cancel_order, expire_order, mark_order_sent
from shop.services.payments import pay_order
from shop.services.settle import Settled, settle_all
from shop.tasks import confirm as confirm_task
from shop.tasks import settle as settle_task
from tests.support.servers import RedisServer
from tests.support.shop.checkouts import (
    assert_ledger_is_right,
    assert_settled,
    check_out,
    let_time_pass,
    make_cart,
    make_payments_due,
    run_together,
)
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db(transaction=True)
GOOD = TypedCard(fake.GOOD_CARD)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def clerk() -> User:
    return User.objects.create_superuser("clerk")


@pytest.fixture
def book() -> Product:
    return make_product(price=1250, stock=3)


@pytest.fixture
def order(alice: User, book: Product) -> Order:
    return check_out(alice, make_cart("alice", book, quantity=2))


def run_out(*orders: Order) -> None:
    Order.objects.filter(pk__in=[order.pk for order in orders]).update(reserved_until=clock.now())


def test_expired_reservations_are_released_once(order: Order, book: Product) -> None:
    assert (settle_all().expired, expire_order(order.pk)) == (0, False)
    run_out(order)
    assert [settle_task()[1], settle_task()[1]] == [1, 0]
    order.refresh_from_db()
    assert order.state == OrderState.EXPIRED
    assert_ledger_is_right({book.pk: 3})


def test_an_order_paid_meanwhile_does_not_expire(order: Order, book: Product) -> None:
    pay_order(order, GOOD)
    run_out(order)
    assert not expire_order(order.pk)
    assert_ledger_is_right({book.pk: 3})


def test_eight_simultaneous_runs_equal_one(alice: User, book: Product) -> None:
    Product.objects.update(stock=100)
    made = [check_out(alice, make_cart(f"cart {n}", book)) for n in range(9)]
    for order in made[:3]:
        pay_order(order, GOOD)
        cancel_order(order.pk, alice)
    for order in made[3:6]:
        pay_order(order, TypedCard(fake.LATE_CARD))
    let_time_pass()
    run_together(8, lambda n: settle_all())
    run_together(8, lambda n: settle_all())
    assert_ledger_is_right({book.pk: 100})
    assert_settled()
    kinds = list(OrderEvent.objects.values_list("kind", flat=True))
    assert kinds.count(EventKind.REFUNDED) == 3
    assert kinds.count(EventKind.PAID) + kinds.count(EventKind.PAID_LATE) == 6
    assert Order.objects.filter(state=OrderState.EXPIRED).count() == 3


def test_a_claimed_payment_is_skipped_by_concurrent_runs(order: Order, settings: Settings) -> None:
    settings.PAYMENT_TIMEOUT_SECONDS = 0.05
    pay_order(order, TypedCard(fake.HANGING_CARD))
    make_payments_due()
    lists = [settle._find_due(Payment.objects.all()) for _round in range(2)]
    assert [settle._call_for_each(found, lambda payment: True) for found in lists] == [1, 0]


def test_a_silent_provider_is_called_at_rising_intervals(
    order: Order, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PAYMENT_TIMEOUT_SECONDS = 0.05
    pay_order(order, TypedCard(fake.HANGING_CARD))

    def away(self: object, key: str) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(fake.FakeProvider, "find", away)
    now = clock.now()
    settings.CLOCK = lambda: now  # on a slow machine the next call could be due otherwise
    waits = []
    for age in (1, 60, 600, 86_400):
        Payment.objects.update(created_at=now - timedelta(seconds=age), ask_at=now)
        assert (settle_all().payments, settle_all().payments) == (1, 0)
        waits.append((Payment.objects.get().ask_at - now).total_seconds())
    assert waits == [2, 15, 150, 600]
    assert Payment.objects.get().state == PaymentState.STARTED


def test_a_refund_is_retried_until_it_succeeds(
    order: Order, alice: User, book: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay_order(order, GOOD)
    cancel_order(order.pk, alice)

    def away(self: object, key: str, refund: str, amount: int) -> None:
        raise ConnectionResetError

    with monkeypatch.context() as outage:
        outage.setattr(fake.FakeProvider, "refund", away)
        settle_all()
    assert Payment.objects.get().status == PaymentStatus.REFUND_DUE
    make_payments_due()
    settle_all()
    assert_settled()


def test_an_unrecorded_refund_is_not_repeated_by_the_provider(order: Order, alice: User) -> None:
    pay_order(order, GOOD)
    cancel_order(order.pk, alice)
    due = Refund.objects.get()
    fake.FakeProvider().refund(due.payment.key, due.key, due.amount)
    make_payments_due()
    settle_all()
    assert refunds.make_refund(due)  # as a run that had read it before
    assert FakeCharge.objects.get().refunded == due.amount
    assert OrderEvent.objects.filter(kind=EventKind.REFUNDED).count() == 1
    assert_settled()


def test_a_failing_order_does_not_block_the_others(alice: User, book: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [check_out(alice, make_cart(f"cart {n}", book)) for n in range(3)]
    run_out(*made)
    give_up = expire_order

    def but_for_the_first(pk: int) -> bool:
        assert pk != made[0].pk
        return give_up(pk)

    monkeypatch.setattr(settle, "expire_order", but_for_the_first)
    assert settle_all().expired == 2
    assert Order.objects.filter(state=OrderState.EXPIRED).count() == 2


def test_a_round_ends_when_its_budget_is_spent(
    alice: User, book: Product, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    Product.objects.update(stock=100)
    for n in range(5):
        pay_order(check_out(alice, make_cart(f"cart {n}", book)), TypedCard(fake.LATE_CARD))
    asked = []

    def away(self: object, key: str) -> None:
        asked.append(key)
        if len(asked) == 3:
            settings.SHOP_ROUND_SECONDS = -1.0  # the budget is spent
        raise ConnectionResetError

    monkeypatch.setattr(fake.FakeProvider, "find", away)
    make_payments_due()
    assert settle_all().payments == 3
    settings.SHOP_ROUND_SECONDS = 3600.0
    assert settle_all().payments == 2
    assert len(set(asked)) == 5  # each payment once


def test_a_second_task_does_nothing_while_one_runs(order: Order, redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle, "send_overdue_confirmations", lambda: len(settle_task()) + 7)
    assert settle_task()[3] == 7
    redis.flushall()
    assert settle_task()[3] == 7  # the lease was released, or lost with Redis


def test_without_redis_everything_is_settled(order: Order, book: Product, redis_server: RedisServer) -> None:
    run_out(order)
    redis_server.kill()
    assert settle_task()[1] == 1
    assert_ledger_is_right({book.pk: 3})


def test_a_run_without_open_work_changes_nothing(order: Order) -> None:
    assert settle_all() == Settled()


# --- emails ------------------------------------------------------------------------------------


def test_a_paid_order_is_confirmed_once(order: Order) -> None:
    pay_order(order, GOOD)
    assert [confirm_task(order.pk), confirm_task(order.pk)] == [True, False]
    assert [letter.to for letter in mail.outbox] == [["alice@example.org"]]
    assert Order.objects.get().confirmed_at is not None


def test_an_order_that_cannot_be_settled_is_logged_once(
    order: Order, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(pk: int) -> bool:
        raise ZeroDivisionError

    run_out(order)
    with monkeypatch.context() as trouble:
        trouble.setattr(settle, "expire_order", broken)
        for _ in range(3):
            settle_all()
    settle_all()
    assert caplog.messages == [f"{order!r} could not be settled", f"{order!r} was settled (after 3 failures)"]


def test_a_failed_confirmation_is_sent_by_the_next_round(order: Order, settings: Settings) -> None:
    now = clock.now()
    settings.CLOCK = lambda: now
    pay_order(order, GOOD)
    assert settle_all().emails == 0  # the worker has a moment for the first attempt
    settings.CLOCK = lambda: now + timedelta(seconds=confirmations.FIRST_ATTEMPT_SECONDS)
    assert [settle_all().emails, settle_all().emails] == [1, 0]
    assert len(mail.outbox) == 1


def test_an_undeliverable_email_does_not_block_the_others(
    alice: User, book: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    made = [
        make_order(alice, book, state=OrderState.PAID, paid_at=now - timedelta(minutes=n), key=str(n))
        for n in (1, 2, 3)
    ]
    write = emails.make_email

    def but_for_one(about: str, order: Order) -> object:
        assert order.pk != made[0].pk
        return write(about, order)

    monkeypatch.setattr(emails, "make_email", but_for_one)
    assert settle_all().emails == 2
    assert Order.objects.get(confirmed_at=None) == made[0]


def test_an_undeliverable_email_is_retried_at_rising_intervals(
    alice: User, book: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the mail server would be called every two seconds for a day."""
    long_ago = clock.now() - timedelta(hours=20)
    order = make_order(alice, book, state=OrderState.PAID, paid_at=long_ago)
    tries, waits = [], []

    def refused(order: Order) -> None:
        tries.append(order.pk)
        raise OSError

    def noted(name: str, pk: int, limit: int, seconds: float) -> int:
        waits.append(seconds)
        return count_event(name, pk, limit, seconds)

    monkeypatch.setattr(emails, "send_confirmation", refused)
    monkeypatch.setattr(confirmations, "count_event", noted)
    assert [settle_all().emails for _round in range(3)] == [0, 0, 0]
    assert tries == [order.pk]
    Order.objects.update(paid_at=clock.now() - timedelta(seconds=confirmations.FIRST_ATTEMPT_SECONDS))
    settle_all()
    assert waits[0] == waits[2] == confirmations.MAX_PAUSE_SECONDS > waits[3] >= confirmations.FIRST_ATTEMPT_SECONDS


def test_a_hanging_mail_server_does_not_block_other_work(
    alice: User, book: Product, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    paid_at = clock.now() - timedelta(minutes=1)
    for n in range(5):
        make_order(alice, book, state=OrderState.PAID, paid_at=paid_at, key=str(n))
    confirm = emails.send_confirmation

    def slow(order: Order) -> int:
        count = confirm(order)
        if len(mail.outbox) == 3:
            settings.SHOP_ROUND_SECONDS = -1.0  # the round is over
        return count

    monkeypatch.setattr(emails, "send_confirmation", slow)
    assert settle_all().emails == 3
    settings.SHOP_ROUND_SECONDS = 3600.0
    assert settle_all().emails == 2


def test_a_cancelled_order_is_not_confirmed(order: Order, alice: User) -> None:
    pay_order(order, GOOD)
    cancel_order(order.pk, alice)
    Order.objects.update(paid_at=clock.now() - timedelta(minutes=1))
    assert confirm_task(order.pk) is False
    assert settle_all().emails == 0
    assert mail.outbox == []


def test_an_unpaid_order_is_not_confirmed(order: Order) -> None:
    assert confirm_task(order.pk) is False
    assert mail.outbox == []


# --- cancelling and sending -----------------------------------------------------------------------


def test_an_order_is_cancelled_by_its_customer_or_by_staff(
    order: Order, alice: User, clerk: User, book: Product
) -> None:
    with pytest.raises(OrderNotFound):
        cancel_order(order.pk, User.objects.create_user("bob"))
    with pytest.raises(OrderNotFound):
        cancel_order(order.pk + 1000, clerk)
    cancel_order(order.pk, clerk)
    assert OrderEvent.objects.latest("pk").by == clerk
    assert_ledger_is_right({book.pk: 3})


def test_a_sent_order_is_not_cancelled(order: Order, alice: User, clerk: User, book: Product) -> None:
    with pytest.raises(OrderStateRefused):
        mark_order_sent(order.pk, clerk)
    pay_order(order, GOOD)
    assert [mark_order_sent(order.pk, clerk).state for _ in range(2)] == [OrderState.SENT] * 2
    with pytest.raises(OrderStateRefused):
        cancel_order(order.pk, alice)
    assert OrderEvent.objects.filter(kind=EventKind.SENT).count() == 1
    assert_ledger_is_right({book.pk: 3})


def test_an_expired_order_is_neither_cancelled_nor_sent(order: Order, alice: User, book: Product) -> None:
    run_out(order)
    expire_order(order.pk)
    for do in (lambda: cancel_order(order.pk, alice), lambda: mark_order_sent(order.pk)):
        with pytest.raises(OrderStateRefused):
            do()
    assert_ledger_is_right({book.pk: 3})


def test_only_one_of_cancel_send_and_expire_takes_effect(order: Order, alice: User, clerk: User, book: Product) -> None:
    pay_order(order, GOOD)
    run_together(
        9,
        lambda n: (lambda: cancel_order(order.pk, alice), lambda: mark_order_sent(order.pk, clerk), settle_all)[
            n % 3
        ](),
    )
    assert Order.objects.get().state in (OrderState.CANCELLED, OrderState.SENT)
    assert_ledger_is_right({book.pk: 3})


def test_paying_during_the_expiry_sells_the_paid_copies(order: Order, book: Product) -> None:
    pay_order(order, TypedCard(fake.LATE_CARD))
    let_time_pass()
    payment = Payment.objects.get()
    run_together(8, lambda n: payments.resolve_payment(payment) if n % 2 else expire_order(order.pk))
    assert Order.objects.get().state == OrderState.PAID
    assert_ledger_is_right({book.pk: 3})
    assert_settled()
