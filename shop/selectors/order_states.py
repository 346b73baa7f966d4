"""The two states of an order: its fulfilment, and its payment.

The fulfilment is ``Order.state`` in other words. The payment is derived from the rows of payments, which alone know it,
so the two cannot contradict each other.
"""

from typing import Any, Final

from django.db.models import Case, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from shop.models import OrderState, Payment, PaymentState, PaymentStatus

UNPAID: Final = "unpaid"
FREE: Final = "free"
TO_SEND: Final = "to send"
# Of an order with several payments, one in the first of these states counts: a surplus payment, whose money goes back,
# does not make a paid order a refunded one.
COUNTING: Final = (PaymentState.SUCCEEDED, PaymentState.SURPLUS, PaymentState.STARTED, PaymentState.FAILED)
PAYMENT_STATES: Final = {
    UNPAID: _("not paid"),
    FREE: _("nothing to pay"),
    **{status.value: status.label for status in PaymentStatus},
    PaymentStatus.FAILED.value: _("payment failed"),
}


def annotate_states(orders: QuerySet[Any]) -> QuerySet[Any]:
    """Add ``fulfilment`` to orders ("to send" for paid ones, else the state), and ``payment_state`` (a key of
    PAYMENT_STATES).
    """
    rank = Case(*[When(state=state, then=number) for number, state in enumerate(COUNTING)])
    counting: QuerySet[Any] = Payment.objects.with_status().filter(order=OuterRef("pk")).order_by(rank, "-pk")
    without = Case(When(total=0, paid_at__isnull=False, then=Value(FREE)), default=Value(UNPAID))
    return orders.annotate(
        fulfilment=Case(When(state=OrderState.PAID, then=Value(TO_SEND)), default=F("state")),
        payment_state=Coalesce(Subquery(counting.values("status_now")[:1]), without),
    )


def filter_by_payment(orders: QuerySet[Any], state: str) -> QuerySet[Any]:
    """Return the orders of ``annotate_states`` whose payment is in this state."""
    found = orders.filter(payment_state=state)
    if state == FREE:
        return found.filter(total=0)
    if state == UNPAID:
        return found
    # Few payments have a rare status, and an index finds them. Alone, the condition above computes all orders.
    return found.filter(pk__in=Payment.objects.of_status(state).values("order"))
