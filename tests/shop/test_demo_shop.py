"""The shop of ``make demo``: prices, a history for recommendations and a current sale."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone
from pytest_django.fixtures import Settings

from catalog.models import Book
from demo.books import load_demo_books
from demo.logins import create_logins
from demo.people import load_demo_people
from demo.shop import ensure_sale, find_items, load_demo_shop, record_recent_views
from mirror.relay.drains import drain_all
from shop.book_views import popularity
from shop.models import (
    FakeCharge,
    Order,
    OrderLine,
    OrderState,
    PaymentStatus,
    Product,
    Recommendation,
    Refund,
    Return,
    ReturnState,
    Sale,
    View,
)
from shop.recommend import build
from shop.recommend.selectors import get_recommendation_strips
from shop.selectors.figures import read_sales_by_day
from shop.services import refunds
from shop.services.refunds import refund_order
from tests.support.shop.book_views import PERIOD
from tests.support.shop.checkouts import (
    assert_invoices_are_right,
    assert_money_is_right,
    assert_returns_are_right,
    assert_settled,
)
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
NOW = timezone.now()


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's books and readers."""
    monkeypatch.setattr("demo.logins.notes.read_note", lambda name: {})
    monkeypatch.setattr("demo.logins.notes.write_note", lambda name, what: None)
    load_demo_books()
    load_demo_people(NOW.date())
    create_logins()


def test_the_demo_has_a_history_with_recommendations(demo: None) -> None:
    made = load_demo_shop(NOW)
    assert made["products"] == Book.objects.count()
    assert made["orders"] == Order.objects.count() > 500
    assert Product.objects.filter(stock=0).exists()
    assert Product.objects.filter(stock__range=(1, 5)).exists()
    assert not Order.objects.filter(created_at__gt=NOW).exists()
    assert not Order.objects.exclude(state__in=[OrderState.PAID, OrderState.SENT, OrderState.CANCELLED]).exists()
    assert not Order.objects.filter(state=OrderState.SENT, tracking_number="").exists()
    for field in ("created_at", "paid_at", "sent_at", "cancelled_at", "confirmed_at"):
        assert not Order.objects.filter(**{f"{field}__gt": NOW}).exists(), field
    assert not Order.objects.filter(lines=None).exists()
    assert not Order.objects.filter(state=OrderState.SENT, payments=None).exists()
    assert not Order.objects.filter(state=OrderState.CANCELLED).exclude(payments=None).exists()
    assert not Order.objects.filter(confirmed_at=None).exists()  # no email is sent
    assert Order.objects.filter(user__username="demo-shopper").exists()
    build.rebuild_recommendations()
    rebuild(["book", "product", "recommendation"])
    drain_all()
    strips = [get_recommendation_strips(item.pk) for item in find_items()[:20]]
    assert sum(bool(both.bought) for both in strips) > 10
    assert sum(bool(both.viewbuy) for both in strips) > 5
    before = [model.objects.count() for model in (Product, Order, OrderLine, View, Recommendation)]
    load_demo_shop(NOW + timedelta(days=3))
    assert [model.objects.count() for model in (Product, Order, OrderLine, View, Recommendation)] == before


def test_the_demo_has_returns_in_each_state_and_its_books_are_right(demo: None) -> None:
    load_demo_shop(NOW)
    states = Counter(Return.objects.values_list("state", flat=True))
    assert states == {"asked": 2, "accepted": 2, "received": 3, "refused": 2}
    received = Return.objects.filter(state=ReturnState.RECEIVED)
    assert {(one.is_restocked, one.refund.state) for one in received} == {(True, "done"), (False, "done")}
    assert not Return.objects.filter(created_at__lte=F("order__sent_at")).exists()
    assert not Return.objects.filter(decided_at__gt=NOW).exists()
    assert not Return.objects.filter(state=ReturnState.REFUSED, answer="").exists()
    assert_money_is_right()
    assert_returns_are_right()
    assert_invoices_are_right()
    assert_settled()


def test_staff_can_refund_an_order_of_the_demo(demo: None) -> None:
    load_demo_shop(NOW)
    order = Order.objects.filter(state=OrderState.SENT, returns=None).latest("pk")
    returned = sum(Refund.objects.values_list("amount", flat=True))
    assert refunds.make_refund(refund_order(order.pk))
    assert order.payments.get().status == PaymentStatus.REFUNDED
    assert FakeCharge.objects.get(key=order.key).refunded == order.total
    sales = read_sales_by_day(NOW - timedelta(days=1))
    assert sum(sales.refunds.values()) == order.total + returned, "staff see it among the figures"


def test_a_sale_is_on_and_is_renewed_after_its_end(demo: None) -> None:
    assert not ensure_sale(NOW)  # no product is for sale
    load_demo_shop(NOW)
    assert ensure_sale(NOW)
    sale = Sale.objects.running_at(NOW).get()
    items = list(sale.items.select_related("product"))
    assert all(0 < item.price < item.product.price for item in items)
    assert len(items) > 10
    assert not ensure_sale(NOW + timedelta(days=1))
    later = NOW + timedelta(days=5)
    assert ensure_sale(later)
    assert Sale.objects.running_at(later).get().pk == sale.pk
    assert sale.items.count() == len(items)
    Sale.objects.all().delete()
    Sale.objects.create(name="Our own", starts_at=later, ends_at=later + timedelta(days=1))
    assert not ensure_sale(NOW)


def test_the_demo_adds_views_unless_there_are_recent_ones(demo: None, settings: Settings) -> None:
    settings.SHOP_VIEW_PERIOD_SECONDS = PERIOD  # the scores of the demo readers' old views are gone
    assert record_recent_views() == 0
    load_demo_shop(NOW)
    assert record_recent_views() > 100
    assert sum(popularity.get_rank(item.pk) is not None for item in find_items()) > 20
