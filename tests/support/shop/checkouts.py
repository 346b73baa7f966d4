"""Create carts, checkouts and payments, and check the invariants of the ledger."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

from django.db import connections

from accounts.models import User
from common import clock
from shop.carts import reading
from shop.delivery.vat import compute_included_vat
from shop.invoices.models import Invoice, InvoiceKind
from shop.models import (
    FakeCharge,
    FakeRefund,
    Order,
    OrderLine,
    OrderState,
    Payment,
    PaymentState,
    Product,
    Refund,
    RefundLine,
    RefundState,
    Return,
    ReturnLine,
    ReturnState,
)
from shop.payments import fake
from shop.services import carts
from shop.services.checkout import OrderAddress, begin_checkout
from tests.support.shop.carts import make_session

HOME = OrderAddress("Alice", "alice@example.org", "1 Long Lane\nLondon")
CARD_FIELDS = {"card": fake.GOOD_CARD, "expiry": "12/40", "code": "123"}
HOME_FIELDS = {"country": "GB", "street": "1 Long Lane", "city": "London", "postcode": "SW1A 1AA"}


def make_cart(name: str, *products: Product, quantity: int = 1) -> str:
    """Fill the cart of session ``name`` with these products and return its digest."""
    digest = make_session(name)
    for product in products:
        carts.set_line(digest, product.pk, quantity)
    return digest


def check_out(user: User, digest: str, total: int | None = None) -> Order:
    """Check out the cart as it is now and return the order."""
    now = reading.read_cart(digest)
    products = Product.objects.in_bulk(now.lines)
    shown = sum(products[pk].price * count for pk, count in now.lines.items()) if total is None else total
    return begin_checkout(user, digest, version=now.version, total=shown, address=HOME)


def assert_ledger_is_right(stock: Mapping[int, int]) -> None:
    """Check stock, reservations and payments against the orders.

    Stock and reservations must follow from the orders, no order may be paid twice, and each payment taken must belong
    to a paid order.

    stock: copies of each product before the first order.
    """
    reserved, sold = Counter[int](), Counter[int]()
    for state, pk, count in OrderLine.objects.values_list("order__state", "product_id", "quantity"):
        reserved[pk] += count if state == OrderState.RESERVED else 0
        sold[pk] += count if state in (OrderState.PAID, OrderState.SENT) else 0
    # Refunded before the order was sent; a cancellation returned the others.
    unsent = RefundLine.objects.filter(is_unsent=True, line__order__state__in=(OrderState.PAID, OrderState.SENT))
    for pk, count in unsent.values_list("line__product", "quantity"):
        sold[pk] -= count
    back = ReturnLine.objects.filter(order_return__is_restocked=True)
    for pk, count in back.values_list("line__product", "quantity"):
        sold[pk] -= count
    rows = {pk: (left, kept) for pk, left, kept in Product.objects.values_list("pk", "stock", "reserved")}
    assert rows == {pk: (count - sold[pk], reserved[pk]) for pk, count in stock.items()}
    assert_money_is_right()
    assert_invoices_are_right()


def assert_money_is_right() -> None:
    """Check payments and refunds against the orders.

    Each order that was paid has one payment; that of a cancelled order and each surplus payment are refunded in whole.
    The sums of a payment are those of its refunds, and the lines of refunds add up and exceed no line of the order.
    """
    paid = Order.objects.filter(paid_at__isnull=False, total__gt=0)
    taken = Payment.objects.filter(state=PaymentState.SUCCEEDED)
    assert sorted(taken.values_list("order_id", "amount")) == sorted(paid.values_list("pk", "total"))
    due, done = Counter[int](), Counter[int]()
    for pk, state, amount in Refund.objects.values_list("payment", "state", "amount"):
        (due if state == RefundState.DUE else done)[pk] += amount
    for payment in Payment.objects.select_related("order"):
        assert (payment.refund_due, payment.refunded) == (due[payment.pk], done[payment.pk])
        if payment.state == PaymentState.SURPLUS or payment.order.state == OrderState.CANCELLED:
            assert payment.left == 0 or payment.state in (PaymentState.STARTED, PaymentState.FAILED)
    for refund in Refund.objects.filter(payment__state=PaymentState.SUCCEEDED).prefetch_related("lines"):
        assert sum(part.amount for part in refund.lines.all()) == refund.amount
    back: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for part in RefundLine.objects.exclude(line=None):
        assert part.line_id is not None
        back[part.line_id].update(quantity=part.quantity, amount=part.amount)
    for order in paid.filter(state=OrderState.PAID):
        assert sum(line.quantity - back[line.pk]["quantity"] for line in order.lines.all()) > 0, "nothing to send"
    for line in OrderLine.objects.filter(pk__in=list(back)):
        assert back[line.pk]["quantity"] <= line.quantity
        assert back[line.pk]["amount"] <= line.total


def assert_returns_are_right() -> None:
    """Check that each received return has one refund of its copies, that no other return has one, and that the payments
    are equal to the refunds and the money that the shop kept.
    """
    for found in Return.objects.select_related("order", "refund").prefetch_related("lines", "refund__lines"):
        is_paid = found.state == ReturnState.RECEIVED and found.order.total > 0
        assert (found.refund is not None) == is_paid, found
        if found.refund is not None:
            copies = sorted((part.line_id, part.quantity) for part in found.refund.lines.all() if part.line_id)
            assert copies == sorted((line.line_id, line.quantity) for line in found.lines.all()), found
    refunds = Refund.objects.filter(order_return__isnull=False).count()
    assert refunds == Return.objects.filter(state=ReturnState.RECEIVED, order__total__gt=0).count()
    paid = sum(FakeCharge.objects.filter(succeeds=True).values_list("amount", flat=True))
    refunded = sum(FakeRefund.objects.values_list("amount", flat=True))
    kept = sum(payment.left for payment in Payment.objects.exclude(state=PaymentState.FAILED))
    assert paid == refunded + kept


def assert_invoices_are_right() -> None:
    """Check that each paid order has one invoice and each of its refunds one credit note, with the same sums, and that
    the numbers of each series have no gaps.
    """
    paid = Order.objects.filter(paid_at__isnull=False, total__gt=0)
    invoices = Invoice.objects.filter(kind=InvoiceKind.INVOICE)
    assert sorted(invoices.values_list("order", "total")) == sorted(paid.values_list("pk", "total"))
    refunds = Refund.objects.filter(payment__state=PaymentState.SUCCEEDED).values_list("pk", "payment__order", "amount")
    notes = Invoice.objects.filter(kind=InvoiceKind.CREDIT_NOTE).values_list("refund", "order", "total")
    assert sorted((refund, order, -total) for refund, order, total in notes) == sorted(refunds)
    left: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for invoice in Invoice.objects.order_by("pk"):
        items, rates = invoice.content["items"], invoice.content["rates"]
        assert sum(item["total"] for item in items) == invoice.total
        assert sum(item["vat"] or 0 for item in items) == sum(part["vat"] for part in rates) == (invoice.vat or 0)
        for part in rates:
            left[invoice.order_id, part["rate"]].update(total=part["total"], vat=part["vat"])
    # What the documents leave of an order is right at each rate, within the cent that its last refund may take.
    for (_order, rate), sums in left.items():
        assert abs(sums["vat"] - compute_included_vat(sums["total"], Decimal(rate))) <= (sums["total"] != 0), sums
    assert_no_gaps()


def assert_no_gaps() -> None:
    """Check that the numbers of each kind of documents are 1 to n."""
    for kind in InvoiceKind:
        serials = sorted(Invoice.objects.filter(kind=kind).values_list("serial", flat=True))
        assert serials == list(range(1, len(serials) + 1)), kind


def assert_settled() -> None:
    """Check that the provider and the site agree on every payment and every refund, and that none is open."""
    taken = Payment.objects.filter(state__in=(PaymentState.SUCCEEDED, PaymentState.SURPLUS))
    charges = FakeCharge.objects.filter(succeeds=True)
    assert dict(charges.values_list("pk", "amount")) == dict(taken.values_list("key", "amount"))
    made = FakeRefund.objects.values_list("key", "charge", "amount")
    assert sorted(made) == sorted(Refund.objects.values_list("key", "payment__key", "amount"))
    assert not Payment.objects.filter(state=PaymentState.STARTED).exists()
    assert not Refund.objects.filter(state=RefundState.DUE).exists()


def let_time_pass() -> None:
    """Let reservations expire, let the provider answer, and make all open payments due for the next request."""
    past = clock.now() - timedelta(seconds=1)
    Order.objects.filter(reserved_until__gt=past).update(reserved_until=past)
    FakeCharge.objects.filter(answers_at__gt=past).update(answers_at=past)
    Payment.objects.filter(ask_at__gt=past).update(ask_at=past)
    Refund.objects.filter(ask_at__gt=past).update(ask_at=past)


def make_payments_due() -> None:
    """Make open payments and refunds due for the next request to the provider."""
    past = clock.now() - timedelta(seconds=1)
    Payment.objects.update(ask_at=past)
    Refund.objects.update(ask_at=past)


def is_money_open() -> bool:
    """Return whether a payment or a refund waits for the provider."""
    payments = Payment.objects.filter(state=PaymentState.STARTED)
    return payments.exists() or Refund.objects.filter(state=RefundState.DUE).exists()


def run_together(count: int, do: Callable[[int], object]) -> list[object]:
    """Call ``do(n)`` in ``count`` threads at the same moment. Return each result, or the exception that was raised."""
    barrier = threading.Barrier(count)

    def one(n: int) -> object:
        barrier.wait()
        try:
            return do(n)
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))
