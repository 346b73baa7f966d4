"""The copies of an order's lines that were refunded, and those that belong into its parcel."""

from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from shop.models import OrderLine, RefundLine


def annotate_refunds(lines: QuerySet[OrderLine]) -> QuerySet[Any]:
    """Add ``refunded`` to lines, the copies that were refunded, and ``to_send``, those that the parcel has."""
    refunds = RefundLine.objects.filter(line=OuterRef("pk")).order_by().values("line")
    unsent = refunds.filter(is_unsent=True)
    return lines.annotate(
        refunded=Coalesce(Subquery(refunds.values(copies=Sum("quantity"))), 0),
        to_send=F("quantity") - Coalesce(Subquery(unsent.values(copies=Sum("quantity"))), 0),
    )
