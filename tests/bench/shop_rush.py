"""Compare the refusal of late checkouts in a rush by a hold in Redis with a refusal by SQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from django.conf import settings
from django.db import connections

from accounts.models import User
from mirror.upkeep.rebuild import rebuild
from shop import shortages
from shop.carts import reading
from shop.models import Order, Product
from shop.services import carts, checkout
from shop.services.errors import SoldOut
from tests.bench.table import Comparison
from tests.support.shop.carts import make_visitor
from tests.support.shop.make import make_product

LATE, AT_ONCE = 500, 8
NOWHERE = checkout.OrderAddress("", "", "")


def comparisons() -> Iterator[Comparison]:
    """Yield one comparison with all checkouts at once, in as many threads as a web server has."""
    book, user = make_product("The Last Copies", stock=1), User.objects.create_user("late")
    rebuild(["product"])
    digests = [make_visitor(user) for _ in range(LATE)]
    versions = {digest: carts.set_line(digest, book.pk, 1).version for digest in digests}
    Product.objects.filter(pk=book.pk).update(stock=0)

    def come(digest: str) -> None:
        with suppress(SoldOut):
            checkout.begin_checkout(user, digest, version=versions[digest], total=book.price, address=NOWHERE)

    def in_a_thread(some: list[str]) -> None:
        for digest in some:
            come(digest)
        connections.close_all()

    def all_come(hold_seconds: float) -> None:
        settings.SHOP_HOLD_SECONDS = hold_seconds
        shortages.forget_stock([book.pk])
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(in_a_thread, [digests[n::AT_ONCE] for n in range(AT_ONCE)]))

    yield Comparison(
        "those who come too late, with a hold in Redis",
        "each asks SQL",
        f"{LATE} carts, {AT_ONCE} at a time",
        ours=lambda: all_come(60.0),
        theirs=lambda: all_come(0.0),
        target=1.0,
    )
    assert not Order.objects.exists()
    assert reading.read_cart(digests[0]).lines == {book.pk: 1}
