"""Invoices and credit notes: the walk from the payment to the PDF, races, crashes, and deleted accounts."""

import csv
import logging
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core import mail
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format
from fpdf import FPDF
from fpdf.enums import MethodReturnValue
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.personal.registry import all_parts
from common.refusals import Refused
from shop.invoices.models import Invoice, InvoiceCounter, InvoiceKind
from shop.invoices.pdf import draw_invoice
from shop.invoices.services import issue_invoice
from shop.models import Order, OrderLine, OrderState, Product
from shop.payments import TypedCard, fake
from shop.returns.services import WantedReturn, accept_return, ask_for_return, receive_return
from shop.selectors.links import make_invoice_path, make_links
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.payments import pay_order
from shop.services.refunds import refund_order
from shop.tasks import confirm, remove_old_invoices, tell
from tests.shop.test_checkout_crashes import killed_before
from tests.support.killed import Killed
from tests.support.shop.checkouts import (
    assert_invoices_are_right,
    assert_ledger_is_right,
    assert_no_gaps,
    check_out,
    make_cart,
    make_payments_due,
    run_together,
)
from tests.support.shop.make import make_order, make_product

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
GOOD = TypedCard(fake.GOOD_CARD)
ADMIN = "/admin/invoices/invoice/"


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email="alice@example.org")


@pytest.fixture
def seller(settings: Settings) -> Settings:
    settings.SELLER_NAME, settings.SELLER_ADDRESS = "Diptych Books", "Am Markt 1; 04109 Leipzig"
    settings.SELLER_COUNTRY, settings.SELLER_VAT_ID = "DE", "DE123456789"
    return settings


def make_taxed_order(buyer: User | None) -> Order:
    """Return an unpaid order: 3 books of 9.99 at 7%, one of 15.00 at 19%, and delivery of 3.90 at 7%."""
    novel, other = make_product("Émile", price=999), make_product("红楼梦", price=1500)
    fields: dict[str, Any] = {"name": "Žofie Ærø 王小明", "address": "Dlouhá 5\nPraha", "email": "alice@example.org"}
    order = make_order(buyer, novel, other, site="https://books.example", **fields)
    lines = OrderLine.objects.filter(order=order)
    lines.filter(product=novel).update(quantity=3, vat_rate=Decimal(7), vat=196)
    lines.filter(product=other).update(vat_rate=Decimal(19), vat=239)
    order.total, order.vat = 4887, 461
    order.delivery_price, order.delivery_vat_rate, order.delivery_vat = 390, Decimal(7), 26
    order.save()
    Product.objects.update(reserved=3)
    return order


def test_an_order_has_an_invoice_and_its_refunds_have_credit_notes(alice: User, seller: Settings) -> None:
    order = pay_order(make_taxed_order(alice), GOOD)
    invoice = Invoice.objects.get()
    year = timezone.localdate(invoice.issued_at).year
    assert (invoice.number, invoice.total, invoice.vat) == (f"{year}-00001", 4887, 461)
    assert invoice.content["rates"] == [
        {"rate": "7", "total": 3387, "vat": 222},
        {"rate": "19", "total": 1500, "vat": 239},
    ]
    assert (invoice.content["seller"]["name"], invoice.content["buyer"]["name"]) == (
        "Diptych Books",
        "Žofie Ærø 王小明",
    )
    mark_order_sent(order.pk)
    refund_order(order.pk, amount=1000)
    Order.objects.update(name="Another buyer")  # staff correct the address of the parcel
    novel = order.lines.get(title="Émile").pk
    returned = ask_for_return(order.pk, {novel: WantedReturn(2)})
    accept_return(returned.pk)
    receive_return(returned.pk, restock=True)
    refund_order(order.pk)
    notes = list(Invoice.objects.filter(kind=InvoiceKind.CREDIT_NOTE).order_by("pk"))
    assert [(note.number, note.total) for note in notes] == [
        (f"C{year}-00001", -1000),
        (f"C{year}-00002", -1589),  # 2 copies at the lower price
        (f"C{year}-00003", -2298),
    ]
    # By hand in test_refunds: 40 + 49 + 5.
    assert (notes[0].vat, notes[0].content["corrects"]) == (-94, invoice.number)
    assert notes[1].content["items"] == [
        {"title": "Émile", "quantity": 2, "total": -1589, "vat_rate": "7", "vat": -104}
    ]
    assert notes[2].content["buyer"] == invoice.content["buyer"]
    sums = Counter[tuple[str, str]]()
    for document in (invoice, *notes):
        for part in document.content["rates"]:
            sums.update({(part["rate"], "total"): part["total"], (part["rate"], "vat"): part["vat"]})
    assert set(sums.values()) == {0}, "all documents together cancel out, at each rate"
    assert_invoices_are_right()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_document_is_drawn_from_its_frozen_content(
    alice: User, seller: Settings, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    order = make_taxed_order(alice)
    Order.objects.update(language=language)
    pay_order(order, GOOD)
    refund_order(order.pk, amount=1000)
    drawn = [draw_invoice(each) for each in Invoice.objects.order_by("pk")]
    assert all(each.startswith(b"%PDF") and b"DroidSansFallback" in each for each in drawn)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING], "a letter has no glyph"
    seller.SELLER_NAME, seller.SHOP_CURRENCY = "Another shop", "JPY"
    Order.objects.update(name="", address="", language="")
    OrderLine.objects.update(title="Another book")
    with timezone.override("Pacific/Kiritimati"):  # another day, for some of the readers
        assert [draw_invoice(each) for each in Invoice.objects.order_by("pk")] == drawn


def read_pdf(invoice: Invoice, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the texts of a document, in the order in which they are drawn, with a slash at each line break."""
    texts: list[str] = []
    write = FPDF.multi_cell

    def note(pdf: FPDF, *args: Any, **options: Any) -> object:
        with pytest.MonkeyPatch.context() as unpatch:
            unpatch.setattr(FPDF, "multi_cell", write)  # a dry run calls the method once more
            lines = write(pdf, *args, **options | {"dry_run": True, "output": MethodReturnValue.LINES})
        texts.append("/".join(lines))  # type: ignore[arg-type]
        return write(pdf, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(FPDF, "multi_cell", note)
        draw_invoice(invoice)
    return "|".join(filter(None, texts))


def test_letters_without_a_glyph_are_drawn_as_question_marks(
    alice: User, seller: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    order = make_taxed_order(alice)
    Order.objects.update(name="محمد 王小明", address="12 שד\u05b5 x\u200f\nกรุง Ω\nSAUDI ARABIA")
    pay_order(order, GOOD)
    assert "|???? 王小明|12 ?? x|??? Ω|SAUDI ARABIA|" in read_pdf(Invoice.objects.get(), monkeypatch)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING], "a letter has no glyph"


def test_an_invoice_names_prices_payment_and_delivery(
    alice: User, seller: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = make_taxed_order(alice)
    Order.objects.update(arrives_from=date(2026, 12, 1), arrives_by=date(2026, 12, 3))
    order = pay_order(order, GOOD)
    refund_order(order.pk, amount=1000)
    invoice, note = Invoice.objects.order_by("pk")
    assert order.paid_at is not None
    day = date_format(timezone.localdate(order.paid_at), "M j, Y")
    text = read_pdf(invoice, monkeypatch)
    for words in (
        f"|Paid on {day}|",
        "|Delivery: Dec 1, 2026 to Dec 3, 2026|",
        "|Description|Quantity|Price|VAT|Total|",
        "|Émile|3|€9.99|7%|€29.97|",
        "|Delivery|7%|€3.90|",
        "|7%|€31.65|€2.22|€33.87|",
        "|19%|€12.61|€2.39|€15.00|",
    ):
        assert words in text
    assert "Paid" not in read_pdf(note, monkeypatch)
    assert "|Description|Quantity|VAT|Total|" in read_pdf(note, monkeypatch)
    invoice.content |= {"paid": None, "delivery": ["2026-12-03", "2026-12-03"]}
    text = read_pdf(invoice, monkeypatch)
    assert "/" not in text
    assert "|Not paid|" in text
    assert "|Delivery: Dec 3, 2026|" in text
    # A document of a former release has none of the new fields.
    del invoice.content["paid"], invoice.content["delivery"]
    for item in invoice.content["items"]:
        item.pop("price", None)
    text = read_pdf(invoice, monkeypatch)
    assert "|Description|Quantity|VAT|Total|Émile|3|7%|€29.97|" in text
    assert not [words for words in ("aid", "Delivery:", "Price") if words in text]
    invoice.content["language"] = "zh-hans"
    assert "/" not in read_pdf(invoice, monkeypatch)


def test_only_those_who_may_see_an_order_download_its_documents(
    alice: User, client: Client, django_user_model: type[User]
) -> None:
    order = pay_order(make_taxed_order(alice), GOOD)
    refund_order(order.pk, amount=1000)
    invoice, note = Invoice.objects.order_by("pk")
    path = make_invoice_path(order, invoice.pk)
    assert client.get(path).status_code == 302, "it needs a login"
    client.force_login(django_user_model.objects.create_user("mallory"))
    assert client.get(path).status_code == 404
    client.force_login(alice)
    page = client.get(make_links(order).order).content.decode()
    for each in (invoice, note):
        assert (
            f'{make_invoice_path(order, each.pk)}">{each.get_kind_display().capitalize()} {each.number} (PDF)' in page
        )
    response = client.get(path)
    assert (response["Content-Type"], "private" in response["Cache-Control"]) == ("application/pdf", True)
    assert client.get(path.replace(f"orders/{order.pk}", f"orders/{order.pk + 1}")).status_code == 404
    confirm(order.pk)
    tell("refunded", order.pk)
    letters = [(each.body, str(each.alternatives[0][0])) for each in mail.outbox]
    assert len(letters) == 2
    assert all(f"https://books.example{path}" in body for letter in letters for body in letter)

    Order.objects.update(user=None)
    order.refresh_from_db()
    path, guest = make_invoice_path(order, invoice.pk), Client()
    assert guest.get(path).content.startswith(b"%PDF")
    assert guest.get(path.replace("/invoices/", "x/invoices/")).status_code == 404
    assert path in guest.get(make_links(order).order).content.decode()
    Order.objects.update(user=alice)
    assert guest.get(path).status_code == 404, "the order was claimed"


def test_staff_find_documents_and_download_them_as_csv(alice: User, client: Client) -> None:
    order = pay_order(make_taxed_order(alice), GOOD)
    refund_order(order.pk, amount=1000)
    invoice, note = Invoice.objects.order_by("pk")
    clerk = User.objects.create_user("clerk", is_staff=True)
    client.force_login(clerk)
    pdf = f"{ADMIN}{invoice.pk}/pdf/"
    assert client.get(pdf).status_code == 403
    clerk.user_permissions.set(Permission.objects.filter(codename="view_order"))
    assert client.get(pdf).content.startswith(b"%PDF")
    page = client.get(f"/admin/shop/order/{order.pk}/change/").content.decode()
    assert f"{ADMIN}{note.pk}/pdf/" in page
    assert invoice.number in client.get("/admin/shop/order/").content.decode()
    for term, found in ((note.number.lower(), 1), (f"#{order.pk}", 2), ("4711", 0), ("2026-99999", 0)):
        page = client.get(ADMIN, {"q": term}).content.decode()
        assert page.count("/pdf/") == found, term
    assert "Žofie" in client.get(f"{ADMIN}{invoice.pk}/change/").content.decode()
    assert client.post(f"{ADMIN}{invoice.pk}/change/", {"number": "1"}).status_code == 403
    assert client.post(f"{ADMIN}{invoice.pk}/delete/", {"post": "yes"}).status_code == 403
    ids = {"action": "export_csv", "_selected_action": [invoice.pk, note.pk]}
    text = client.post(ADMIN, ids).getvalue().decode()
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["number"], row["corrects"], row["total_in_cents"], row["vat_in_cents"]) for row in rows] == [
        (invoice.number, "", "4887", "461"),
        (note.number, invoice.number, "-1000", "-94"),
    ]
    assert "name" not in rows[0], "names only for staff who may change orders"
    orders = client.post("/admin/shop/order/", {"action": "export_csv", "_selected_action": [order.pk]})
    [row] = csv.DictReader(orders.getvalue().decode().splitlines())
    assert row["invoice"] == invoice.number


def test_documents_outlive_the_account_for_the_years_of_the_law(
    alice: User, client: Client, settings: Settings
) -> None:
    order = pay_order(make_taxed_order(alice), GOOD)
    path = make_invoice_path(order, Invoice.objects.get().pk)
    mark_order_sent(order.pk)
    parts = {part.name: part for part in all_parts()}
    [row] = parts["invoices"].read(alice.pk)  # type: ignore[misc]
    assert row["content"]["buyer"]["name"] == "Žofie Ærø 王小明"
    for name in ("orders", "invoices"):
        parts[name].erase(alice.pk)
    alice.delete()
    order.refresh_from_db()
    assert (order.user, order.name, order.email) == (None, "", "")
    assert client.get(path).status_code == 302
    assert client.get(make_invoice_path(Order(pk=order.pk, key=order.key, email="a@b.c"), 1)).status_code == 404
    invoice = Invoice.objects.get()
    assert invoice.content["buyer"]["name"] == "Žofie Ærø 王小明"

    settings.INVOICE_YEARS = 2
    for years, kept in ((2, True), (3, False)):
        Invoice.objects.update(year=invoice.year - years)
        assert (remove_old_invoices(), Invoice.objects.exists()) == (int(not kept), kept)
    settings.CLOCK = lambda: timezone.now() + timedelta(days=2 * 366)
    issue_invoice(order)
    assert Invoice.objects.get().serial == 1, "each year has a series of its own"
    settings.CLOCK = timezone.now
    Invoice.objects.all().delete()
    issue_invoice(order)
    assert Invoice.objects.get().serial == 2, "a number is never given twice"
    assert InvoiceCounter.objects.count() == 2


def test_numbers_have_no_gaps_after_races_and_crashes(alice: User) -> None:
    book = make_product(stock=60)
    orders = [check_out(alice, make_cart(f"cart {n}", book)) for n in range(24)]
    assert all(isinstance(each, Order) for each in run_together(8, lambda n: pay_order(orders[n], GOOD)))
    assert_ledger_is_right({book.pk: 60})
    for order, write in zip(orders[8:], range(1, 17), strict=True):
        try:
            with killed_before(write):
                pay_order(order, GOOD)
        except Killed:
            make_payments_due()
            pay_order(order, GOOD)
        assert_no_gaps()
    # A return that restocks, a cancellation and refunds at once: each locks products, if any, before the counter.
    returns = []
    for order in orders[:8]:
        mark_order_sent(order.pk)
        returned = ask_for_return(order.pk, {order.lines.get().pk: WantedReturn(1)})
        returns.append(accept_return(returned.pk).pk)

    def act(n: int) -> object:
        if n % 3 == 0:
            return receive_return(returns[n // 3], restock=True)
        return cancel_order(orders[8 + n].pk, alice) if n % 3 == 1 else refund_order(orders[8 + n].pk, amount=100)

    results = run_together(16, act)
    assert not [each for each in results if isinstance(each, Exception) and not isinstance(each, Refused)]
    assert Invoice.objects.filter(kind=InvoiceKind.CREDIT_NOTE).count() == 16
    assert Order.objects.exclude(state__in=(OrderState.PAID, OrderState.SENT, OrderState.CANCELLED)).count() == 0
    assert_ledger_is_right({book.pk: 60})
