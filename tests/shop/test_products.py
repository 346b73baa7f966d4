"""Staff change products while customers order them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from shop.models import Product
from shop.services import products, stock
from tests.support.locks import has_lock_wait
from tests.support.servers import PATIENCE_SECONDS, wait_until
from tests.support.shop.make import make_product


@pytest.mark.only_on("postgres")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["more copies", "off sale"])
def test_orders_and_bulk_changes_of_products_do_not_deadlock(way: str) -> None:
    """The rows are on the disk in the reverse order of their ids, in which one update of all would lock them."""
    rows = [make_product(f"Book {n}", stock=10) for n in range(3)]
    Product.objects.all().delete()
    for row in rows[::-1]:
        Product.objects.create(book=row.book, price=100, stock=10)
    ids = [row.pk for row in rows]
    has_begun = threading.Event()

    def order() -> None:
        with transaction.atomic():
            stock.reserve_copies({ids[0]: 1})
            has_begun.set()
            wait_until(has_lock_wait, "the other one")
            stock.reserve_copies({ids[2]: 1})

    def change() -> int:
        assert has_begun.wait(PATIENCE_SECONDS)
        return (
            len(products.add_copies(dict.fromkeys(ids, 10), 5))
            if way == "more copies"
            else products.set_for_sale(ids, is_active=False)
        )

    def alone(do: object) -> object:
        try:
            return do()  # type: ignore[operator]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        buyer, clerk = pool.submit(alone, order), pool.submit(alone, change)
        assert (buyer.result(), clerk.result()) == (None, 3)
    assert sorted(Product.objects.values_list("pk", "reserved")) == [(ids[0], 1), (ids[1], 0), (ids[2], 1)]
