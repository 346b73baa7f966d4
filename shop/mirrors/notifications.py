"""Mirrors that derive notifications of sent orders, and of books that are back or cheaper.

The key is that of the row.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

import mirror
from accounts.notifications.tables import Fact, NotificationTable, watch_preferences
from common.ids import parse_ids
from mirror import Watch
from mirror.conf import setting
from shop.models import Order, StockAlert

# An order of an imported history reserved its copies for no time, and notifies nobody.
WAS_SENT: Final = Q(sent_at__isnull=False, user_id__isnull=False, reserved_until__gt=F("created_at"))


@mirror.register
class OrderNotifications(NotificationTable):
    """A notification for each order that was sent."""

    name = "notified_order"
    label = _("notifications: orders")
    kind = "order"
    tables = "notifications_order"
    model = Order
    # Orders are sent after they were inserted.
    watches = (Watch(Order, only=("sent_at", "user_id"), inserts=False), watch_preferences("order"))

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        sent = Order.objects.using(setting("DATABASE")).filter(WAS_SENT, pk__in=parse_ids(pks))
        rows = sent.values_list("pk", "user_id", "sent_at")
        return [Fact(str(pk), user, None, at, pk) for pk, user, at in rows if at]


class AlertNotifications(NotificationTable):
    """A notification for each alert of a kind that came true."""

    model = StockAlert

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        alerts = StockAlert.objects.using(setting("DATABASE")).filter(kind=self.kind, back_at__isnull=False)
        rows = alerts.filter(pk__in=parse_ids(pks)).values_list("pk", "user_id", "product_id", "back_at")
        return [Fact(str(pk), user, None, at, product) for pk, user, product, at in rows if at]


@mirror.register
class StockNotifications(AlertNotifications):
    """A notification for each stock alert whose product is back."""

    name = "notified_stock"
    label = _("notifications: stock")
    kind = "stock"
    tables = "notifications_stock"
    watches = (Watch(StockAlert, only=("back_at",)), watch_preferences("stock"))


@mirror.register
class PriceNotifications(AlertNotifications):
    """A notification for each price alert whose product is cheaper."""

    name = "notified_price"
    label = _("notifications: prices")
    kind = "price"
    tables = "notifications_price"
    watches = (Watch(StockAlert, only=("back_at",)), watch_preferences("price"))
