"""The mirror of alerts: what the page of a book shows a reader who waits for it."""

from django.db.models import Q
from django.utils.translation import gettext_lazy as _

import mirror
from mirror import Column, Mirror, SetOf
from shop import keys
from shop.models import StockAlert


@mirror.register
class StockAlertMirror(Mirror):
    """The alerts that have not come true yet, by reader, product and kind."""

    label = _("alerts of readers")
    model = StockAlert
    key = keys.stock_alert("{pk}")
    fields = ("id", Column("user_id", name="user"), Column("product_id", name="product"), "kind")
    where = Q(back_at=None)
    indexes = (SetOf("uid:{{{user}}}:{kind}:{product}:alert"),)  # keys.alert_of_reader
