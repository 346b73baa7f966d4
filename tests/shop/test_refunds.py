"""Partial refunds: amounts and VAT by hand, bounds, races, crashes, and the ledgers of former releases."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from common.refusals import Refused
from shop.models import (
    EventKind,
    FakeCharge,
    FakeRefund,
    Order,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
    PaymentStatus,
    Product,
    Refund,
    RefundState,
)
from shop.payments import TypedCard, fake
from shop.services.errors import NothingToRefund, NotRefundable, NotSent, OrderNotFound, RefundTooLarge
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.payments import pay_order
from shop.services.refunds import refund_order
from shop.services.settle import settle_all
from tests.shop.test_checkout_crashes import killed_before
from tests.support.killed import Killed
from tests.support.migrations import use_former_release
from tests.support.shop.checkouts import (
    assert_ledger_is_right,
    assert_settled,
    check_out,
    make_cart,
    make_payments_due,
    run_together,
)
from tests.support.shop.make import make_order, make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
GOOD = TypedCard(fake.GOOD_CARD)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def book() -> Product:
    return make_product(stock=50)


def buy(alice: User, name: str, *products: Product, quantity: int = 1) -> Order:
    """Return an order that was paid and sent."""
    order = pay_order(check_out(alice, make_cart(name, *products, quantity=quantity)), GOOD)
    return mark_order_sent(order.pk)


def make_taxed_order() -> Order:
    """Return an order that was sent: 3 novels of 9.99 at 7%, a calendar of 15.00 at 19%, and delivery of 3.90 at 7%."""
    novel, calendar = make_product("Novel", price=999), make_product("Calendar", price=1500)
    order = make_order(None, novel, calendar, state=OrderState.SENT, paid_at=timezone.now())
    lines = OrderLine.objects.filter(order=order)
    lines.filter(product=novel).update(quantity=3, vat_rate=Decimal(7), vat=196)  # 2997 * 7 / 107 = 196.07
    lines.filter(product=calendar).update(vat_rate=Decimal(19), vat=239)  # 1500 * 19 / 119 = 239.50
    order.total, order.delivery_price, order.delivery_vat_rate, order.delivery_vat = 4887, 390, Decimal(7), 26
    order.save()
    Payment.objects.create(order=order, key="charge", amount=order.total, state=PaymentState.SUCCEEDED)
    FakeCharge.objects.create(key="charge", amount=order.total, succeeds=True)
    return order


class Case(NamedTuple):
    """A refund, and the (copies, amount, VAT) that it takes from novels, calendar and delivery."""

    asked: dict[str, Any]
    parts: list[tuple[int, int, int] | None]


# VAT is that of the sum of a refund at each rate, rounded half up. The last refund of a rate takes what is left.
SEQUENCES = {
    "copies one by one, then the rest": [
        Case({"copies": (1, 0)}, [(1, 999, 65), None, None]),  # 999 * 7 / 107 = 65.36
        Case({"copies": (1, 0)}, [(1, 999, 65), None, None]),
        Case({}, [(1, 999, 66), (1, 1500, 239), (0, 390, 26)]),  # 222 - 65 - 65 = 92, of 1389
    ],
    "a lower price, then copies at the lower price, then delivery": [
        # 1000 of 4887: 2997 bear 613, 1500 bear 307 and 390 bear 80
        Case({"amount": 1000}, [(0, 613, 40), (0, 307, 49), (0, 80, 5)]),  # 693 * 7 / 107 = 45.34
        Case({"copies": (2, 0)}, [(2, 1589, 104), None, None]),  # 2384 * 2 / 3; 1589 * 7 / 107 = 103.95
        # 222 - 45 - 104 = 73, of 1105
        Case({"copies": (1, 1), "with_delivery": True}, [(1, 795, 53), (1, 1193, 190), (0, 310, 20)]),
    ],
    "everything": [Case({}, [(3, 2997, 196), (1, 1500, 239), (0, 390, 26)])],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_refunds_take_what_is_left_with_its_vat(name: str) -> None:
    order = make_taxed_order()
    pks = list(order.lines.order_by("pk").values_list("pk", flat=True))
    for case in SEQUENCES[name]:
        asked = dict(case.asked)
        if "copies" in asked:
            asked["quantities"] = dict(zip(pks, asked.pop("copies"), strict=True))
        refund = refund_order(order.pk, **asked)
        found = {part.line_id: (part.quantity, part.amount, part.vat) for part in refund.lines.all()}
        assert [found.get(pk) for pk in (*pks, None)] == case.parts
        assert refund.amount == sum(part[1] for part in case.parts if part)
    assert Payment.objects.get().status == PaymentStatus.REFUND_DUE
    with pytest.raises(NotRefundable):
        refund_order(order.pk, amount=1)
    make_payments_due()
    assert settle_all().refunds == len(SEQUENCES[name])
    assert_settled()
    assert Payment.objects.get().status == PaymentStatus.REFUNDED
    assert FakeCharge.objects.get().refunded == order.total


def test_refunds_out_of_bounds_are_refused(alice: User, book: Product) -> None:
    sent, other = buy(alice, "sent", book, quantity=2), buy(alice, "other", book)
    paid = pay_order(check_out(alice, make_cart("paid", book)), GOOD)
    line, foreign = sent.lines.get().pk, other.lines.get().pk
    refusals: list[tuple[int, dict[str, Any], type[Refused]]] = [
        (sent.pk, {"amount": 2501}, RefundTooLarge),
        (sent.pk, {"amount": 0}, NothingToRefund),
        (sent.pk, {"amount": -5}, NothingToRefund),
        (sent.pk, {"quantities": {}}, NothingToRefund),
        (sent.pk, {"quantities": {line: 3}}, RefundTooLarge),
        (sent.pk, {"quantities": {line: -1}}, RefundTooLarge),
        (sent.pk, {"quantities": {line: 1, foreign: 1}}, OrderNotFound),
        (paid.pk, {}, NotSent),
        (paid.pk, {"amount": 1250}, NotSent),
        (10**9, {}, OrderNotFound),
    ]
    for pk, asked, refusal in refusals:
        with pytest.raises(refusal):
            refund_order(pk, **asked)
    assert not Refund.objects.exists()
    # Part of an order that was not sent; then it is cancelled, and the rest goes back.
    refund_order(paid.pk, amount=250, reason="a damaged cover")
    cancel_order(paid.pk, alice)
    assert list(Refund.objects.values_list("amount", "reason")) == [
        (250, "a damaged cover"),
        (1000, "the order was cancelled"),
    ]
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.filter(order=sent).update(refunded=2501)  # a bound of SQL itself
    make_payments_due()
    settle_all()
    assert_ledger_is_right({book.pk: 50})
    assert_settled()


def test_simultaneous_refunds_never_exceed_the_charge(alice: User, book: Product) -> None:
    order = buy(alice, "cart", book, quantity=2)
    line = order.lines.get().pk
    asked: list[dict[str, Any]] = [{"amount": 900}, {"quantities": {line: 1}}, {}, {"amount": 400}] * 2
    results = run_together(8, lambda n: refund_order(order.pk, **asked[n]))
    refused = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(result, Refused) for result in refused), results
    assert Refund.objects.count() == 8 - len(refused) > 0
    run_together(4, lambda n: settle_all())
    make_payments_due()
    settle_all()
    assert_ledger_is_right({book.pk: 50})
    assert_settled()


def test_simultaneous_refunds_cancellations_and_parcels_lose_no_copy(alice: User, book: Product) -> None:
    def change(pk: int, line: int, ends: Callable[[int], object]) -> None:
        steps: list[Callable[[], object]] = [
            lambda: refund_order(pk, quantities={line: 1}),
            lambda: refund_order(pk, quantities={line: 2}),
            lambda: ends(pk),
        ]
        results = run_together(6, lambda number: steps[number % 3]())
        assert all(isinstance(each, Refused) for each in results if isinstance(each, Exception)), results

    for n, ends in enumerate([mark_order_sent, lambda pk: cancel_order(pk, alice)] * 2):
        order = pay_order(check_out(alice, make_cart(f"cart {n}", book, quantity=4)), GOOD)
        change(order.pk, order.lines.get().pk, ends)
        assert_ledger_is_right({book.pk: 50})
    with pytest.raises(NotSent):
        order = pay_order(check_out(alice, make_cart("dear", book)), GOOD)
        Order.objects.filter(pk=order.pk).update(total=1640, delivery_price=390)
        Payment.objects.filter(order=order).update(amount=1640)
        refund_order(order.pk, quantities={order.lines.get().pk: 1})  # nothing but delivery would be left


def test_a_crash_before_any_write_loses_and_doubles_no_refund(alice: User, book: Product) -> None:
    for n in range(1, 40):
        order = buy(alice, f"cart {n}", book)

        def refund(pk: int = order.pk) -> None:
            if not Refund.objects.filter(payment__order=pk).exists():
                refund_order(pk, amount=500)
            make_payments_due()
            settle_all()

        try:
            with killed_before(n):
                refund()
        except Killed:
            assert_ledger_is_right({book.pk: 50})
            refund()
        else:
            break
        assert_ledger_is_right({book.pk: 50})
        assert_settled()
    assert n > 5
    assert set(Payment.objects.values_list("refunded", "refund_due")) == {(500, 0)}
    kinds = list(Order.objects.values_list("events__kind", flat=True))
    assert kinds.count(EventKind.REFUND_DUE) == kinds.count(EventKind.REFUNDED) == n


def test_refunds_of_the_former_release_keep_their_meaning() -> None:
    """One waits for its refund, one was refunded at the provider only, one is refunded, and one paid for nothing."""
    now = timezone.now() - timedelta(days=1)
    book = make_product()
    orders = [make_order(None, book, key=str(n), state=OrderState.SENT, paid_at=now) for n in range(5)]
    states = ["refund due", "refund due", "refunded", "refunded", "succeeded"]
    with use_former_release([("shop", "0017_delivery")]) as apps:
        payment, event, charge = (apps.get_model("shop", name) for name in ("Payment", "OrderEvent", "FakeCharge"))
        for n, (order, state) in enumerate(zip(orders, states, strict=True)):
            row = payment.objects.create(order_id=order.pk, key=f"p{n}", amount=1250, state=state, updated_at=now)
            if n != 3:
                event.objects.create(order_id=order.pk, kind="paid", payment=row)
            if state != "succeeded":
                event.objects.create(order_id=order.pk, kind="refund due", payment=row, note="by staff")
            at = now if n in (1, 2, 3) else None
            charge.objects.create(key=f"p{n}", amount=1250, succeeds=True, refunded_at=at)
    assert list(Payment.objects.order_by("pk").values_list("state", "refund_due", "refunded")) == [
        ("succeeded", 1250, 0),
        ("succeeded", 1250, 0),
        ("succeeded", 0, 1250),
        ("surplus", 0, 1250),
        ("succeeded", 0, 0),
    ]
    assert FakeRefund.objects.count() == 3
    assert set(Refund.objects.filter(state=RefundState.DONE).values_list("done_at", "reason")) == {(now, "by staff")}
    make_payments_due()
    assert settle_all().refunds == 2
    assert_settled()
    assert FakeRefund.objects.count() == 4
