"""Carts, checkouts and payments for tests, and what "right" means for the ledger."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from django.db import connections
from django.db.models import Q, Sum

from accounts.models import User
from accounts.session_rows import digest_of
from config import clock
from shop.carts import cart
from shop.models import FakeCharge, Order, OrderLine, Payment, PaymentState, Product, State
from shop.services import carts
from shop.services.checkout import Address, begin

HOME = Address("Alice", "alice@example.org", "1 Long Lane\nLondon")


def make_cart(name: str, *products: Product, quantity: int = 1) -> str:
    """A cart with these products; its digest."""
    digest = digest_of(name)
    for product in products:
        carts.set_line(digest, product.pk, quantity)
    return digest


def order_of(user: User, digest: str, total: int | None = None) -> Order:
    """The order of a cart as it is now."""
    now = cart.read(digest)
    products = Product.objects.in_bulk(now.lines)
    shown = sum(products[pk].price * count for pk, count in now.lines.items()) if total is None else total
    return begin(user, digest, version=now.version, total=shown, address=HOME)


def assert_right(stock: Mapping[int, int]) -> None:
    """Stock and reservations are what the orders say; nobody paid twice; money taken is that of orders paid.

    stock: copies of each product before anything was ordered.
    """
    reserved, sold = Counter[int](), Counter[int]()
    for state, pk, count in OrderLine.objects.values_list("order__state", "product_id", "quantity"):
        reserved[pk] += count if state == State.RESERVED else 0
        sold[pk] += count if state in (State.PAID, State.SENT) else 0
    rows = {pk: (left, kept) for pk, left, kept in Product.objects.values_list("pk", "stock", "reserved")}
    assert rows == {pk: (count - sold[pk], reserved[pk]) for pk, count in stock.items()}
    paid = Order.objects.filter(state__in=(State.PAID, State.SENT), total__gt=0)
    taken = Payment.objects.filter(state=PaymentState.SUCCEEDED)
    assert sorted(taken.values_list("order_id", "amount")) == sorted(paid.values_list("pk", "total"))


def assert_settled() -> None:
    """The provider's books and ours agree, to the cent: what it has and did not give back is what is paid."""
    charges = dict(FakeCharge.objects.filter(succeeds=True, refunded_at=None).values_list("pk", "amount"))
    assert charges == dict(Payment.objects.filter(state=PaymentState.SUCCEEDED).values_list("key", "amount"))
    refunded = FakeCharge.objects.filter(succeeds=True, refunded_at__isnull=False).values_list("pk", flat=True)
    assert set(refunded) == set(Payment.objects.filter(state=PaymentState.REFUNDED).values_list("key", flat=True))
    assert not Payment.objects.filter(Q(state=PaymentState.STARTED) | Q(state=PaymentState.REFUND_DUE)).exists()


def money_held() -> int:
    """What the provider has taken and not given back, in cents."""
    return FakeCharge.objects.filter(succeeds=True, refunded_at=None).aggregate(n=Sum("amount"))["n"] or 0


def let_time_pass() -> None:
    """Reservations have run out, every provider answers, and whatever is to be asked again is due."""
    past = clock.now() - timedelta(seconds=1)
    Order.objects.filter(reserved_until__gt=past).update(reserved_until=past)
    FakeCharge.objects.filter(answers_at__gt=past).update(answers_at=past)
    Payment.objects.filter(ask_at__gt=past).update(ask_at=past)


def ask_again() -> None:
    """Payments that are open are due to be asked about."""
    Payment.objects.update(ask_at=clock.now() - timedelta(seconds=1))


def together(count: int, do: Callable[[int], object]) -> list[object]:
    """Do it in so many threads at one moment; what each returns, or raises."""
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
