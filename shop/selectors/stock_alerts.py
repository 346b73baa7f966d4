"""Read stock alerts, for their reader only: the list from SQL, and that of a book from Redis first."""

from datetime import datetime
from typing import Final, NamedTuple

from shop import keys
from shop.mirrors import StockAlertMirror
from shop.models import AlertKind, StockAlert

MAX_LISTED: Final = 200


class AlertLine(NamedTuple):
    """A book that a reader waits for. cents: the price, if the reader waits for a lower one."""

    product_id: int
    title: str
    created_at: datetime
    kind: str
    cents: int | None


def list_alerts(user_id: int) -> list[AlertLine]:
    """Return the books that a reader still waits for, the latest first."""
    rows = StockAlert.objects.filter(user_id=user_id, back_at=None).order_by("-created_at", "-pk")
    return [
        AlertLine._make(row)
        for row in rows.values_list("product_id", "product__book__title", "created_at", "kind", "cents")[:MAX_LISTED]
    ]


def is_waiting(user_id: int, product_id: int, kind: AlertKind) -> bool:
    """Return whether a reader waits for copies, or for a lower price. From a warm mirror: 1 round trip and no SQL."""
    return bool(StockAlertMirror.count(keys.alert_of_reader(user_id, product_id, kind)))
