"""Invoices of orders that were paid before there were invoices: in order, without gaps, and once."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import User
from shop.invoices.backlog import issue_missing_credit_notes, issue_missing_invoices
from shop.invoices.models import Invoice, InvoiceCounter, InvoiceKind
from shop.invoices.pdf import draw_invoice
from shop.models import Order, Refund, RefundLine
from shop.payments import TypedCard, fake
from shop.services.orders import mark_order_sent
from shop.services.payments import pay_order
from shop.services.refunds import refund_order
from tests.support.shop.checkouts import assert_invoices_are_right, check_out, make_cart, run_together
from tests.support.shop.make import make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]


@pytest.fixture
def orders() -> list[Order]:
    """Paid orders without documents: the last one was paid first, and the second has two refunds, the third one."""
    alice, book = User.objects.create_user("alice", email="alice@example.org"), make_product(stock=60, price=1250)
    made = [check_out(alice, make_cart(f"cart {n}", book)) for n in range(4)]
    for days, order in enumerate(made):
        pay_order(order, TypedCard(fake.GOOD_CARD))
        Order.objects.filter(pk=order.pk).update(paid_at=timezone.now() - timedelta(days=days))
        mark_order_sent(order.pk)
    refund_order(made[1].pk, amount=250)
    refund_order(made[1].pk)
    refund_order(made[2].pk)
    RefundLine.objects.filter(refund__payment__order=made[2]).delete()  # from before refunds had lines
    Invoice.objects.all().delete()
    InvoiceCounter.objects.all().delete()
    return made


def run(*options: str) -> Any:
    out = StringIO()
    call_command("issue_invoices", "--json", *options, stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def list_orders(kind: InvoiceKind) -> list[int]:
    return list(Invoice.objects.filter(kind=kind).order_by("serial").values_list("order", flat=True))


def test_older_orders_get_their_documents_in_the_order_of_payment(orders: list[Order]) -> None:
    Order.objects.filter(pk=orders[0].pk).update(name="", address="")  # of a deleted account
    assert run("--dry-run") == {"invoices": 4, "credit_notes": 3}
    assert not Invoice.objects.exists()
    assert run() == {"invoices": 4, "credit_notes": 3}
    first, second, third, fourth = (order.pk for order in orders)
    assert list_orders(InvoiceKind.INVOICE) == [fourth, third, second, first]
    assert list_orders(InvoiceKind.CREDIT_NOTE) == [second, second, third]
    assert_invoices_are_right()
    assert all(draw_invoice(invoice).startswith(b"%PDF") for invoice in Invoice.objects.all())
    assert run() == run("--dry-run") == {"invoices": 0, "credit_notes": 0}


def test_orders_of_years_without_a_duty_to_keep_stay_without(orders: list[Order]) -> None:
    Order.objects.filter(pk=orders[1].pk).update(paid_at=timezone.now() - timedelta(days=11 * 366))
    assert run() == {"invoices": 3, "credit_notes": 1}
    assert orders[1].pk not in list_orders(InvoiceKind.INVOICE)


def test_two_runs_at_once_issue_each_document_once(orders: list[Order]) -> None:
    assert sum(map(int, map(str, run_together(3, lambda n: issue_missing_invoices())))) == 4
    assert sum(map(int, map(str, run_together(3, lambda n: issue_missing_credit_notes())))) == 3
    assert Refund.objects.count() == 3
    assert_invoices_are_right()
