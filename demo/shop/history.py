"""The demo's history: products, customers with views and orders, invoices and returns."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from common.database import split_slices
from demo.delivery import add_delivery
from demo.shop.items import add_products
from demo.shop.orders import add_orders
from demo.shop.returns import add_returns
from demo.shop.visits import Visit, invent_visits
from shop.importer import bulk_insert
from shop.invoices.backlog import issue_missing_invoices
from shop.models import Order, Product, View


def load_demo_shop(now: datetime | None = None) -> dict[str, int]:
    """Add products for all books and, if the shop has no orders, customers with a history.

    Return the numbers of products and orders.
    """
    now = now or timezone.now()
    add_products()
    add_delivery()
    if not Order.objects.exists():
        _add_visits(invent_visits(now), now)
        issue_missing_invoices()
        add_returns(now)
    return {"products": Product.objects.count(), "orders": Order.objects.count()}


def _add_visits(visits: Sequence[Visit], now: datetime) -> None:
    """Write views and orders in chronological order."""
    views, orders = [], []
    for visit in visits:
        if visit.buys:
            orders.append(visit)
        for item, at in visit.views:
            views.append(View(visitor=f"demo:{visit.user}", user_id=visit.user, book_id=item.pk, seen_at=at))
    views.sort(key=lambda view: (view.seen_at, view.user_id, view.book_id))
    for some in split_slices(views):
        bulk_insert(View, some)
    names = dict(User.objects.filter(pk__in={visit.user for visit in visits}).values_list("pk", "username"))
    orders.sort(key=lambda visit: visit.ordered)
    for some_orders in split_slices(list(enumerate(orders))):
        with transaction.atomic():
            add_orders(dict(some_orders), names, now)
