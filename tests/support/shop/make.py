"""Create products, sales and orders for tests."""

from datetime import timedelta
from typing import Any

from django.db import transaction

from accounts.models import User
from common import clock
from shop.models import Order, OrderLine, Product, Sale, SaleItem
from tests.support.catalog.make import make_book


@transaction.atomic
def make_product(title: str = "A book", *, price: int = 1250, stock: int = 10, **fields: Any) -> Product:
    """Create a book that is for sale."""
    return Product.objects.create(book=make_book(title), price=price, stock=stock, **fields)


@transaction.atomic
def make_sale(*products: Product, price: int = 500, hours: float = 1, starts_in: float = -1) -> Sale:
    """Create a sale of these products. By default it began an hour ago and ends in an hour."""
    now = clock.now()
    sale = Sale.objects.create(
        name="Spring", starts_at=now + timedelta(hours=starts_in), ends_at=now + timedelta(hours=hours)
    )
    SaleItem.objects.bulk_create(SaleItem(sale=sale, product=product, price=price) for product in products)
    return sale


@transaction.atomic
def make_order(user: User | None, *products: Product, quantity: int = 1, **fields: Any) -> Order:
    """Create the row of an order, without reserving stock."""
    now = clock.now()
    fields = {"reserved_until": now + timedelta(minutes=10), "key": f"key-{now.timestamp()}"} | fields
    fields = {"email": "a@example.org", "name": "A", "address": "B"} | fields
    total = sum(quantity * product.price for product in products)
    order = Order.objects.create(user=user, total=total, **fields)
    OrderLine.objects.bulk_create(
        OrderLine(order=order, product=p, title=p.book.title, quantity=quantity, price=p.price) for p in products
    )
    return order
