"""The shop in the admin: staff see everything and change only permitted fields, through the services."""

import csv
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from accounts.admin_tools import AuditedAdmin
from accounts.audit.models import AuditEvent
from accounts.models import User
from catalog.models import Tag, TagAlias
from mirror.redis.recorder import record
from shop.models import (  # fmt: skip
    Cart,
    EventKind,
    FakeCharge,
    Order,
    OrderState,
    Payment,
    PaymentState,
    PaymentStatus,
    Product,
    Recommendation,
    Sale,
    SaleItem,
    View,
)
from shop.services import products as services
from shop.services.order_steps import record_step
from tests.support.catalog.make import make_book
from tests.support.shop.make import make_order, make_product, make_sale
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db
commits = pytest.mark.django_db(transaction=True)
ORDERS, PAYMENTS, PRODUCTS, SALES = (f"/admin/shop/{name}/" for name in ("order", "payment", "product", "sale"))
LOOKED = [f"/admin/shop/{name}/" for name in ("cart", "view", "recommendation", "fakecharge")]
EVERY = [ORDERS, PAYMENTS, PRODUCTS, SALES, *LOOKED]


def fill(first: int, count: int) -> list[str]:
    """Create rows of every model. Return the URLs of the pages of the last ones."""
    for n in range(first, first + count):
        user = User.objects.create_user(f"reader {n}")
        product = make_product(f"Book number {n}", price=1000 + n)
        order = make_order(user, product, key=f"order {n}")
        payment = Payment.objects.create(order=order, key=f"pay {n}", amount=order.total)
        record_step(order.pk, EventKind.ORDERED, by=user)
        sale = make_sale(product, price=100)
        lines = {str(product.pk): {"quantity": 2, "price": 1000, "added": 1}}
        cart = Cart.objects.create(digest=f"{n:064}", user=user, lines=lines, version=1)
        view = View.objects.create(visitor=f"{n:064}", user=user, book=product.book)
        rows = [[product.pk, 2.5, 7, 60]]
        told = Recommendation.objects.create(product=product, bought=rows, viewbuy=rows)
        charge = FakeCharge.objects.create(key=f"charge {n}", amount=1, succeeds=True)
    made = [order, payment, product, sale, cart, view, told, charge]
    return [f"/admin/shop/{row._meta.model_name}/{row.pk}/change/" for row in made]


def act(staff: Client, path: str, action: str, *rows: Any, **more: str) -> str:
    """Run an action on rows and return the resulting page."""
    asked = {"action": action, "_selected_action": [str(row.pk) for row in rows], "index": "0", **more}
    response = staff.post(path, asked, follow=True)
    assert response.status_code == 200
    return str(response.content.decode())


def found(staff: Client, path: str, **asked: str) -> list[str]:
    """Return the keys of the rows in a list."""
    html = staff.get(path, asked).content.decode()
    return list(dict.fromkeys(re.findall(rf'href="{path}([^"/]+)/change/', html)))


# --- all models ------------------------------------------------------------------------------------


def test_lists_and_pages_take_a_constant_number_of_queries(staff: Client) -> None:
    few_pages = fill(0, 2)
    few: dict[str, int] = {}
    for path in [*EVERY, *few_pages]:
        staff.get(path)
        with record() as seen:
            page = staff.get(path)
        assert page.status_code == 200, path
        assert "(&#x27;" not in page.content.decode(), "something of Python's is shown"
        few[path] = len(seen.sql)
    many_pages = fill(2, 15)
    for path, before in [*zip(EVERY, EVERY, strict=True), *zip(many_pages, few_pages, strict=True)]:
        with record() as seen:
            assert staff.get(path).status_code == 200, path
        assert len(seen.sql) == few[before], path


def test_a_page_takes_a_constant_number_of_queries_for_any_lines(staff: Client, carol: User) -> None:
    seen = []
    for count in (1, 2, 12):
        products = [make_product(f"Book {n}") for n in range(count)]
        sale, order = make_sale(*products), make_order(None, *products, key=f"of {count}")
        for n in range(count):
            payment = Payment.objects.create(order=order, key=f"{count} {n}", amount=1, state=PaymentState.FAILED)
            record_step(order.pk, EventKind.REFUSED, payment=payment, by=carol)
        for path in (f"{SALES}{sale.pk}/change/", f"{ORDERS}{order.pk}/change/"):
            with record() as pages:
                assert f"Book {count - 1}" in staff.get(path).content.decode()
            seen.append(len(pages.sql))
    assert seen[2:4] == seen[4:6]


@pytest.mark.parametrize("path", EVERY)
def test_staff_without_permissions_see_nothing(client: Client, path: str) -> None:
    client.force_login(User.objects.create_user("dave", is_staff=True))
    assert client.get(path).status_code == 403
    client.force_login(User.objects.create_user("erin"))
    assert client.get(path).status_code == 302


def test_staff_with_view_permission_cannot_change_anything(client: Client) -> None:
    pages = fill(0, 1)
    dave = User.objects.create_user("dave", is_staff=True)
    dave.user_permissions.set(Permission.objects.filter(content_type__app_label="shop", codename__startswith="view_"))
    client.force_login(dave)
    order, product, sale = Order.objects.get(), Product.objects.get(), Sale.objects.get()
    for path in pages:
        assert client.get(path).status_code == 200, path
        assert client.post(path, {}).status_code == 403, path
    for path, action, row in [
        (ORDERS, "cancel_orders", order),
        (PRODUCTS, "withdraw", product),
        (SALES, "end_now", sale),
    ]:
        act(client, path, action, row, confirmed="yes")
        row.refresh_from_db()
    assert (order.state, product.is_active, sale.ends_at > timezone.now()) == (OrderState.RESERVED, True, True)


@pytest.mark.parametrize("path", [ORDERS, PAYMENTS, *LOOKED])
def test_rows_of_the_shop_are_neither_added_nor_deleted(staff: Client, path: str) -> None:
    rows = dict(zip(EVERY, fill(0, 1), strict=True))
    assert staff.get(f"{path}add/").status_code == 403
    assert staff.post(rows[path].replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in staff.get(path).content.decode()


# --- orders ---------------------------------------------------------------------------------------


@commits
def test_only_paid_orders_are_sent(staff: Client) -> None:
    product = make_product(stock=5)
    paid = make_order(None, product, key="1", state=OrderState.PAID, paid_at=timezone.now())
    waiting = make_order(None, product, key="2")
    assert "on the way" in act(staff, ORDERS, "mark_sent", paid, waiting)
    assert not Order.objects.filter(state=OrderState.SENT).exists()
    page = act(staff, ORDERS, "mark_sent", paid, waiting, confirmed="yes")
    assert "1 order was marked as sent." in page
    assert f"Not changed: #{waiting.pk} (it is not paid yet)" in page
    assert set(Order.objects.values_list("key", "state")) == {("1", OrderState.SENT), ("2", OrderState.RESERVED)}
    assert LogEntry.objects.get().object_id == str(paid.pk)
    assert paid.events.get().kind == EventKind.SENT


@commits
def test_orders_are_cancelled_after_confirmation_and_refunded(staff: Client) -> None:
    product = make_product(stock=5)
    order = make_order(None, product, state=OrderState.PAID, paid_at=timezone.now())
    payment = Payment.objects.create(order=order, key="p", amount=1250, state=PaymentState.SUCCEEDED)
    page = act(staff, ORDERS, "cancel_orders", order)
    assert "cannot be undone" in page
    order.refresh_from_db()
    assert order.state == OrderState.PAID
    assert "1 order was cancelled." in act(staff, ORDERS, "cancel_orders", order, confirmed="yes")
    for row in (order, product, payment):
        row.refresh_from_db()
    assert (order.state, product.stock, payment.status) == (OrderState.CANCELLED, 6, PaymentStatus.REFUND_DUE)


@commits
def test_sent_orders_are_refunded_once_with_an_email(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    emails: list[tuple[str, int]] = []
    monkeypatch.setattr("shop.emails.send_email_soon", lambda about, order_id: emails.append((about, order_id)))
    product = make_product()
    states = (OrderState.SENT, OrderState.PAID, OrderState.CANCELLED)
    sent, paid, gone = (make_order(None, product, key=state, state=state) for state in states)
    payment, other = (
        Payment.objects.create(order=order, key=order.key, amount=1250, state=PaymentState.SUCCEEDED)
        for order in (sent, paid)
    )
    refused = (
        f"Not changed: #{sent.pk} (its payment is refunded already); #{paid.pk} (it was not sent: cancel it instead);"
        f" #{gone.pk} (it was cancelled, which refunds what was paid)"
    )
    assert "€12.50, sent, left to refund: €12.50" in act(staff, ORDERS, "refund_orders", sent)
    for text in ("1 order will be refunded.", refused):
        page = act(staff, ORDERS, "refund_orders", sent, paid, gone, confirmed="yes")
        assert text in page
    for row in (payment, other):
        row.refresh_from_db()
    assert (payment.status, other.status) == (PaymentStatus.REFUND_DUE, PaymentStatus.SUCCEEDED)
    assert emails == [("refunded", sent.pk)]
    assert [event.why for event in sent.events.all()] == ["the shop refunded the order"]


def test_orders_tell_fulfilment_and_payment(staff: Client, carol: User) -> None:
    """The list, its filters, the file, the page and the buyer's JSON say the same of both states."""
    product, free = make_product(), make_product(price=0)
    paid, failed, surplus = PaymentState.SUCCEEDED, PaymentState.FAILED, PaymentState.SURPLUS
    # The payments by state, with the cents that are refunded and to be refunded.
    cases: list[tuple[OrderState, str, str, list[tuple[PaymentState, int, int]]]] = [
        (OrderState.RESERVED, "reserved", "unpaid", []),
        (OrderState.RESERVED, "reserved", "failed", [(failed, 0, 0)]),
        (OrderState.RESERVED, "reserved", "started", [(failed, 0, 0), (PaymentState.STARTED, 0, 0)]),
        (OrderState.PAID, "to send", "succeeded", [(paid, 0, 0), (failed, 0, 0)]),
        # The money of a second payment goes back, and the order stays paid.
        (OrderState.SENT, "sent", "succeeded", [(paid, 0, 0), (surplus, 1250, 0)]),
        (OrderState.SENT, "sent", "refunded", [(paid, 1250, 0), (failed, 0, 0)]),
        (OrderState.SENT, "sent", "partly refunded", [(paid, 250, 0)]),
        (OrderState.CANCELLED, "cancelled", "refund due", [(paid, 250, 1000)]),
        (OrderState.EXPIRED, "expired", "refunded", [(surplus, 1250, 0)]),
        (OrderState.SENT, "sent", "free", []),
    ]
    orders = []
    for number, (state, _, payment, payments) in enumerate(cases):
        book = free if payment == "free" else product
        order = make_order(carol, book, key=str(number), state=state, paid_at=timezone.now())
        for count, (each, refunded, due) in enumerate(payments):
            sums = {"amount": 1250, "refunded": refunded, "refund_due": due}
            Payment.objects.create(order=order, key=f"{number} {count}", state=each, **sums)
        orders.append(order)
    Order.objects.filter(state=OrderState.RESERVED).update(paid_at=None)
    lines = read_csv(staff, ORDERS, *orders)
    refunded_sums = [line[lines[0].index("refunded_in_cents")] for line in lines[1:]]
    assert refunded_sums == ["0", "0", "0", "0", "0", "1250", "250", "250", "0", "0"]
    columns = [lines[0].index(name) for name in ("state", "fulfilment", "payment")]
    assert [tuple(line[column] for column in columns) for line in lines[1:]] == [case[:3] for case in cases]
    for payment in {case[2] for case in cases}:
        expected = [str(order.pk) for order, case in zip(orders, cases, strict=True) if case[2] == payment]
        assert found(staff, ORDERS, payment=payment) == expected[::-1], payment
    assert found(staff, ORDERS, payment="refunded", state__exact="sent") == [str(orders[5].pk)]
    page = staff.get(f"{ORDERS}{orders[5].pk}/change/").content.decode()
    shown = re.findall(r'class="readonly[^>]*>(.*?)</div>', page, re.S)
    assert [re.sub("<[^>]*>", "", text).strip() for text in shown[:2]] == ["sent", "refunded"]
    buyer = Client()
    buyer.force_login(carol)
    listed = buyer.get("/shop/orders/", headers={"Accept": "application/json"}).json()["results"]
    assert [(each["state"], each["fulfilment"], each["payment"]) for each in listed[::-1]] == [c[:3] for c in cases]
    # The buyer's pages say both in one status.
    html = buyer.get("/shop/orders/").content.decode()
    assert re.findall(r'<p class="badge state (.*?)">(.*?)</p>', html)[::-1] == [
        ("reserved", "Waiting for payment"),
        ("reserved", "Payment failed"),
        ("reserved", "Waiting for the payment provider"),
        ("paid", "To be sent"),
        ("sent", "Sent"),
        ("sent", "Sent, refunded"),
        ("sent", "Sent, refunded in part"),
        ("cancelled", "Cancelled, to be refunded"),
        ("expired", "Not paid in time, refunded"),
        ("sent", "Sent"),
    ]
    html = buyer.get(f"/shop/orders/{orders[5].pk}/").content.decode()
    assert '<p class="badge state sent">Sent, refunded</p>' in html


def read_csv(client: Client, path: str, *rows: Any) -> list[list[str]]:
    asked = {"action": "export_csv", "_selected_action": [str(row.pk) for row in rows], "select_across": "1"}
    response = client.post(path, asked)
    assert response.streaming
    assert response["Content-Disposition"].startswith("attachment")
    return list(csv.reader(response.getvalue().decode().splitlines()))


def test_orders_are_downloaded_with_only_the_personal_data_that_staff_may_change(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.admin_tools.export.SLICE_SIZE", 2)
    orders = [make_order(None, make_product(), key=str(n), name="=cmd()") for n in range(5)]
    for verb, has_names in (("view", False), ("change", True)):
        clerk = User.objects.create_user(f"clerk {verb}", is_staff=True)
        clerk.user_permissions.set(Permission.objects.filter(codename=f"{verb}_order"))
        client.force_login(clerk)
        header, *lines = read_csv(client, ORDERS, orders[0])
        assert [line[0] for line in lines] == [str(order.pk) for order in orders]
        assert ("name" in header) == has_names
        assert all(("'=cmd()" in line) == has_names for line in lines)
    assert AuditEvent.objects.filter(kind=AuditEvent.Kind.EXPORT, object="orders.csv").count() == 2


def test_sales_and_readers_are_downloaded(staff: Client, carol: User) -> None:
    sale = make_sale(make_product(), price=100)
    assert read_csv(staff, SALES, sale)[1][0] == sale.name
    assert read_csv(staff, "/admin/accounts/user/", carol)[1][0] == "carol"
    product = make_product("Emma", price=1250)
    assert read_csv(staff, PRODUCTS, product)[-1][2:4] == ["Emma", "1250"]
    assert read_csv(staff, "/admin/catalog/book/", product.book)[-1][1] == "Emma"
    payment = Payment.objects.create(order=make_order(None, product), key="p", amount=1250, refunded=50)
    assert read_csv(staff, PAYMENTS, payment)[-1][1:4] == ["started", "1250", "50"]


def test_only_the_address_of_an_order_can_be_edited(staff: Client) -> None:
    order = make_order(None, make_product())
    way = f"{ORDERS}{order.pk}/change/"
    inlines = {
        f"{n}-{w}": "0" for n in ("lines", "payments", "invoices", "events") for w in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    asked = {"name": "Ann", "email": "ann@example.org", "address": "Elsewhere", "state": "paid", "total": "1"}
    assert staff.post(way, asked | inlines).status_code == 302
    order.refresh_from_db()
    assert (order.name, order.address, order.state, order.total) == ("Ann", "Elsewhere", OrderState.RESERVED, 1250)


def test_saving_an_order_keeps_concurrent_changes_of_its_state(staff: Client) -> None:
    """Django would write every field that it has read."""
    order = make_order(None, make_product())
    order.name = "Ann"
    Order.objects.filter(pk=order.pk).update(state=OrderState.PAID)

    class Form:
        changed_data = ("name",)

    from shop.admin.orders import OrderAdmin

    OrderAdmin(Order, None).save_model(None, order, Form, True)  # type: ignore[arg-type]
    order.refresh_from_db()
    assert (order.state, order.name) == (OrderState.PAID, "Ann")


def test_orders_are_found_by_number_customer_address_and_state(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = User.objects.create_user("Alice A")
    product = make_product()
    first = make_order(alice, product, key="1", state=OrderState.SENT)
    second = make_order(None, product, key="2")
    Order.objects.filter(pk=first.pk).update(email="alice@example.org")
    for q, wanted in {
        str(first.pk): [first],
        f"#{second.pk}": [second],
        "@alice a": [first],
        "@nobody": [],
        "ALICE@": [first],
        "": [second, first],
    }.items():
        assert found(staff, ORDERS, q=q) == [str(order.pk) for order in wanted], q
    assert found(staff, ORDERS, state__exact="sent") == [str(first.pk)]
    monkeypatch.setattr("shop.admin.orders.page.MAX_SEARCHED_ORDERS", 1)
    assert found(staff, ORDERS, q="example.org") == [str(second.pk)]  # searched among the newest orders


def test_an_action_on_too_many_rows_is_refused(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AuditedAdmin, "max_selected", 1)
    orders = [make_order(None, make_product(), key=str(n), state=OrderState.PAID) for n in range(2)]
    assert "choose at most 1" in act(staff, ORDERS, "mark_sent", *orders, confirmed="yes")
    assert "choose at most 1" in act(staff, ORDERS, "cancel_orders", *orders)
    assert not Order.objects.exclude(state=OrderState.PAID).exists()


def test_payments_are_found_by_order_key_and_state(staff: Client) -> None:
    fill(0, 2)
    one, other = Payment.objects.order_by("pk")
    Payment.objects.filter(pk=one.pk).update(state=PaymentState.FAILED)
    assert found(staff, PAYMENTS, q=f"#{other.order_id}") == found(staff, PAYMENTS, q="pay 1") == [str(other.pk)]
    assert found(staff, PAYMENTS, state__exact="failed") == [str(one.pk)]


# --- products -------------------------------------------------------------------------------------


def edit(staff: Client, product: Product, *, shown: int | str, **typed: str) -> str:
    """Send a product's form whose page showed this stock."""
    asked = {"price": "12.50", "stock": str(shown), "is_active": "on", "initial-stock": str(shown)}
    asked |= {"grams": "400", "vat_class": "book"} | typed
    response = staff.post(f"{PRODUCTS}{product.pk}/change/", asked, follow=True)
    assert response.status_code == 200
    product.refresh_from_db()
    return response.content.decode()


def test_a_price_is_typed_in_units_and_stored_in_cents(staff: Client) -> None:
    product = make_product(price=1250, stock=3)
    html = staff.get(f"{PRODUCTS}{product.pk}/change/").content.decode()
    assert 'value="12.50"' in html
    edit(staff, product, shown=3, price="7.05")
    assert (product.price, product.stock) == (705, 3)
    for bad in ("-1", "1.005", "x", ""):
        edit(staff, product, shown=3, price=bad)
        assert product.price == 705, bad


def test_the_stock_changes_by_the_typed_difference(staff: Client) -> None:
    """Two copies are sold while the form is open."""
    product = make_product(stock=10)
    Product.objects.filter(pk=product.pk).update(stock=8)
    edit(staff, product, shown=10, stock="15")
    assert product.stock == 13
    edit(staff, product, shown=13, price="1")
    assert product.stock == 13
    edit(staff, product, shown="", stock="20")  # a form without the shown stock
    assert product.stock == 20


def test_concurrent_changes_of_other_fields_stay(staff: Client) -> None:
    product = make_product(price=1250, stock=10)
    way = f"{PRODUCTS}{product.pk}/change/"
    html = staff.get(way).content.decode()
    shown = dict(re.findall(r'<input[^>]*name="((?:initial-)?(?:price|stock|is_active))"[^>]* value="([^"]*)"', html))
    assert set(shown) >= {"initial-price", "initial-stock", "initial-is_active"}
    Product.objects.update(price=2000, is_active=False)
    assert staff.post(way, shown | {"is_active": "on", "stock": "11"}).status_code == 302
    product.refresh_from_db()
    assert (product.price, product.is_active, product.stock) == (2000, False, 11)
    shown["initial-price"] = "20.00"
    assert staff.post(way, shown | {"price": "9.00"}).status_code == 302  # without "is_active", as an unticked box
    product.refresh_from_db()
    assert (product.price, product.is_active) == (900, False)


def test_the_stock_never_falls_below_the_reserved_copies(staff: Client) -> None:
    product = make_product(stock=10, reserved=4)
    page = edit(staff, product, shown=10, stock="3")
    assert "4 copies are reserved for orders: the stock cannot be lower." in page
    assert product.stock == 10
    edit(staff, product, shown=10, stock="4")
    assert product.stock == 4


def test_copies_reserved_in_the_last_moment_stay(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    product = make_product(stock=10)
    change = services.change_stock

    def later(product_id: int, by: int) -> bool:
        Product.objects.filter(pk=product_id).update(reserved=F("reserved") + 9)
        return change(product_id, by)

    monkeypatch.setattr(services, "change_stock", later)
    assert "The stock was not changed" in edit(staff, product, shown=10, stock="5", price="1")
    assert (product.stock, product.reserved, product.price) == (10, 9, 100)


def test_a_book_becomes_a_product_once(staff: Client) -> None:
    book = make_book("Emma")
    asked = {
        "book": str(book.pk),
        "price": "9.99",
        "stock": "4",
        "is_active": "on",
        "grams": "400",
        "vat_class": "book",
    }
    assert staff.post(f"{PRODUCTS}add/", asked).status_code == 302
    product = Product.objects.get(pk=book.pk)
    assert (product.price, product.stock) == (999, 4)
    response = staff.post(f"{PRODUCTS}add/", asked | {"price": "1"})
    assert response.status_code == 200
    assert Product.objects.get().price == 999


def test_copies_are_added_to_many_at_once(staff: Client) -> None:
    one, other, third = make_product(stock=1), make_product(stock=2, reserved=1), make_product(stock=3)
    page = act(staff, PRODUCTS, "add_copies", one, other, copies="10")
    assert f"{one}: 1 → 11" in page
    shown = {"copies": "10", "shown": re.findall(r'name="shown" value="([^"]*)"', page)[0], "confirmed": "yes"}
    assert "Copies were added to 2 products" in act(staff, PRODUCTS, "add_copies", one, other, **shown)
    again = act(staff, PRODUCTS, "add_copies", one, other, **shown)  # a double click, or the button "back"
    assert f"Not changed: {one}, {other} (the stock was changed meanwhile)" in again
    assert list(Product.objects.order_by("pk").values_list("stock", flat=True)) == [11, 12, third.stock]
    for bad in ("", "0", "-5", "x", "100001"):
        assert "Enter a number up to" in act(staff, PRODUCTS, "add_copies", one, copies=bad)
    assert LogEntry.objects.count() == 2


def test_products_are_offered_and_withdrawn(staff: Client) -> None:
    one, other = make_product(), make_product(is_active=False)
    assert "1 product is now for sale." in act(staff, PRODUCTS, "offer", one, other)
    assert "2 products are no longer for sale." in act(staff, PRODUCTS, "withdraw", one, other)
    assert not Product.objects.for_sale().exists()


def test_products_are_found_by_title_and_availability(staff: Client) -> None:
    emma, moss = make_product("Emma", stock=0), make_product("Moss", stock=3)
    many = make_product("Many", stock=300)
    assert found(staff, PRODUCTS, q="emm") == [str(emma.pk)]
    for left, product in (("none", emma), ("few", moss), ("many", many)):
        assert found(staff, PRODUCTS, left=left) == [str(product.pk)]
    picked = staff.get(
        "/admin/autocomplete/",
        {"term": "mo", "app_label": "shop", "model_name": "saleitem", "field_name": "product"},
    ).json()
    assert [result["text"] for result in picked["results"]] == ["Moss"]


def test_prices_change_by_percent_or_amount_after_a_preview(staff: Client) -> None:
    emma, moss, cheap = (
        make_product("Emma", price=1250),
        make_product("Moss", price=333),
        make_product("Cheap", price=20),
    )
    for typed in ("", "10", "10%", "+", "+1.005", "-1001%", "--1", "+1e3"):
        assert "Enter a change such as" in act(
            staff, PRODUCTS, "change_prices", emma, price_change=typed, confirmed="yes"
        )
    page = act(staff, PRODUCTS, "change_prices", emma, moss, price_change="+10%")
    assert "Emma: €12.50 → €13.75" in page
    assert "Moss: €3.33 → €3.66" in page
    shown = re.findall(r'name="shown" value="([^"]*)"', page)[0]
    Product.objects.filter(pk=moss.pk).update(price=400)  # between preview and confirmation
    page = act(staff, PRODUCTS, "change_prices", emma, moss, price_change="+10%", shown=shown, confirmed="yes")
    assert "1 price was changed." in page
    assert "Not changed: Moss" in page
    assert AuditEvent.objects.get(kind="staff").details == "Change. Emma: €12.50 → €13.75"
    shown = f"{emma.pk}:1375 {cheap.pk}:20"
    act(staff, PRODUCTS, "change_prices", emma, cheap, price_change=" -2,50", shown=shown, confirmed="yes")
    page = act(staff, PRODUCTS, "change_prices", emma, cheap, price_change="-2.50")
    assert "Not changed: Cheap (the price would be too high, zero or negative)" in page
    assert "Cheap: €0.20" not in page
    assert "Emma: €11.25 → €12.38" in act(staff, PRODUCTS, "change_prices", emma, price_change="＋１０％")
    for typed in ("-200%", "-100%"):
        assert "Change these prices?" not in act(staff, PRODUCTS, "change_prices", emma, cheap, price_change=typed)
    shown = f"{cheap.pk}:20"
    page = act(staff, PRODUCTS, "change_prices", cheap, price_change="-0.20", shown=shown, confirmed="yes")
    assert "Not changed: Cheap" in page
    assert dict(Product.objects.values_list("book__title", "price")) == {"Emma": 1125, "Moss": 400, "Cheap": 20}


@pytest.mark.parametrize(("currency", "hint"), [("EUR", "+10% or -2.50"), ("JPY", "+10% or -250")])
def test_the_hint_of_price_changes_fits_the_currency(
    staff: Client, settings: Settings, currency: str, hint: str
) -> None:
    settings.SHOP_CURRENCY = currency
    emma = make_product("Emma")
    assert f'placeholder="{hint}"' in staff.get(PRODUCTS).content.decode()
    assert f"Enter a change such as {hint} next" in act(staff, PRODUCTS, "change_prices", emma, price_change="x")


# --- sales ----------------------------------------------------------------------------------------

WHEN = {
    "name": "Autumn",
    "starts_at_0": "2026-01-01",
    "starts_at_1": "00:00",
    "ends_at_0": "2030-01-01",
    "ends_at_1": "00:00",
}


def items(*prices: tuple[Product, str], known: list[SaleItem] | None = None) -> dict[str, str]:
    """Return the lines of a sale's form. The first ``known`` lines exist already."""
    known = known or []
    asked = {"items-TOTAL_FORMS": str(len(prices)), "items-INITIAL_FORMS": str(len(known))}
    for n, (product, price) in enumerate(prices):
        asked |= {f"items-{n}-product": str(product.pk), f"items-{n}-price": price}
        if n < len(known):
            asked[f"items-{n}-id"] = str(known[n].pk)
    return asked


def test_a_sale_is_created_and_changed_with_its_products(staff: Client) -> None:
    emma, moss = make_product("Emma", price=1250), make_product("Moss", price=700)
    assert staff.post(f"{SALES}add/", WHEN | items((emma, "9.99"))).status_code == 302
    sale = Sale.objects.get()
    item = sale.items.get()
    assert (item.product, item.price) == (emma, 999)
    page = staff.get(f"{SALES}{sale.pk}/change/").content.decode()
    assert 'value="9.99"' in page
    assert "Emma" in page
    page = staff.post(
        f"{SALES}{sale.pk}/change/", WHEN | items((emma, "8"), (moss, "7.00"), known=[item]), follow=True
    ).content.decode()
    assert set(sale.items.values_list("product", "price")) == {(emma.pk, 800), (moss.pk, 700)}
    assert "not lower than the usual prices: Moss" in page


@pytest.mark.django_db(transaction=True)
def test_products_of_a_tag_join_a_sale_at_a_percentage(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    emma, moss, gone, other = (make_product(name, price=1255) for name in ("Emma", "Moss", "Gone", "Other"))
    Product.objects.filter(pk=gone.pk).update(is_active=False)
    tag = Tag.objects.create(name="classics")
    for product in (emma, moss, gone):
        product.book.tags.add(tag)
    form = WHEN | items((emma, "9.99"))
    for given, text in (
        ({"tag": "Classics"}, "Enter both a tag and a percentage."),
        ({"tag": "nothing", "percent": "30"}, "There is no tag called “nothing”."),
        ({"tag": "classics", "percent": "100"}, "Enter a number up to 99"),
    ):
        page = staff.post(f"{SALES}add/", form | given).content.decode()
        assert text in page
        assert ("Enter both" in page) == ("percent" not in given)
    page = staff.get(f"{SALES}add/").content.decode()
    assert '<option value="classics"></option>' in page, "the tags of the most read books"
    rebuild()
    page = staff.post(f"{SALES}add/", form | {"tag": "clasics", "percent": "30"}).content.decode()
    assert "There is no tag called “clasics”. Similar tags: classics." in page
    assert 'value="clasics"' in page
    refused = staff.post(f"{SALES}add/", form | {"tag": "classics", "percent": "1500"})
    assert refused.context["adminform"].form.errors == {"percent": ["Enter a number up to 99."]}
    with monkeypatch.context() as few:
        few.setattr("shop.admin.forms.MAX_TAGGED_PRODUCTS", 1)
        given = {"tag": "classics", "percent": "30"}
        assert "More than 1 products" in staff.post(f"{SALES}add/", form | given).content.decode()
    assert not Sale.objects.exists()
    TagAlias.objects.create(name="old books", tag=tag)
    page = staff.post(f"{SALES}add/", form | {"tag": "OLD Books", "percent": "30"}, follow=True).content.decode()
    assert "1 product was added to the sale." in page
    assert set(SaleItem.objects.values_list("product", "price")) == {(emma.pk, 999), (moss.pk, 879)}
    assert other.sale_items.count() == 0
    entries = [entry.get_change_message() for entry in LogEntry.objects.all()]
    added = "Added 1 book with the tag “classics” at 30% less, from 1 Jan 2026, 00:00 to 1 Jan 2030, 00:00."
    assert added in entries


@pytest.mark.django_db(transaction=True)
def test_no_product_is_free_in_a_sale_by_a_slip(staff: Client) -> None:
    emma, cheap, gift = (
        make_product(name, price=price) for name, price in (("Emma", 1250), ("Cheap", 40), ("Gift", 0))
    )
    tag = Tag.objects.create(name="classics")
    for product in (emma, cheap, gift):
        product.book.tags.add(tag)
    page = staff.post(f"{SALES}add/", WHEN | items((emma, "0"))).content.decode()
    assert "Enter a price above zero." in page
    form = WHEN | items() | {"tag": "classics"}
    page = staff.post(f"{SALES}add/", form | {"percent": "99"}).content.decode()
    assert "These products would be free: Cheap<" in page
    assert not Sale.objects.exists()
    assert staff.post(f"{SALES}add/", form | {"percent": "90"}).status_code == 302
    assert set(SaleItem.objects.values_list("product", "price")) == {(emma.pk, 125), (cheap.pk, 4)}


def test_a_blank_line_of_a_sale_is_ignored(staff: Client) -> None:
    """Every page ends with a blank line."""
    emma = make_product("Emma")
    blank = {"items-TOTAL_FORMS": "2", "items-1-product": "", "items-1-price": ""}
    assert staff.post(f"{SALES}add/", WHEN | items((emma, "9.99")) | blank).status_code == 302
    assert SaleItem.objects.get().product == emma


def test_a_sale_must_end_after_its_start(staff: Client) -> None:
    response = staff.post(f"{SALES}add/", WHEN | {"ends_at_0": "2025-01-01"} | items())
    assert "A sale ends after it starts." in response.content.decode()
    assert not Sale.objects.exists()


def test_a_product_is_in_a_sale_once(staff: Client) -> None:
    emma = make_product("Emma")
    assert staff.post(f"{SALES}add/", WHEN | items((emma, "1"), (emma, "2"))).status_code == 200
    assert not Sale.objects.exists()


def test_only_current_sales_are_ended(staff: Client) -> None:
    on, over, to_come = make_sale(), make_sale(starts_in=-3, hours=-2), make_sale(starts_in=1, hours=2)
    assert "1 sale has ended." in act(staff, SALES, "end_now", on, over, to_come)
    assert list(Sale.objects.running_at(timezone.now())) == []
    for sale, is_changed in ((on, True), (over, False), (to_come, False)):
        before = sale.ends_at
        sale.refresh_from_db()
        assert (sale.ends_at != before) is is_changed


def test_a_sale_is_deleted_without_reading_each_of_its_products(staff: Client) -> None:
    sale = make_sale(*(make_product() for _ in range(12)))
    way = f"{SALES}{sale.pk}/delete/"
    staff.get(way)
    with record() as seen:
        page = staff.get(way).content.decode()
    assert "12" in page
    assert len(seen.sql) < 10
    staff.post(way, {"post": "yes"})
    assert not Sale.objects.exists()


# --- rows of the shop itself ----------------------------------------------------------------


def test_carts_show_contents_and_recommendations_show_scores(staff: Client) -> None:
    pages = dict(zip(EVERY, fill(0, 1), strict=True))
    assert "2 × Book number 0" in staff.get(pages["/admin/shop/cart/"]).content.decode()
    assert "2.5  Book number 0" in staff.get(pages["/admin/shop/recommendation/"]).content.decode()


@pytest.mark.parametrize("path", LOOKED[:2])
def test_carts_and_views_are_found_by_their_user(staff: Client, path: str) -> None:
    fill(0, 2)
    assert "reader 0" not in staff.get(path, {"q": "Reader 1"}).content.decode()
    assert "reader 1" in staff.get(path, {"q": "@reader 1"}).content.decode()
