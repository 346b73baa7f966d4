"""Carts: their content, their storage and the cost of reading them."""

from collections.abc import Callable
from functools import partial

import pytest
from django.test import override_settings
from redis import Redis

from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop import keys
from shop.carts.reading import read_cart
from shop.models import Cart, Product
from shop.services.carts import CartError, add_copies, set_line
from tests.support.shop.carts import find_differences, make_visitor, read_quantities
from tests.support.shop.make import make_product
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def warm() -> None:
    """Warm mirrors."""
    rebuild(["product", "cart"])


@pytest.fixture
def book() -> Product:
    """A product for sale."""
    return make_product()


def test_an_added_line_is_in_sql_and_in_redis_at_once(book: Product, redis: Redis) -> None:
    digest, other = make_visitor(), make_product()
    now = set_line(digest, book.pk, 2)
    assert set_line(digest, other.pk, 1).version > now.version
    assert redis.hgetall(keys.cart(digest)) == {b"%d" % book.pk: b"2", b"%d" % other.pk: b"1"}
    row = Cart.objects.get()
    assert {pk: line.quantity for pk, line in row.content.items()} == {book.pk: 2, other.pk: 1}
    assert row.version == read_cart(digest).version
    assert find_differences() == []


def test_a_cart_is_read_in_one_round_trip_and_written_with_two_statements(book: Product) -> None:
    digest = make_visitor()
    drain_all()
    set_line(digest, book.pk, 1)
    with record() as seen:
        assert read_quantities(digest) == {book.pk: 1}
    assert (seen.round_trips, seen.sql) == (1, [])
    with record() as seen:
        set_line(digest, book.pk, 2)
    own = [sql for sql, _ in seen.sql if "shop_cart" in sql]
    assert [sql.split()[0] for sql in own[:2]] == ["SELECT", "UPDATE"]
    assert len(own) == 3, "the third reads the row for Redis"


def test_a_missing_cart_costs_no_sql() -> None:
    digest = make_visitor()
    assert read_cart(digest).version == 0
    with record() as seen:
        assert read_quantities(digest) == {}
    assert (seen.round_trips, seen.sql) == (1, [])
    with record() as seen:
        assert read_quantities(None) == {}
    assert (seen.round_trips, seen.sql) == (0, [])
    assert find_differences() == []


def test_an_emptied_cart_stays_empty(book: Product, redis: Redis) -> None:
    digest = make_visitor()
    set_line(digest, book.pk, 1)
    emptied = set_line(digest, book.pk, 0)
    assert read_cart(digest) == emptied
    assert not redis.exists(keys.cart(digest))
    redis.flushall()
    assert read_quantities(digest) == {}
    rebuild(["product", "cart"])
    assert read_cart(digest) == emptied


def test_a_removed_line_of_a_visitor_without_a_cart_creates_none(book: Product) -> None:
    assert set_line(make_visitor(), book.pk, 0).version == 0
    assert not Cart.objects.exists()


def test_adding_sums_up(book: Product) -> None:
    digest = make_visitor()
    add_copies(digest, book.pk, 2)
    assert add_copies(digest, book.pk).lines == {book.pk: 3}
    assert find_differences() == []


def test_an_equal_quantity_is_no_change(book: Product) -> None:
    digest = make_visitor()
    before = set_line(digest, book.pk, 2)
    assert set_line(digest, book.pk, 2) == before


@override_settings(SHOP_CART_LINES=2, SHOP_CART_QUANTITY=5)
@pytest.mark.parametrize("away", [False, True])
def test_invalid_changes_are_refused_and_have_no_effect(book: Product, away: bool) -> None:
    digest, second, third, gone = make_visitor(), make_product(), make_product(), make_product(is_active=False)
    drain_all()
    if away:
        breaker.failed()
    set_line(digest, book.pk, 5)
    set_line(digest, second.pk, 1)
    before = read_cart(digest)
    for wrong in [
        lambda: set_line(digest, book.pk, 6),
        lambda: set_line(digest, book.pk, -1),
        lambda: set_line(digest, third.pk, 1),
        lambda: set_line(digest, gone.pk, 1),
        lambda: set_line(digest, 10**12, 1),
        lambda: add_copies(digest, book.pk, 1),
        lambda: add_copies(digest, book.pk, 0),
        lambda: add_copies(digest, third.pk, 1),
    ]:
        with pytest.raises(CartError) as refused:
            wrong()
        assert str(refused.value).endswith(".")
        if away:
            breaker.failed()
        assert read_cart(digest) == before
    set_line(digest, second.pk, 0)
    assert set_line(digest, third.pk, 1).lines == {book.pk: 5, third.pk: 1}


def test_a_quantity_above_a_lowered_limit_may_fall_but_not_rise(book: Product) -> None:
    digest = make_visitor()
    set_line(digest, book.pk, 9)
    with override_settings(SHOP_CART_QUANTITY=5):
        with pytest.raises(CartError):
            add_copies(digest, book.pk)
        assert set_line(digest, book.pk, 8).lines == {book.pk: 8}


@pytest.mark.parametrize("away", [False, True])
def test_a_changed_quantity_keeps_the_order_of_lines(away: bool) -> None:
    digest, books = make_visitor(), [make_product() for _ in range(3)]
    first, second, third = (book.pk for book in books)
    drain_all()

    def after(change: Callable[[], object]) -> list[int]:
        if away:
            breaker.failed()
        change()
        return list(read_cart(digest).lines)

    for pk in (third, first, second):
        after(partial(add_copies, digest, pk))
    assert after(partial(set_line, digest, third, 5)) == [third, first, second]
    assert after(partial(add_copies, digest, first)) == [third, first, second]
    after(partial(set_line, digest, third, 0))
    assert after(partial(set_line, digest, third, 1)) == [first, second, third]
    breaker.reset()


def test_a_change_for_an_ended_session_is_refused(book: Product) -> None:
    with pytest.raises(CartError, match="another window"):
        set_line("0" * 64, book.pk, 1)
    assert not Cart.objects.exists()


def test_with_redis_away_a_cart_is_read_from_and_written_to_sql(book: Product, redis: Redis) -> None:
    digest, other = make_visitor(), make_product()
    drain_all()
    set_line(digest, book.pk, 1)
    breaker.failed()
    assert read_quantities(digest) == {book.pk: 1}
    assert set_line(digest, other.pk, 1).lines == {book.pk: 1, other.pk: 1}
    breaker.failed()
    assert read_quantities(digest) == {book.pk: 1, other.pk: 1}
    breaker.reset()
    assert find_differences() == []
    assert redis.hlen(keys.cart(digest)) == 2
