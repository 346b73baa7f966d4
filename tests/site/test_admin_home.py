"""The admin's home page: each figure is for staff who may see its rows, and links to the list that it counts."""

import random
import re
from collections import Counter
from datetime import date, datetime, time, timedelta
from html import unescape
from typing import Final

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.models import Book, Tag
from config.defaults.admin import UNFOLD
from config.roles import ROLES, make_roles
from mirror.admin import read_memory, read_overview
from mirror.models import Change, State
from mirror.outbox import lag
from mirror.redis import naming
from mirror.redis.clients import client as state_client
from mirror.upkeep import heartbeat
from shop.models import Order, OrderLine, OrderState, Payment, PaymentState, Product, Refund, RefundLine, RefundState
from shop.money import format_money
from shop.payments import TypedCard, fake
from shop.services.orders import cancel_order, mark_order_sent
from shop.services.payments import pay_order
from shop.services.refunds import refund_order
from shop.services.settle import settle_all
from tests.support import warm_mirrors
from tests.support.matrix.browser import Browser
from tests.support.servers import RedisServer
from tests.support.shop.checkouts import check_out, make_cart, make_payments_due
from tests.support.shop.make import make_order, make_product
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db

SALES: Final = {"Sales", "Revenue by day, last 30 days", "Paid orders by day, last 30 days"}
HEADINGS: Final = {
    "view_order": {"Orders", *SALES},
    "view_figures": SALES,
    "view_cart": {"Carts"},
    "view_failedlogins": {"Failed logins"},
    "view_auditevent": {"Audit log"},
    "view_payment": {"Payment problems"},
    "view_product": {"Low stock"},
    "view_book": {"Catalogue"},
    "view_case": {"Moderation"},
    "view_user": {"New readers", "New readers by day, last 30 days"},
    "view_report": {"Active readers", "Logins"},
    "view_state": {"Mirrors", "Memory of Redis"},
}
LONG_AGO: Final = "2020-01-01T00:00:00Z"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def read_home(client: Client) -> str:
    response = client.get("/admin/")
    assert response.status_code == 200
    html = response.content.decode()
    return html[html.index('class="own"') :]


@pytest.mark.parametrize("codename", HEADINGS)
def test_each_tile_is_for_staff_with_permission(codename: str, client: Client) -> None:
    clerk = User.objects.create_user("dave", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename=codename))
    client.force_login(clerk)
    shown = {unescape(re.sub("<[^>]*>", "", text)) for text in re.findall("<h2.*?</h2>", read_home(client))}
    wanted = HEADINGS[codename]
    assert shown & set().union(*HEADINGS.values()) >= wanted - {"Memory of Redis"}
    assert not shown & (set().union(*HEADINGS.values()) - wanted)


def test_each_number_equals_the_list_behind_it(staff: Client) -> None:
    now = timezone.now()
    product = make_product(price=1250, stock=3)
    Product.objects.filter(pk=make_product(stock=1).pk).update(reserved=1)
    for state, paid_at in (
        (OrderState.PAID, now),
        (OrderState.SENT, now),
        (OrderState.CANCELLED, now),
        (OrderState.PAID, now - timedelta(days=40)),
        (OrderState.RESERVED, None),
    ):
        make_order(None, product, key=f"{state} {paid_at}", state=state, paid_at=paid_at)
    order = Order.objects.earliest("pk")
    for number, result in enumerate(PaymentState.values):
        reason = "card declined" if result == PaymentState.FAILED else ""
        Payment.objects.create(order=order, key=str(number), amount=1, state=result, reason=reason)
    Payment.objects.filter(state=PaymentState.SURPLUS).update(refund_due=1)
    Tag.objects.create(name="to-read", hidden=True)
    html = read_home(staff)
    assert f"<li>{date_format(timezone.localdate())}</li>" in html, "the last day of a chart"
    numbers = re.findall(r'<dt>([^<]*)</dt><dd><a href="([^"]*)">([^<]*)</a>', html)
    assert {label: value for label, _, value in numbers}.items() >= {
        "revenue": "€37.50",  # also of the cancelled order, whose refund counts on its own day
        "paid orders": "2",
        "to ship": "2",
        "failed in 7 days": "1",
        "without an answer": "1",
        "to be refunded": "1",
        "sold out": "1",
        "a few left": "1",
        "books without a year": str(Book.objects.filter(year=None).count()),
        "hidden tags": "1",
    }.items()
    for label, address, value in numbers:
        page = staff.get(unescape(address))
        assert page.status_code == 200, address
        if value.isdigit() and "cl" in (page.context or {}):
            assert page.context["cl"].result_count == int(value), label
        if label == "failed in 7 days":
            assert "card declined" in page.content.decode()
    assert "€37.50" in re.findall(r"<title>([^<]*)</title>", html)[29]
    assert find_policy_violations(html) == []


@pytest.mark.django_db(transaction=True)
def test_refunds_reduce_the_revenue_of_their_day(staff: Client, settings: Settings) -> None:
    """A payment that was refunded because it paid for nothing never was revenue."""
    now = timezone.now()
    carol, product = User.objects.get(), make_product(price=1250, stock=9)
    settings.CLOCK = lambda: now - timedelta(days=1)
    first, second, expired = (check_out(carol, make_cart(name, product)) for name in ("first", "second", "expired"))
    for order in (first, second):
        pay_order(order, TypedCard(fake.GOOD_CARD))
    Order.objects.filter(pk=expired.pk).update(state=OrderState.CANCELLED)
    late = Payment.objects.create(order=expired, key="late", amount=900, state=PaymentState.SURPLUS, refunded=900)
    Refund.objects.create(payment=late, key="late", amount=900, state=RefundState.DONE, done_at=now)
    settings.CLOCK = lambda: now
    mark_order_sent(first.pk)
    refund_order(first.pk)
    cancel_order(second.pk, carol)
    make_payments_due()
    assert settle_all().refunds == 2
    check_out_and_pay(carol, product)
    html = read_home(staff)
    titles = re.findall(r"<title>[^<]*: ([^<]*)</title>", html)[28:30]
    assert titles == ["€25.00", "-€12.50 after refunds of €25.00"]
    (address,) = re.findall(r'<dt>refunded</dt><dd><a href="([^"]*)">€25.00</a>', html)
    assert set(staff.get(unescape(address)).context["cl"].result_list) == {first, second}


def check_out_and_pay(user: User, product: Product) -> None:
    pay_order(check_out(user, make_cart("third", product)), TypedCard(fake.GOOD_CARD))


def test_figures_of_each_period_equal_those_of_the_rows(staff: Client) -> None:
    """Computed again from all rows in Python, for the period and the one before it."""
    rng, today = random.Random(7), timezone.localdate()
    products = [make_product(f"Book {number}", price=100 * number + 99) for number in range(4)]
    noon = timezone.make_aware(datetime.combine(today, time(12)))
    for number in range(120):
        state = rng.choice([OrderState.PAID, OrderState.SENT, OrderState.CANCELLED])
        paid_at = noon - timedelta(days=rng.choice((0, 1, 2, rng.randrange(200))))
        chosen = rng.sample(products, rng.randrange(1, 3))
        order = make_order(None, *chosen, quantity=rng.randrange(1, 4), key=str(number), state=state, paid_at=paid_at)
        payment = Payment.objects.create(order=order, key=str(number), amount=order.total, state="succeeded")
        if state == OrderState.CANCELLED or rng.random() < 0.1:
            amount = order.total if state == OrderState.CANCELLED else rng.randrange(1, order.total)
            done_at = min(noon, paid_at + timedelta(days=rng.randrange(9)))
            refund = Refund.objects.create(payment=payment, key=order.key, amount=amount, state="done", done_at=done_at)
            line = order.lines.order_by("pk")[0]
            RefundLine.objects.create(refund=refund, line=line, quantity=1, amount=line.price)
    for days in (1, 7, 30, 90):
        html = staff.get("/admin/", {"period": days}).content.decode()
        shown = dict(re.findall(r"<dt>([^<]*)</dt><dd>(.*?)</dd>", html))
        for name, value in compute_sales(today, days).items():
            assert re.sub("<[^>]*>", "", shown[name]).partition("before: ")[0] == value, (days, name)
        for name, value in compute_sales(today - timedelta(days=days), days).items():
            assert shown[name].partition("before: ")[2].startswith(f"{value}<"), (days, name)
        top = re.findall(r'<th scope="row"><a href="[^"]*">(Book \d)</a></th><td class="number">(\d+)</td>', html)
        assert top == count_copies(today, days)
        assert f"Revenue by day, last {max(days, 7)} days" in html
    assert staff.get("/admin/", {"period": "8"}).context["period"].days == 30


def is_in_period(moment: datetime | None, last: date, days: int) -> bool:
    assert moment is not None
    return last - timedelta(days=days) < timezone.localtime(moment).date() <= last


def compute_sales(last: date, days: int) -> dict[str, str]:
    orders = [order for order in Order.objects.all() if is_in_period(order.paid_at, last, days)]
    kept = {order.pk: order.total for order in orders if order.state != OrderState.CANCELLED}
    for refund in Refund.objects.filter(payment__order__in=kept):
        kept[refund.payment.order_id] -= refund.amount
    refunds = [refund.amount for refund in Refund.objects.all() if is_in_period(refund.done_at, last, days)]
    revenue = sum(order.total for order in orders) - sum(refunds)
    return {
        "revenue": format_money(revenue),
        "paid orders": str(len(kept)),
        "average order": format_money(round(sum(kept.values()) / len(kept))) if kept else "–",
        "refunded": format_money(sum(refunds)),
    }


def count_copies(last: date, days: int) -> list[tuple[str, str]]:
    copies: Counter[tuple[int, str]] = Counter()
    for line in OrderLine.objects.select_related("order"):
        if line.order.state != OrderState.CANCELLED and is_in_period(line.order.paid_at, last, days):
            copies[line.product_id, line.title] += line.quantity
    for part in RefundLine.objects.select_related("line__order"):
        bought = part.line
        assert bought is not None
        if bought.order.state != OrderState.CANCELLED and is_in_period(bought.order.paid_at, last, days):
            copies[bought.product_id, bought.title] -= part.quantity
    ranked = sorted(copies.items(), key=lambda item: (-item[1], item[0]))
    return [(title, str(count)) for (_, title), count in ranked if count > 0]


@pytest.mark.django_db(transaction=True)
def test_tile_of_the_mirrors_explains_its_level(staff: Client) -> None:
    redis = state_client()
    found = read_overview()  # nothing is warm in an empty Redis, and no relay runs
    assert (found.level, found.headline) == (
        "red",
        "Red: SQL answers instead of Redis, and changes do not arrive in Redis",
    )
    heartbeat.beat()
    assert read_overview().headline == "Red: SQL answers instead of Redis"
    warm_mirrors.rebuild(warm_mirrors.ALL)
    found = read_overview()
    assert (found.level, found.headline, found.reasons) == ("green", "All mirrors are current", [])
    redis.delete(naming.heartbeat())
    assert [reason.text for reason in read_overview().reasons] == ["No relay is running"]
    assert "Red: changes do not arrive in Redis, so pages may show old data" in read_home(staff)
    heartbeat.beat()
    Change.objects.create(mirror="titem", key="cannot", quarantined_at=LONG_AGO, error="ZeroDivisionError: no")
    (reason,) = read_overview().reasons
    assert (read_overview().level, reason.text) == ("amber", "titem: 1 quarantined")
    assert "ZeroDivisionError: no" in staff.get(reason.address).content.decode()
    Change.objects.all().delete()
    State.objects.filter(mirror="titem").update(differences=2)
    assert [reason.text for reason in read_overview().reasons] == ["titem: the last verification found 2 differences"]
    State.objects.update(differences=0)
    Change.objects.create(mirror="titem", key="waits", created_at=LONG_AGO)
    (reason,) = read_overview().reasons
    assert reason.text.startswith("titem: changes wait for ")
    assert "waits" in staff.get(reason.address).content.decode()
    lag.note_if_due(redis)
    lag.note_if_due(redis)
    (value,) = lag.read(redis)
    assert value > 1e6
    redis.lpush("mirror:lag", "0.5")
    assert "now 0.5 s" in str(read_overview().sparkline)


def test_memory_is_estimated_by_kind_of_key() -> None:
    redis = state_client()
    redis.set("book:1", "x" * 10_000)
    redis.set("loginLog_2026-01_client_1", "y")
    redis.set("{loginlog}loginDay_2026-01-01_client", "z")  # as on a cluster
    (first, *others) = read_memory()
    assert first.name == "book"
    assert first.size > 10_000
    assert {"login months", "loginDay"} <= {family.name for family in others}


def test_home_page_is_shown_while_redis_is_down(staff: Client, redis_server: RedisServer) -> None:
    redis_server.kill()
    assert "Redis does not answer" in read_home(staff)


def test_menu_has_every_list_once() -> None:
    links = [str(item["link"]) for group in UNFOLD["SIDEBAR"]["navigation"] for item in group["items"]]
    lists = {reverse(f"admin:{m._meta.app_label}_{m._meta.model_name}_changelist") for m in admin.site._registry}
    assert lists <= set(links)
    assert len(links) == len(set(links))


@pytest.mark.parametrize("role", sorted(ROLES))
def test_each_role_has_a_home_whose_links_it_may_follow(client: Client, role: str) -> None:
    make_roles(Group, Permission, [role])
    order = make_order(None, make_product(stock=0), state=OrderState.SENT, paid_at=timezone.now())
    paid = {"amount": 1250, "state": PaymentState.SUCCEEDED, "refunded": 1250}
    payment = Payment.objects.create(order=order, key="p", **paid)
    Refund.objects.create(payment=payment, key="r", amount=1250, state=RefundState.DONE, done_at=timezone.now())
    member = User.objects.create_user("dora", is_staff=True)
    member.groups.add(Group.objects.get(name=role))
    client.force_login(member)
    assert 'class="figures"' in read_home(client)
    page = client.get("/admin/").content.decode()
    addresses = {unescape(address) for address in re.findall(r'<a\b[^>]*\bhref="(/[^"#]*)"', page)}
    assert len(addresses) > 5
    browser = Browser(member)
    answers = {address: browser.ask("GET", address).status_code for address in addresses}
    assert {address: status for address, status in answers.items() if status != 200} == {}
