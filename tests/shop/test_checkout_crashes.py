"""A process that dies before any of its writes leaves a state that can be completed once, with a correct ledger."""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from accounts.models import User
from shop.carts import reading
from shop.models import FakeCharge, Order, OrderState, Product
from shop.payments import TypedCard, fake
from shop.services.checkout import begin_checkout
from shop.services.orders import cancel_order
from shop.services.payments import pay_order
from shop.services.settle import settle_all
from tests.support.killed import Killed
from tests.support.shop.checkouts import (
    HOME,
    assert_ledger_is_right,
    assert_settled,
    check_out,
    let_time_pass,
    make_cart,
    make_payments_due,
)
from tests.support.shop.make import make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
STOCK, FEWEST = 500, 5  # copies; writes of the shortest run
Life = Callable[[User, Product, int], Callable[[], object]]


@contextmanager
def killed_before(write: int) -> Generator[None, None, None]:
    """End the block before its n-th write to the ledger (from 1). Uncommitted writes are rolled back."""
    numbers = count(1)

    def execute(do: Callable[..., Any], sql: str, *asked: Any) -> Any:
        if re.search('"shop_|invoices_', sql) and not sql.startswith("SELECT") and next(numbers) == write:
            raise Killed
        return do(sql, *asked)

    with connection.execute_wrapper(execute):
        yield


def buys(alice: User, book: Product, n: int) -> Callable[[], object]:
    """Check out, and send the same form again after the crash."""
    digest = make_cart(f"cart {n}", book, quantity=2)
    shown = reading.read_cart(digest)

    def send() -> None:
        order = begin_checkout(alice, digest, version=shown.version, total=2 * book.price, address=HOME)
        assert pay_order(order, TypedCard(fake.GOOD_CARD)).state == OrderState.PAID
        assert reading.read_cart(digest).lines == {}

    return send


def cancels(alice: User, book: Product, n: int) -> Callable[[], object]:
    """Cancel a paid order, with a refund."""
    order = check_out(alice, make_cart(f"cart {n}", book))
    pay_order(order, TypedCard(fake.GOOD_CARD))

    def give_back() -> None:
        cancel_order(order.pk, alice)
        settle_all()
        assert Order.objects.get(pk=order.pk).state == OrderState.CANCELLED

    return give_back


def pays_late(alice: User, book: Product, n: int) -> Callable[[], object]:
    """Deliver an answer after the time to pay; one of two orders has been paid."""
    pay_order(check_out(alice, make_cart(f"cart {n}", book)), TypedCard(fake.LATE_CARD))
    check_out(alice, make_cart(f"other cart {n}", book))

    def finish() -> None:
        let_time_pass()
        settle_all()

    return finish


@pytest.mark.parametrize("life", [buys, cancels, pays_late])
def test_a_crash_before_any_write_leaves_a_state_that_can_be_completed(life: Life, settings: Settings) -> None:
    settings.SHOP_PAYMENT_TRIES = 10**6
    alice, book = User.objects.create_user("alice"), make_product(stock=STOCK)
    for n in count(1):
        step = life(alice, book, n)
        orders = Order.objects.count()
        try:
            with killed_before(n):
                step()
        except Killed:
            assert_ledger_is_right({book.pk: STOCK})
            make_payments_due()
            step()
        else:
            break
        let_time_pass()
        settle_all()
        assert_ledger_is_right({book.pk: STOCK})
        assert_settled()
        assert not Order.objects.filter(state=OrderState.RESERVED).exists()
        assert Order.objects.count() == orders + (life is buys)
        assert FakeCharge.objects.count() == Order.objects.exclude(state=OrderState.EXPIRED).count()
    assert n > FEWEST
