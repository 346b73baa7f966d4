"""Each payment that is or was refunded gets its refund, with the key of the payment.

A refund that the provider has made and the site has not recorded keeps its meaning: the provider refunds once per key.
"""

from collections.abc import Iterator
from typing import Any, Final

from django.db import migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

SLICE: Final = 500
FORMER_STATES: Final = ("refund due", "refunded")


def add_refunds(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Write the refunds of payments, and of charges at the fake provider, in slices. Safe to repeat."""
    using = editor.connection.alias
    names = ("Payment", "Refund", "OrderEvent", "FakeCharge", "FakeRefund")
    payments, refunds, events, charges, fake_refunds = (
        apps.get_model("shop", name)._default_manager.using(using) for name in names
    )
    for part in _split(payments.filter(state__in=FORMER_STATES)):
        with transaction.atomic(using=using):
            _add_refunds(part, payments, refunds, events)
    for part in _split(charges.exclude(refunded_at=None).filter(refunded=0, amount__gt=0)):
        with transaction.atomic(using=using):
            fake_refunds.bulk_create(
                fake_refunds.model(key=row.key, charge_id=row.key, amount=row.amount, created_at=row.refunded_at)
                for row in part
            )
            for row in part:
                charges.filter(pk=row.pk).update(refunded=row.amount)


def _split(rows: Any) -> Iterator[list[Any]]:
    """Yield slices of rows until none is left. The caller changes them so that they are not found again."""
    while part := list(rows.order_by("pk")[:SLICE]):
        yield part


def _add_refunds(part: list[Any], payments: Any, refunds: Any, events: Any) -> None:
    steps: dict[int, dict[str, Any]] = {payment.pk: {} for payment in part}
    for event in events.filter(payment__in=list(steps)).order_by("pk"):
        steps[event.payment_id][event.kind] = event
    for payment in part:
        is_done = payment.state == "refunded"
        found = steps[payment.pk]
        ordered = found.get("refund due")
        refunds.create(
            payment_id=payment.pk,
            key=payment.key,
            state="done" if is_done else "due",
            amount=payment.amount,
            reason=ordered.note if ordered else "",
            by_id=ordered.by_id if ordered else None,
            created_at=ordered.created_at if ordered else payment.updated_at,
            done_at=payment.updated_at if is_done else None,
            ask_at=payment.ask_at,
        )
        payments.filter(pk=payment.pk).update(
            # Money that paid for an order stays its payment. Other money bought nothing.
            state="succeeded" if {"paid", "paid late"} & set(found) else "surplus",
            refund_due=0 if is_done else payment.amount,
            refunded=payment.amount if is_done else 0,
        )


class Migration(migrations.Migration):
    atomic = False  # each slice is a transaction of its own, so that no lock lasts

    dependencies = [("shop", "0018_refunds")]

    operations = [migrations.RunPython(add_refunds, migrations.RunPython.noop, elidable=True)]
