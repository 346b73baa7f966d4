"""Remembered shortages keep checkouts away from SQL for a moment, and never cause a sale."""

import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from mirror.redis.clients import breaker
from shop import keys, shortages
from shop.models import Order, OrderState, Product
from shop.services import carts
from shop.services.errors import SoldOut
from shop.services.orders import cancel_order, expire_order
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.carts import make_visitor
from tests.support.shop.checkouts import assert_ledger_is_right, check_out, make_cart
from tests.support.shop.make import make_product

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def book() -> Product:
    return make_product(stock=2)


def refused(user: User, cart: str) -> SoldOut:
    with pytest.raises(SoldOut) as refusal:
        check_out(user, cart)
    return refusal.value


def test_a_second_hopeless_checkout_writes_nothing_to_sql(alice: User, book: Product, settings: Settings) -> None:
    settings.SHOP_HOLD_SECONDS = 60
    first, second = make_cart("first", book, quantity=3), make_cart("second", book, quantity=3)
    refused(alice, first)
    with CaptureQueriesContext(
        connection,
    ) as found:
        assert refused(alice, second).shortages == ((book.pk, 3, 2, False),)
    assert not [query["sql"] for query in found if "BEGIN" in query["sql"] or "UPDATE" in query["sql"]]


def test_a_checkout_within_the_remembered_stock_is_not_refused(alice: User, book: Product, settings: Settings) -> None:
    settings.SHOP_HOLD_SECONDS = 60
    refused(alice, make_cart("first", book, quantity=3))
    assert check_out(alice, make_cart("second", book, quantity=2)).state == OrderState.RESERVED
    assert_ledger_is_right({book.pk: 2})


@pytest.mark.parametrize("way", ["cancelled", "run out"])
def test_returned_copies_can_be_bought_at_once(alice: User, book: Product, settings: Settings, way: str) -> None:
    settings.SHOP_HOLD_SECONDS = 60
    order = check_out(alice, make_cart("first", book, quantity=2))
    late = make_cart("late", book)
    refused(alice, late)
    if way == "cancelled":
        cancel_order(order.pk, alice)
    else:
        Order.objects.update(reserved_until=order.created_at)
        expire_order(order.pk)
    assert check_out(alice, late).state == OrderState.RESERVED
    assert_ledger_is_right({book.pk: 2})


def test_a_shortage_is_remembered_for_a_moment_only(alice: User, book: Product, settings: Settings) -> None:
    settings.SHOP_HOLD_SECONDS = 0.3
    late = make_cart("late", book, quantity=3)
    refused(alice, late)
    Product.objects.update(stock=9)
    wait_until(lambda: not shortages.find_shortages({book.pk: 3}), "the end of the hold")
    assert check_out(alice, late).state == OrderState.RESERVED


def test_old_answers_of_sql_are_not_remembered(book: Product, redis: Redis, settings: Settings) -> None:
    settings.SHOP_HOLD_SECONDS = 7200.0
    shortages.remember_stock({book.pk: 0}, time.monotonic() - 7200)
    assert not redis.exists(keys.shortage(book.pk))
    shortages.remember_stock({book.pk: 0}, time.monotonic() - 3600)
    assert 0 < redis.pttl(keys.shortage(book.pk)) <= 3_600_000


def test_a_remembered_stock_never_permits_a_sale(alice: User, book: Product, redis: Redis) -> None:
    redis.set(keys.shortage(book.pk), 1000)
    assert refused(alice, make_cart("late", book, quantity=3)).shortages == ((book.pk, 3, 2, False),)
    assert_ledger_is_right({book.pk: 2})


def test_without_redis_sql_decides_alone(
    alice: User, book: Product, redis_server: RedisServer, settings: Settings
) -> None:
    visitors = [make_visitor(alice), make_visitor(alice)]
    for digest, quantity in zip(visitors, (2, 1), strict=True):
        carts.set_line(digest, book.pk, quantity)
    redis_server.kill()
    breaker.reset()
    assert check_out(alice, visitors[0]).state == OrderState.RESERVED
    refused(alice, visitors[1])
    assert shortages.find_shortages({book.pk: 1}) == {}
    assert_ledger_is_right({book.pk: 2})
