"""Concurrent edits in the admin, and actions on many rows: no edit is lost and every failure is reported."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from accounts.models import User
from shop.models import Order, OrderState, Product, Sale, SaleItem
from shop.services import products as services
from tests.shop.test_shop_admin import ORDERS, PRODUCTS, SALES, act
from tests.support.shop.checkouts import run_together
from tests.support.shop.make import make_order, make_product, make_sale
from tests.support.site.admin_forms import page_of, save

pytestmark = pytest.mark.django_db(transaction=True)
TOLD = "Someone else changed this"


def form_in(response: Any) -> dict[str, str]:
    """Return the fields that a browser would send from the page without edits."""
    form = response.context["adminform"].form
    forms = [form, *(item for inline in response.context["inline_admin_formsets"] for item in inline.formset)]
    managers = [inline.formset.management_form for inline in response.context["inline_admin_formsets"]]
    html = "".join(str(bound) for one in [*forms, *managers] for bound in one)
    found = {}
    for tag in re.findall(r"<(?:input|textarea)[^>]*>(?:[^<]*</textarea>)?", html):
        (name,) = re.findall(r' name="([^"]+)"', tag)
        is_box = 'type="checkbox"' in tag
        value = re.search(r' value="([^"]*)"', tag) or re.search(r">\n?([^<]*)</textarea>", tag)
        if not is_box or " checked" in tag:
            found[name] = value[1].replace("\n", "\r\n") if value else "on" if is_box else ""
    for select in re.findall(r"<select[^>]*>.*?</select>", html, flags=re.S):
        chosen = re.search(r'<option value="([^"]*)" selected', select)
        if chosen and not re.search(r" disabled[ >=]", select.partition(">")[0] + ">"):
            found[re.findall(r' name="([^"]+)"', select)[0]] = chosen[1]
    return found


# --- concurrent edits ------------------------------------------------------------------------------


def test_untouched_fields_of_an_order_keep_their_new_values(staff: Client) -> None:
    order = make_order(None, make_product())
    shown = form_in(staff.get(page_of(order)))
    assert (shown["address"], shown["initial-address"]) == ("B", "B")
    Order.objects.update(address="9 Far Street", email="new@example.org")
    assert TOLD not in save(staff, order, shown | {"name": "Ann"})
    assert (order.name, order.address, order.email) == ("Ann", "9 Far Street", "new@example.org")


def test_untouched_fields_of_a_sale_keep_their_new_values(staff: Client) -> None:
    """A sale that a colleague has ended must stay ended when its name is corrected."""
    emma = make_product("Emma")
    sale = make_sale(emma, price=500)
    shown = form_in(staff.get(page_of(sale)))
    act(staff, SALES, "end_now", sale)
    ended = Sale.objects.get().ends_at
    SaleItem.objects.update(price=300)
    assert TOLD not in save(staff, sale, shown | {"name": "Autumn"})
    assert (sale.name, sale.ends_at, sale.items.get().price) == ("Autumn", ended, 300)


def test_an_untouched_multi_line_address_counts_as_unchanged(staff: Client) -> None:
    """Browsers send other line endings than the stored ones."""
    order = make_order(None, make_product())
    Order.objects.update(address="1 Long Lane\nLondon ")
    shown = form_in(staff.get(page_of(order)))
    assert TOLD not in save(staff, order, shown | {"address": "2 Long Lane\r\nLondon"})
    assert order.address == "2 Long Lane\nLondon"


@pytest.mark.parametrize(
    ("kind", "field", "theirs", "shown_as", "mine"),
    [
        ("order", "address", "9 Far Street", "9 Far Street", "1 Near Street"),
        ("product", "price", 999, "9.99", "7.00"),
        ("sale", "name", "Summer", "Summer", "Autumn"),
    ],
)
def test_a_conflicting_edit_is_refused_once_and_saved_the_second_time(
    staff: Client, kind: str, field: str, theirs: Any, shown_as: str, mine: str
) -> None:
    product = make_product()
    row: Any = {"order": make_order(None, product), "product": product, "sale": make_sale(product)}[kind]
    shown = form_in(staff.get(page_of(row)))
    type(row).objects.filter(pk=row.pk).update(**{field: theirs})
    response = staff.post(page_of(row), shown | {field: mine})
    assert response.status_code == 200
    assert f"{TOLD} to: {shown_as}." in response.content.decode()
    row.refresh_from_db()
    assert getattr(row, field) == theirs
    again = form_in(response)
    assert again[field] == mine
    assert TOLD not in save(staff, row, again)
    assert str(getattr(row, field)) == mine.replace(".", "")


def test_a_conflict_names_the_new_end_of_a_sale(staff: Client) -> None:
    sale = make_sale(make_product())
    shown = form_in(staff.get(page_of(sale)))
    Sale.objects.update(ends_at="2031-05-06T07:08:09.5Z")
    page = save(staff, sale, shown | {"ends_at_0": "2032-01-01"})
    assert re.search(rf"{TOLD} to: 2031-05-0\d \d\d:\d\d:09\.", page)
    assert sale.ends_at.year == 2031


def test_two_equal_edits_do_not_conflict(staff: Client) -> None:
    order = make_order(None, make_product())
    shown = form_in(staff.get(page_of(order)))
    Order.objects.update(address="9 Far Street")
    assert TOLD not in save(staff, order, shown | {"address": "9 Far Street"})


def test_one_of_two_simultaneous_saves_reports_a_conflict(carol: User) -> None:
    order = make_order(None, make_product())
    desks = [Client(), Client()]
    for desk in desks:
        desk.force_login(carol)
    shown = form_in(desks[0].get(page_of(order)))

    def submit(n: int) -> int:
        return desks[n].post(page_of(order), shown | {"name": f"Name {n}"}).status_code

    assert sorted(run_together(2, submit), key=str) == [200, 302]


def test_editing_a_removed_product_of_a_sale_reports_the_removal(staff: Client) -> None:
    sale = make_sale(make_product("Emma"))
    shown = form_in(staff.get(page_of(sale)))
    SaleItem.objects.all().delete()
    response = staff.post(page_of(sale), shown | {"items-0-price": "3.00"})
    assert response.status_code == 200
    assert not SaleItem.objects.exists()


# --- actions on many rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("broken_first", [True, False])
def test_an_order_with_missing_copies_does_not_stop_the_others(staff: Client, broken_first: bool) -> None:
    """Its product has fewer reserved copies than its orders need."""
    good, bad = make_product(stock=5, reserved=1), make_product(stock=5)
    orders = {p: make_order(None, p, key=str(p.pk)) for p in ([bad, good] if broken_first else [good, bad])}
    page = act(staff, ORDERS, "cancel_orders", *orders.values(), confirmed="yes")
    assert "1 order was cancelled." in page
    assert f"Not changed: #{orders[bad].pk} (not enough copies in stock)" in page
    states = dict(Order.objects.values_list("pk", "state"))
    assert states == {orders[good].pk: OrderState.CANCELLED, orders[bad].pk: OrderState.RESERVED}
    good.refresh_from_db()
    assert (good.stock, good.reserved) == (5, 0)
    assert LogEntry.objects.get().object_id == str(orders[good].pk)


def test_each_unchanged_row_is_listed_with_its_reason(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    product = make_product(stock=5)
    paid, odd = (make_order(None, product, key=k, state=OrderState.PAID, paid_at=timezone.now()) for k in "12")
    waiting, gone = make_order(None, product, key="3"), make_order(None, product, key="4", state=OrderState.CANCELLED)
    monkeypatch.setattr("shop.admin.orders.steps.mark_order_sent", failing_for(odd))
    page = act(staff, ORDERS, "mark_sent", paid, odd, waiting, gone, confirmed="yes")
    assert "1 order was marked as sent." in page
    for words in (
        f"#{odd.pk} (an error: see the log)",
        f"#{waiting.pk} (it is not paid yet)",
        f"#{gone.pk} (it was cancelled)",
    ):
        assert words in page
    assert set(Order.objects.values_list("key", "state")) == {
        ("1", OrderState.SENT), ("2", OrderState.PAID), ("3", OrderState.RESERVED), ("4", OrderState.CANCELLED),
    }  # fmt: skip


def test_rows_in_the_target_state_do_not_count_as_changed(staff: Client) -> None:
    sent = make_order(None, make_product(), state=OrderState.SENT, paid_at=timezone.now())
    page = act(staff, ORDERS, "mark_sent", sent, confirmed="yes")
    assert "0 orders were marked as sent." in page
    assert f"Not changed: #{sent.pk} (sent)" in page
    assert not LogEntry.objects.exists()


def failing_for(order: Order) -> Any:
    """Return a ``send`` that fails for this order."""
    from shop.services.orders import mark_order_sent

    def one(pk: int, by: User) -> Order:
        if pk == order.pk:
            raise RuntimeError
        return mark_order_sent(pk, by)

    return one


def test_a_product_that_would_exceed_the_stock_limit_is_listed(staff: Client) -> None:
    few, most = make_product("Few", stock=1), make_product("Most", stock=services.MAX_STOCK)
    page = act(staff, PRODUCTS, "add_copies", few, most, copies="5")
    assert "Not changed: Most (the maximum would be exceeded)" in page
    shown = f"{few.pk}:1 {most.pk}:{services.MAX_STOCK}"
    page = act(staff, PRODUCTS, "add_copies", few, most, copies="5", shown=shown, confirmed="yes")
    assert "Copies were added to 1 product." in page
    assert dict(Product.objects.values_list("pk", "stock")) == {few.pk: 6, most.pk: services.MAX_STOCK}
    assert LogEntry.objects.get().object_id == str(few.pk)
