"""Links on the pages of a reader, a book and a product in the admin: each leads to the rows that it counts."""

import re
from datetime import timedelta
from html import unescape
from typing import Any, Final

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.utils import timezone

from accounts.lockout.models import FailedLogins
from accounts.models import User
from config.roles import make_roles
from mirror.redis.recorder import record
from shop.carts.rules import CartLine
from shop.models import Cart, Order, OrderState, Payment, PaymentState, Sale, SaleItem
from social.models import Follow, Post
from social.moderation.models import Case
from tests.support.shop.make import make_order, make_product

pytestmark = pytest.mark.django_db

MAX_STATEMENTS: Final = 30
LINK: Final = re.compile(r'<dt>([^<]*)</dt><dd><a href="([^"]*)">([^<]*)</a>')


def read_links(client: Client, path: str) -> dict[str, tuple[str, str]]:
    """Return value and address by label."""
    with record() as seen:
        response = client.get(path)
    assert response.status_code == 200
    assert len(seen.sql) <= MAX_STATEMENTS
    nav = re.search(r'<nav class="own".*?</nav>', response.content.decode(), re.DOTALL)
    found = LINK.findall(nav[0]) if nav else []
    return {label: (value, unescape(address)) for label, address, value in found}


def log_in_as(role: str) -> Client:
    user = User.objects.create_user(f"a {role or 'superuser'}", is_staff=True, is_superuser=not role)
    user.groups.set(Group.objects.filter(name=role))
    client = Client()
    client.force_login(user)
    return client


def make_orders(reader: User) -> Any:
    """Return a product of which the reader bought two copies, one partly refunded, and of which one is reserved."""
    product, now = make_product("A book", price=1250, stock=7), timezone.now()
    for state in (OrderState.SENT, OrderState.SENT, OrderState.CANCELLED, OrderState.RESERVED):
        paid_at = None if state == OrderState.RESERVED else now
        order = make_order(reader, product, key=str(Order.objects.count()), state=state, paid_at=paid_at)
        if paid_at:
            Payment.objects.create(order=order, key=order.key, amount=1250, state=PaymentState.SUCCEEDED)
    Payment.objects.filter(order__state="cancelled").update(refunded=1250)
    Payment.objects.filter(key="1").update(refunded=250)
    return product


def test_page_of_a_reader_leads_to_orders_spending_carts_and_cases() -> None:
    make_roles(Group, Permission)
    reader = User.objects.create_user("alice", email="alice@example.org")
    product = make_orders(reader)
    cart = Cart(digest="a" * 64, user=reader)
    cart.content = {product.pk: CartLine(3, 1250, 1)}
    cart.save()
    for key, name in (("1", "alice"), ("2", "alice@example.org"), ("3", "bob")):
        FailedLogins.objects.create(key=key, kind="pair", name=name, count=9, allowed=5, ends_at=timezone.now())
    Case.objects.create(kind="reader", target=str(reader.pk), author=reader)
    Case.objects.create(kind="post", target="1", author=reader, closed_at=timezone.now())
    Post.objects.create(user=reader, text="Hello")
    Follow.objects.create(follower=User.objects.create_user("bob"), followee=reader)
    path = f"/admin/accounts/user/{reader.pk}/change/"
    found = read_links(log_in_as(""), path)
    assert {label: value for label, (value, _) in found.items()} == {
        "failed logins": "2",
        "actions in the audit log": "0",
        "orders": "4",
        "spent": "€22.50",
        "copies in carts": "3",
        "posts": "1",
        "followers": "1",
        "followed": "0",
        "open cases": "1",
        "decided cases": "1",
    }
    counted = {"spent": 2, "copies in carts": 1}
    carol = log_in_as("support")
    shown = read_links(carol, path)
    assert set(shown) == {"failed logins", "actions in the audit log", "orders", "spent", "copies in carts", "posts"}
    superuser = Client()
    superuser.force_login(User.objects.get(username="a superuser"))
    for label, (value, address) in found.items():
        rows = superuser.get(address).context["cl"].result_count
        assert rows == counted.get(label, None if value.startswith("€") else int(value)), label
    assert all(carol.get(address).status_code == 200 for _, address in shown.values())


def test_pages_of_book_and_product_lead_to_each_other_to_stock_and_sales() -> None:
    make_roles(Group, Permission)
    product = make_orders(User.objects.create_user("alice"))
    sale = Sale.objects.create(name="Spring", starts_at=timezone.now(), ends_at=timezone.now() + timedelta(days=1))
    SaleItem.objects.create(sale=sale, product=product, price=1000)
    staff = log_in_as("")
    book = read_links(staff, f"/admin/catalog/book/{product.pk}/change/")
    assert {label: value for label, (value, _) in book.items()} == {
        "product": "€12.50, 7 left", "stock history": "→", "copies sold": "2", "sales": "1", "stock alerts": "0",
    }  # fmt: skip
    assert set(staff.get(book["copies sold"][1]).context["cl"].result_list) == set(Order.objects.filter(state="sent"))
    assert list(staff.get(book["sales"][1]).context["cl"].result_list) == [sale]
    assert read_links(staff, book["product"][1])["book"][0] == "A book"
    shown = {"price": "12.50", "stock": "7", "grams": "400", "vat_class": "book", "is_active": "True"}
    form = {**shown, **{f"initial-{name}": value for name, value in shown.items()}, "price": "9.00", "stock": "9"}
    assert staff.post(book["product"][1], form).status_code == 302
    page = staff.get(book["stock history"][1]).content.decode()
    cells = re.findall(r'<td>([^<]*)</td>\s*<td class="number">([^<]*)</td>', page)
    assert sorted(cells[1:]) == [("1 reserved", ""), ("returned by a cancellation", "+1"), *[("sold", "-1")] * 3]
    assert "In stock: 7 → 9" in cells[0][0]
    assert "12.50 → 9.00" in cells[0][0]
    # Without permission to see orders there are numbers, but no links.
    analyst = log_in_as("analyst")
    assert set(read_links(analyst, f"/admin/catalog/book/{product.pk}/change/")) == {
        "product",
        "stock history",
        "sales",
    }
    assert "/admin/shop/order/" not in analyst.get(book["stock history"][1]).content.decode()
    assert log_in_as("support").get(book["stock history"][1]).status_code == 403
